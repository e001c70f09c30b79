# cmake/CompilerSettings.cmake: language standards, warnings, build type, compiler cache, sanitizers.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Line tables are enough for backtraces and profilers, and halve the size of the objects.
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")

find_program(STATOR_CCACHE ccache)
if(STATOR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these allowances ccache refuses every file that uses a precompiled header.
  set(launcher "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;${STATOR_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${launcher}")
endif()

# Flags of our own code only: third-party headers come in as system includes.
add_library(stator_flags INTERFACE)
target_compile_options(stator_flags INTERFACE -Wall -Wextra -Werror)
if(STATOR_SANITIZE)
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  target_compile_options(stator_flags INTERFACE ${sanitizers} -fno-omit-frame-pointer -UNDEBUG)
  target_link_options(stator_flags INTERFACE ${sanitizers})
endif()
