// src/torch/domain/compiling_flag.h: what captured code asks to find out that it is captured.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include "torch/imported_module.h"

namespace stator {

class CompilingFlag {
 public:
  CompilingFlag() : old_(module().attr(kName)) { set(true); }
  ~CompilingFlag() {
    const py::error_scope backends_own;  // a capture may end with the error of its backend set
    set(false);
  }
  CompilingFlag(const CompilingFlag&) = delete;
  CompilingFlag& operator=(const CompilingFlag&) = delete;

  // `captured`: what code asks for; otherwise what it was before.
  void set(bool captured) {
    told_ = captured;
    module().attr(kName) = captured ? py::bool_(true) : old_;
    module().attr(kOwnName) = captured;
  }

  // torch.compiler.is_compiling
  PyCodeObject* asking_code() const { return asking_code_; }
  // What the next one who asks is told.
  void answer(bool captured) {
    if (captured == told_) return;
    told_ = captured;
    module().attr(kName) = captured ? py::bool_(true) : old_;
  }

  static constexpr const char* kName = "_is_compiling_flag";
  static constexpr const char* kOwnName = "_is_stator_capturing_flag";  // see stator/compiling.py

 private:
  static py::module_ module() { return imported("torch.compiler"); }
  py::object old_;
  bool told_ = false;
  PyCodeObject* const asking_code_ =
      reinterpret_cast<PyCodeObject*>(module().attr("is_compiling").attr("__code__").ptr());
};

}  // namespace stator
