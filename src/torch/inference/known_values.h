// src/torch/inference/known_values.h: tensors of a capture whose contents are the same in every run.
#pragma once

#include <ATen/core/ivalue.h>

#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ir/graph.h"

namespace stator {

class Session;
struct Inference;
struct OperatorInfo;

// A tensor literal, `torch.arange(3)`, and what is computed of such tensors alone depends on no input, no
// symbol and no random number. Where the program asks for such a value (`(std == 0).any()`,
// `torch.arange(2, rank).tolist()`), the operators behind it are executed once, at that moment.
class KnownValues {
 public:
  // After an operator was recorded, whose outputs are values from `first` on.
  void note(const OperatorInfo& info, std::span<const c10::IValue> arguments, const Inference& inference,
            ir::ValueId first);
  void note_literal(ir::ValueId value, const at::Tensor& literal);
  // Returns nullopt if the value depends on what only a run knows, or is too large to be asked for.
  std::optional<at::Tensor> find(Session& session, const at::Tensor& tensor);
  // Executes an operator whose result is a number or truth, where all of its tensors are known.
  std::optional<c10::IValue> answer(Session& session, const OperatorInfo& info,
                                    std::span<const c10::IValue> arguments);

 private:
  struct Known {
    const OperatorInfo* info = nullptr;
    std::vector<c10::IValue> arguments;
    size_t output = 0;
    at::Tensor real;  // once it was asked for
  };
  bool is_known(const c10::IValue& argument) const;
  std::optional<at::Tensor> compute(Session& session, const at::Tensor& tensor, int depth);
  bool compute_all(Session& session, std::span<const c10::IValue> arguments, int depth,
                   std::vector<c10::IValue>& real);

  std::unordered_map<uint32_t, Known> known_;  // by value of the graph
  std::unordered_set<uint64_t> written_;       // memory that an operator has written to
};

}  // namespace stator
