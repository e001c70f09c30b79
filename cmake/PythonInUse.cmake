# cmake/PythonInUse.cmake: asks the chosen Python for its version, headers and module suffix.
set(STATOR_SUPPORTED_PYTHONS 3.11 3.12 3.13)

if(NOT Python_EXECUTABLE AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()
find_package(Python COMPONENTS Interpreter REQUIRED)

# sysconfig rather than FindPython's search for headers: the answer is right for virtual environments, pyenv
# and debug builds alike.
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c [[
import sys, sysconfig
print(sys.implementation.name, "%d.%d" % sys.version_info[:2], "%d%d" % sys.version_info[:2],
      sysconfig.get_path("include"), sysconfig.get_config_var("EXT_SUFFIX"),
      1 if sysconfig.get_config_var("Py_GIL_DISABLED") else 0, sep=";")
]]
  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET answer 0 implementation)
list(GET answer 1 version)
list(GET answer 2 STATOR_PYTHON_TAG)
list(GET answer 3 include_dir)
list(GET answer 4 STATOR_MODULE_SUFFIX)
list(GET answer 5 free_threaded)

if(NOT implementation STREQUAL "cpython" OR NOT version IN_LIST STATOR_SUPPORTED_PYTHONS OR free_threaded)
  message(FATAL_ERROR
          "Stator supports CPython 3.11, 3.12 and 3.13 (with the GIL); ${Python_EXECUTABLE} is ${implementation} "
          "${version}. Choose another Python with -DPython_EXECUTABLE=/path/to/python3.11")
endif()
if(NOT EXISTS "${include_dir}/Python.h")
  message(FATAL_ERROR "No Python.h in ${include_dir}: install the headers of Python ${version} "
                      "(Debian, Ubuntu: apt-get install python${version}-dev)")
endif()
message(STATUS "Python ${version} (${Python_EXECUTABLE}), headers in ${include_dir}")

add_library(stator_python_headers INTERFACE)
add_library(stator::python_headers ALIAS stator_python_headers)
target_include_directories(stator_python_headers SYSTEM INTERFACE "${include_dir}")
