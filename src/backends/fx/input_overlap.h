// src/backends/fx/input_overlap.h: which inputs of a program share memory, where the program writes to some.
//
// Compilers that make a graph functional (AOT autograd) compute a write to one input for the inputs that
// overlapped it when they compiled, at the offsets of then. A call whose inputs overlap otherwise needs a
// program of its own.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "core/ir/graph.h"

namespace stator::fx {

class InputOverlap {
 public:
  // Of the graph and the tensors that it was captured with.
  InputOverlap(const ir::Graph& graph, const std::vector<at::Tensor>& inputs);

  // Whether an input that is written overlapped another one.
  bool any() const { return !pairs_.empty(); }
  // Whether one overlapped another otherwise than element by element, or what is written, or an input that it
  // is a view of, overlaps itself (`expand`, `as_strided`): eager kernels refuse to write to such memory, or
  // write parts of it twice, which a functional graph cannot know.
  bool any_partial() const;
  // Whether the program depends on it at all.
  bool matters() const { return any_written_; }
  // Whether no input that is written shared memory with another one.
  bool none() const { return pairs_.empty(); }
  bool is_same(const std::vector<const at::Tensor*>& inputs) const {
    return !any_written_ || pairs_of(inputs) == pairs_;
  }

 private:
  struct Pair {
    size_t first, second;
    int64_t first_offset, second_offset;
    bool is_whole;  // both are the same elements at the same indices
    bool operator==(const Pair&) const = default;
  };
  // In the order of the inputs' numbers.
  std::vector<Pair> pairs_of(const std::vector<const at::Tensor*>& inputs) const;

  std::vector<bool> written_;
  bool any_written_ = false;
  bool any_overlaps_itself_ = false;  // what is written; strides are guarded, so it is so in every call
  std::vector<Pair> pairs_;
};

}  // namespace stator::fx
