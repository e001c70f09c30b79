# cmake/Layers.cmake: one include root per layer, so that including a layer above is a build error.
#
# build/.../layers/<layer>/<layer> is a link to src/<layer>. A target sees the roots of its own layer and of
# those it links to, never src/ itself: "capture/..." does not exist for the compiler while it builds core.

function(stator_layer_root layer)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/layers/${layer}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${layer}" "${PROJECT_BINARY_DIR}/layers/${layer}/${layer}" SYMBOLIC)
endfunction()

# stator_layer(<layer> SOURCES ... LINKS ...): the static library stator_<layer>.
function(stator_layer layer)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  stator_layer_root(${layer})
  if(arg_SOURCES)
    add_library(stator_${layer} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_link_libraries(stator_${layer} PRIVATE stator_flags)
  else()
    add_library(stator_${layer} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(stator_${layer} ${scope} "${PROJECT_BINARY_DIR}/layers/${layer}")
  target_link_libraries(stator_${layer} ${scope} ${arg_LINKS})
endfunction()

# stator_module(<name> FOLDER src/bindings/<folder> LINKS ...): the extension module stator.<name>, beside the
# Python files. It sees "bindings/<folder>/..." of its own folder only.
function(stator_module name)
  cmake_parse_arguments(arg "" "FOLDER" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/bindings/${arg_FOLDER}/*.cpp")
  set(root "${PROJECT_BINARY_DIR}/layers/bindings_${arg_FOLDER}")
  file(MAKE_DIRECTORY "${root}/bindings")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/bindings/${arg_FOLDER}" "${root}/bindings/${arg_FOLDER}" SYMBOLIC)
  add_library(${name} MODULE ${sources})
  target_include_directories(${name} PRIVATE "${root}")
  target_link_libraries(${name} PRIVATE stator_flags ${arg_LINKS})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX "${STATOR_MODULE_SUFFIX}")
  if(SKBUILD)
    install(TARGETS ${name} LIBRARY DESTINATION stator)
  else()
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${STATOR_MODULE_DIR}")
  endif()
endfunction()
