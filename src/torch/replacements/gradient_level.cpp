// src/torch/replacements/gradient_level.cpp: opens and leaves levels of torch.func's grad.
#include "torch/replacements/gradient_level.h"

#include <torch/csrc/autograd/python_variable.h>

#include "torch/tracing/caught_error.h"
#include "torch/tracing/imported_module.h"

namespace stator {

// torch's functions for levels. By way of Python: its headers for them need a library that it does not bring.
static py::object functorch(const char* name) { return imported("torch._C._functorch").attr(name); }

GradientLevel::GradientLevel(Session& session) : session_(session), no_gradients_(false) {
  const py::object enter = functorch("_grad_increment_nesting");
  wrap_ = functorch("_wrap_for_grad");
  unwrap_ = functorch("_unwrap_for_grad");
  leave_ = functorch("_grad_decrement_nesting");
  session_.enter();
  try {
    number_ = enter().cast<int64_t>();
  } catch (...) {
    session_.leave();
    throw;
  }
  gradients_.emplace(true);
}

GradientLevel::~GradientLevel() {
  try {
    leave_level();
  } catch (const std::exception&) {  // of Python's: the level is closed even so
    drop_caught();
  }
  session_.leave();
}

void GradientLevel::leave_level() {
  if (!gradients_) return;
  gradients_.reset();
  leave_();
}

at::Tensor GradientLevel::call(const py::object& function, const at::Tensor& tensor) const {
  const py::object given = py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor));
  const py::object made = function(given, number_);
  return THPVariable_Unpack(made.ptr());
}

}  // namespace stator
