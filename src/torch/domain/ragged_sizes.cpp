// src/torch/domain/ragged_sizes.cpp: asks stator/runtime/nested_sizes.py.
#include "torch/domain/ragged_sizes.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/interrupts.h"
#include "torch/domain/wrapped_program.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/session.h"

namespace stator {
namespace {

class RaggedSizes final : public WrappedProgram {
 public:
  RaggedSizes(std::unique_ptr<TensorProgram> program, Ref<> holds, size_t inputs)
      : WrappedProgram(std::move(program)), holds_(std::move(holds)), inputs_(inputs) {}

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    return program().run(inputs, bindings, outputs, failure);
  }
  bool depends_on_overlap() const override { return true; }
  bool overlaps_as_captured(PyObject* const* inputs) const override {
    if (program().depends_on_overlap() && !program().overlaps_as_captured(inputs)) return false;
    const auto answer = Ref<>::steal(PyObject_Vectorcall(holds_.get(), inputs, inputs_, nullptr));
    if (!answer) drop_error();
    return answer.get() == Py_True;
  }

 private:
  Ref<> holds_;
  size_t inputs_;
};

}  // namespace

std::unique_ptr<TensorProgram> with_ragged_sizes(std::unique_ptr<TensorProgram> program, Ref<> holds,
                                                 size_t inputs) {
  if (program == nullptr || !holds) return program;
  return std::make_unique<RaggedSizes>(std::move(program), std::move(holds), inputs);
}

Ref<> ragged_sizes_of(const Session& session) {
  py::list tensors;
  for (const Session::Lifted& lifted : session.inputs)
    tensors.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(lifted.tensor)));
  py::object holds = imported("stator.runtime.nested_sizes").attr("relation")(*tensors);
  return holds.is_none() ? Ref<>() : Ref<>::steal(holds.release().ptr());
}

}  // namespace stator
