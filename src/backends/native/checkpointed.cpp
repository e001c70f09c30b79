// src/backends/native/checkpointed.cpp: torch's own checkpoint around a stretch of instructions.
#include "backends/native/checkpointed.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "torch/tracing/imported_module.h"

namespace stator::native {
namespace {

// Called by backward, which ends it by an exception once it has what it needs.
void run_again(const Checkpointed::Again& again, const py::args& arguments) {
  std::vector<at::Tensor> given;
  for (const py::handle& tensor : arguments) given.push_back(THPVariable_Unpack(tensor.ptr()));
  try {
    const py::gil_scoped_release release;
    again(given);
  } catch (py::error_already_set&) {
    throw;
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
    throw py::error_already_set();
  }
}

}  // namespace

struct Checkpointed::State {
  py::object generator;
};

Checkpointed::Checkpointed(Again again, bool preserves_random_state, bool stops_early,
                           const std::vector<at::Tensor>& given) {
  const py::gil_scoped_acquire locked;
  py::list tensors;
  for (const at::Tensor& tensor : given)
    tensors.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor)));
  const py::cpp_function callable(
      [again = std::move(again)](const py::args& arguments) { run_again(again, arguments); });
  state_ = std::make_unique<State>();
  state_->generator = imported("stator.runtime.checkpointing")
                          .attr("enter")(callable, preserves_random_state, stops_early, tensors);
}

void Checkpointed::leave() {
  const py::gil_scoped_acquire locked;
  const py::object generator = std::move(state_->generator);
  imported("stator.runtime.checkpointing").attr("leave")(generator);
}

Checkpointed::~Checkpointed() {
  if (state_ == nullptr || !state_->generator) return;
  const py::gil_scoped_acquire locked;
  const ErrorScope of_run;
  const Ref<> closed = Ref<>::steal(PyObject_CallMethod(state_->generator.ptr(), "close", nullptr));
  drop_error();
  state_->generator = {};
}

}  // namespace stator::native
