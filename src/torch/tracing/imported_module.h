// src/torch/tracing/imported_module.h: a module of torch's or ours, from whatever frame stands below.
#pragma once

#include <pybind11/pybind11.h>

#include "capture/cpython/module_attribute.h"

namespace stator {

// py::module_::import asks the running frame's builtins, which code of the program's may have none of.
inline pybind11::module_ imported(const char* name) {
  Ref<> found = module_of(name);
  if (!found) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::module_>(found.release());
}

}  // namespace stator
