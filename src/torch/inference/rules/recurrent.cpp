// src/torch/inference/rules/recurrent.cpp: recurrent layers over whole sequences.
#include "torch/inference/rules/families.h"
#include "torch/inference/rules/layout.h"

namespace stator {

namespace {

// gru.input(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first): steps are
// stacked, so they come first in memory whatever comes first in the result; states are one per layer and
// direction.
bool answer_sequence(const Call& call, Answer& answer, const TensorMeta& state, int states) {
  const TensorMeta& input = call.tensor(0);
  const int64_t layers = call.integer(4), directions = call.boolean(7) ? 2 : 1;
  const bool batch_first = call.boolean(8);
  const auto& weights = call.tensors(2);
  if (!input.device.is_cpu() || !c10::isFloatingType(input.dtype)) return false;
  if (input.dim() != 3 || state.dim() != 3 || numel(input) == 0 || layers < 1) return false;
  const Size steps = input.sizes[batch_first ? 1 : 0], batch = input.sizes[batch_first ? 0 : 1];
  const Size& hidden = state.sizes[2];
  if (!(state.sizes[0] == layers * directions) || !(state.sizes[1] == batch)) return false;
  const int64_t each = call.boolean(3) ? 4 : 2;  // projections have one more
  if (static_cast<int64_t>(weights.size()) != layers * directions * each) return false;
  if (weights[0].dim() != 2 || !(weights[0].sizes[1] == input.sizes[2])) return false;
  if (state.dtype != input.dtype) return false;
  for (const TensorMeta& weight : weights) {
    if (weight.dtype != input.dtype) return false;
  }
  const Size width = hidden * Size(directions);
  if (batch_first) {
    answer.fresh(fresh_like(input, {batch, steps, width}, {width, batch * width, Size(1)}));
  } else {
    answer.fresh(fresh_meta({steps, batch, width}, input.dtype, input.device));
  }
  for (int i = 0; i < states; ++i) answer.fresh(fresh_meta(state.sizes, input.dtype, input.device));
  return true;
}

bool with_one_state(const Call& call, Answer& answer) {
  return answer_sequence(call, answer, call.tensor(1), 1);
}

bool lstm(const Call& call, Answer& answer) {
  const auto& states = call.tensors(1);
  if (states.size() != 2 || states[0].dim() != 3 || states[1].dim() != 3) return false;
  if (!std::equal(states[0].sizes.begin(), states[0].sizes.end(), states[1].sizes.begin())) return false;
  return states[1].dtype == states[0].dtype && answer_sequence(call, answer, states[0], 2);
}

constexpr RuleEntry kRules[] = {
    {"aten::gru.input", with_one_state},
    {"aten::rnn_tanh.input", with_one_state},
    {"aten::rnn_relu.input", with_one_state},
    {"aten::lstm.input", lstm},
};

}  // namespace

RuleTable recurrent_rules() { return kRules; }

}  // namespace stator
