// src/core/ir/effects.cpp: looking up hidden effects and applying their conditions to a node's arguments.
#include "core/ir/effects.h"

#include <unordered_map>

namespace stator::ir {
namespace {

enum class Condition : uint8_t { kAlways, kIfTrue, kIfPositive };
enum class Effect : uint8_t { kDraws, kWritesStatistics, kRaises };

struct HiddenEffect {
  std::string_view name;
  Condition condition;
  uint32_t argument;
  Effect effect;
};

constexpr HiddenEffect kHiddenEffects[] = {
#define STATOR_HIDDEN_EFFECT(name, condition, argument, effect) \
  {name, Condition::condition, argument, Effect::effect},
#include "core/ir/hidden_effects.def"
};

constexpr uint64_t kStatistics = 1 << 3 | 1 << 4;

// An argument that is missing or not a constant leaves the effect possible.
bool may_hold(const HiddenEffect& row, std::span<const Operand> operands) {
  if (row.condition == Condition::kAlways || row.argument >= operands.size()) return true;
  const Operand& operand = operands[row.argument];
  if (row.condition == Condition::kIfTrue) return operand.kind != OperandKind::kBool || operand.boolean;
  if (operand.kind == OperandKind::kDouble) return !(operand.real <= 0);
  return operand.kind != OperandKind::kInt || operand.integer > 0;
}

}  // namespace

uint32_t hidden_effect_of(std::string_view operator_name) {
  static const auto* rows = [] {
    auto* map = new std::unordered_map<std::string_view, uint32_t>;
    for (const HiddenEffect& row : kHiddenEffects)
      map->emplace(row.name, static_cast<uint32_t>(map->size()) + 1);
    return map;
  }();
  auto found = rows->find(operator_name);
  if (found == rows->end()) found = rows->find(operator_name.substr(0, operator_name.find('.')));
  return found == rows->end() ? 0 : found->second;
}

uint64_t hidden_writes_of(std::string_view operator_name) {
  const uint32_t row = hidden_effect_of(operator_name);
  return row != 0 && kHiddenEffects[row - 1].effect == Effect::kWritesStatistics ? kStatistics : 0;
}

bool may_raise(std::string_view operator_name) {
  const uint32_t row = hidden_effect_of(operator_name);
  return row != 0 && kHiddenEffects[row - 1].effect == Effect::kRaises;
}

Effects effects_of(const Graph& graph, const Node& node) {
  const Operator& op = graph.op_of(node);
  Effects effects;
  effects.writes = op.writes;
  effects.random = op.flags.has(OpFlag::kRandom);
  effects.mode = op.flags.has(OpFlag::kMode);
  effects.may_raise = op.flags.has(OpFlag::kMayRaise);
  effects.unknown = !op.flags.has(OpFlag::kPure) && !effects.random && !effects.mode && op.writes == 0;
  if (op.hidden_effect == 0) return effects;

  const HiddenEffect& row = kHiddenEffects[op.hidden_effect - 1];
  bool holds = may_hold(row, graph.operands(node));
  switch (row.effect) {
    case Effect::kDraws:
      effects.random = holds;
      break;
    case Effect::kWritesStatistics:
      if (holds) effects.writes |= kStatistics;
      break;
    case Effect::kRaises:
      effects.may_raise = effects.may_raise || holds;
      break;
  }
  return effects;
}

}  // namespace stator::ir
