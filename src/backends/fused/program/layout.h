// src/backends/fused/program/layout.h: sizes and strides of a value, as numbers of one run.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <vector>

#include "core/ir/graph.h"
#include "core/shape/bindings.h"
#include "core/shape/postfix.h"

namespace stator::fused {

// Numbers of the graph, some of which a run computes from its symbols.
class Amounts {
 public:
  Amounts() = default;
  Amounts(const shape::Context& shapes, std::span<const shape::Dim> dims);

  size_t size() const { return numbers_.size(); }
  bool is_known() const { return computed_.empty(); }
  // The numbers of this run; `space` holds them where they are not all known.
  c10::IntArrayRef in(const shape::Bindings& bindings, c10::SmallVector<int64_t, 8>& space) const;

 private:
  std::vector<int64_t> numbers_;
  std::vector<size_t> computed_;  // places in numbers_, in the order of code_
  shape::Postfix code_;
};

class Layout {
 public:
  Layout() = default;
  Layout(const ir::Graph& graph, ir::ValueId value);

  bool fits(const at::Tensor& tensor, const shape::Bindings& bindings) const;
  at::Tensor allocate(const shape::Bindings& bindings) const;
  // The tensor itself if it lies as the graph says, else a copy that does. A kernel may give its results
  // other strides than the graph expects of it.
  at::Tensor arranged(const at::Tensor& tensor, const shape::Bindings& bindings) const;
  // The same, always in memory of its own.
  at::Tensor copied(const at::Tensor& tensor, const shape::Bindings& bindings) const;
  // Another tensor on the memory of `root`; `offset` elements behind its first.
  at::Tensor view(const at::Tensor& root, int64_t offset, const shape::Bindings& bindings) const;

 private:
  Amounts sizes_, strides_;
  c10::ScalarType dtype_ = c10::ScalarType::Float;
  c10::Device device_ = c10::kCPU;
};

}  // namespace stator::fused
