// src/backends/fx/overlap_checked.h: a program for calls whose inputs share memory as at the capture.
#pragma once

#include <torch/csrc/autograd/python_variable.h>

#include <memory>
#include <utility>
#include <vector>

#include "backends/fx/input_overlap.h"
#include "torch/domain/wrapped_program.h"

namespace stator::fx {

class OverlapChecked final : public WrappedProgram {
 public:
  OverlapChecked(std::unique_ptr<TensorProgram> program, InputOverlap overlap, size_t inputs)
      : WrappedProgram(std::move(program)), overlap_(std::move(overlap)), inputs_(inputs) {}

  bool run(PyObject* const* inputs, const shape::Bindings& bindings, std::vector<Ref<>>& outputs,
           RunFailure& failure) const override {
    return program().run(inputs, bindings, outputs, failure);
  }
  bool depends_on_overlap() const override { return overlap_.matters(); }
  bool overlaps_as_captured(PyObject* const* inputs) const override {
    std::vector<const at::Tensor*> tensors;
    for (size_t i = 0; i < inputs_; ++i) tensors.push_back(&THPVariable_Unpack(inputs[i]));
    return overlap_.is_same(tensors);
  }

 private:
  InputOverlap overlap_;
  size_t inputs_;
};

}  // namespace stator::fx
