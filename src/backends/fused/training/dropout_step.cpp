// src/backends/fused/training/dropout_step.cpp: what torch's kernel does, operator by operator.
#include "backends/fused/training/dropout_step.h"

#include <ATen/Functions.h>

#include <string_view>

namespace stator::fused {
namespace {

class DropoutStep final : public native::Step {
 public:
  DropoutStep(ir::ValueId self, ir::ValueId result, double probability, bool in_place)
      : self_(index(self)), result_(index(result)), probability_(probability), in_place_(in_place) {
    uses = {self_};
    makes = {result_};
  }

  void run(std::vector<c10::IValue>& values, const shape::Bindings&) const override {
    at::Tensor self = values[self_].toTensor();
    if (self.numel() == 0) {
      values[result_] = self;
      return;
    }
    if (self.is_cuda() && !in_place_ && probability_ > 0 && probability_ < 1) {
      values[result_] = std::get<0>(at::native_dropout(self, probability_, true));
      return;
    }
    at::Tensor factor;
    if (probability_ == 1) {
      factor = at::zeros({}, self.options());
    } else {
      factor = at::empty_like(self);
      factor.bernoulli_(1 - probability_);
      factor.div_(1 - probability_);
    }
    values[result_] = in_place_ ? self.mul_(factor) : self.mul(factor);
  }

 private:
  uint32_t self_, result_;
  double probability_;
  bool in_place_;
};

const ir::Operand* argument(const ir::Graph& graph, const ir::Node& node, std::string_view name) {
  const auto& names = graph.op_of(node).arguments;
  const auto operands = graph.operands(node);
  for (size_t i = 0; i < names.size() && i < operands.size(); ++i) {
    if (names[i] == name) return &operands[i];
  }
  return nullptr;
}

// It may draw: nothing says that it does not.
bool may_drop(const ir::Graph& graph, const ir::Node& node, std::string_view probability) {
  const ir::Operand* p = argument(graph, node, probability);
  const ir::Operand* train = argument(graph, node, "train");
  if (p && p->kind == ir::OperandKind::kDouble && p->real == 0) return false;
  return !train || train->kind != ir::OperandKind::kBool || train->boolean;
}

}  // namespace

std::unique_ptr<native::Step> make_dropout_step(const ir::Graph& graph, const ir::Node& node) {
  const std::string_view name = graph.op_of(node).name;
  if (name != "aten::dropout" && name != "aten::dropout_") return nullptr;
  const ir::Operand* p = argument(graph, node, "p");
  const ir::Operand* self = argument(graph, node, "input");
  if (!self) self = argument(graph, node, "self");
  if (!p || !self || p->kind != ir::OperandKind::kDouble || self->kind != ir::OperandKind::kValue ||
      !may_drop(graph, node, "p"))
    return nullptr;
  return std::make_unique<DropoutStep>(self->value, node.first_output, p->real, name.ends_with('_'));
}

bool draws_otherwise(const ir::Graph& graph, const ir::Node& node) {
  const std::string_view name = graph.op_of(node).name;
  if (name.starts_with("aten::dropout")) return may_drop(graph, node, "p") && !make_dropout_step(graph, node);
  if (name.starts_with("aten::alpha_dropout")) return may_drop(graph, node, "p");
  for (const std::string_view network : {"aten::lstm.", "aten::gru.", "aten::rnn_tanh.", "aten::rnn_relu."}) {
    if (name.starts_with(network)) return may_drop(graph, node, "dropout");
  }
  return false;
}

}  // namespace stator::fused
