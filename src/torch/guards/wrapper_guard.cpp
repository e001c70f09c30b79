// src/torch/guards/wrapper_guard.cpp: asks stator/runtime/wrapper_subclasses.py.
#include "torch/guards/wrapper_guard.h"

#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/interrupts.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/session.h"

namespace stator {
namespace {

class WrapperGuard final : public TensorGuard {
 public:
  WrapperGuard(PyObject* tensor, Ref<> guard) : name_(Py_TYPE(tensor)->tp_name), guard_(std::move(guard)) {}

  bool holds(PyObject* tensor, shape::Bindings&) const override {
    const auto answer = Ref<>::steal(PyObject_CallOneArg(guard_.get(), tensor));
    if (!answer) drop_error();
    return answer.get() == Py_True;
  }
  std::string expected() const override { return name_ + " of the same layout, context and parts"; }
  uint64_t changed_sizes(PyObject*) const override { return 0; }

 private:
  std::string name_;
  Ref<> guard_;
};

}  // namespace

std::unique_ptr<TensorGuard> make_wrapper_guard(PyObject* tensor) {
  try {
    py::object guard = imported("stator.runtime.wrapper_subclasses")
                           .attr("guard_of")(py::handle(tensor), Session::current() != nullptr);
    return std::make_unique<WrapperGuard>(tensor, Ref<>::steal(guard.release().ptr()));
  } catch (const std::exception&) {
    drop_caught();
    return nullptr;
  }
}

}  // namespace stator
