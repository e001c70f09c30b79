// src/torch/domain/torch_folder.cpp: asks the package, once.
#include "torch/domain/torch_folder.h"

#include <torch/csrc/utils/pybind.h>

namespace stator {

const std::string& torch_folder() {
  static const std::string folder =
      py::list(py::module_::import("torch").attr("__path__"))[0].cast<std::string>() + "/";
  return folder;
}

}  // namespace stator
