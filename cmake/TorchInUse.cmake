# cmake/TorchInUse.cmake: the headers and libraries of the torch that the chosen Python imports, if any.
set(STATOR_SUPPORTED_TORCHES 2.11 2.12 2.13)

# Found without importing torch: the import takes seconds, and its files say everything we need.
execute_process(
  COMMAND "${Python_EXECUTABLE}" -c [[
import importlib.metadata, importlib.util
spec = importlib.util.find_spec("torch")
if spec is not None and spec.origin is not None:
    print(importlib.metadata.version("torch"), spec.submodule_search_locations[0], sep=";")
]]
  OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT answer)
  message(STATUS "No torch for ${Python_EXECUTABLE}: building the capture layer only")
  return()
endif()
list(GET answer 0 torch_version)
list(GET answer 1 torch_dir)
string(REGEX MATCH "^[0-9]+\\.[0-9]+" torch_series "${torch_version}")
if(NOT torch_series IN_LIST STATOR_SUPPORTED_TORCHES)
  message(FATAL_ERROR "Stator supports torch 2.11, 2.12 and 2.13; ${torch_dir} is torch ${torch_version}. "
                      "-DSTATOR_TORCH=OFF builds the capture layer alone")
endif()
message(STATUS "torch ${torch_version} in ${torch_dir}")

add_library(stator_torch_headers INTERFACE)
add_library(stator::torch_headers ALIAS stator_torch_headers)
target_include_directories(stator_torch_headers SYSTEM INTERFACE
                           "${torch_dir}/include" "${torch_dir}/include/torch/csrc/api/include")
target_compile_definitions(stator_torch_headers INTERFACE _GLIBCXX_USE_CXX11_ABI=1)
set(STATOR_TORCH_LIBRARIES "${torch_dir}/lib/libtorch_python.so" "${torch_dir}/lib/libtorch_cpu.so"
                           "${torch_dir}/lib/libtorch.so" "${torch_dir}/lib/libc10.so")
