// src/core/shape/real_code.cpp: collects what is needed of a context's floats and computes it in one pass.
#include "core/shape/real_code.h"

#include <cmath>

#include "core/shape/context.h"

namespace stator::shape {
namespace {

bool has_operands(RealKind kind) {
  return kind != RealKind::kConstant && kind != RealKind::kSymbol && kind != RealKind::kFromInt &&
         kind != RealKind::kRead;
}

// Outside of every symbol's range where it is no int that a symbol can be.
int64_t whole(double number) {
  constexpr double kMost = 4611686018427387904.0;  // 2^62
  return std::fabs(number) <= kMost ? static_cast<int64_t>(number) : INT64_MIN;
}

}  // namespace

RealCode::RealCode(const Context& context) : context_(context) {
  const RealTable& reals = context.reals();
  std::vector<bool> needed(reals.size());
  const auto need = [&](RealId id) { needed[static_cast<uint32_t>(id)] = true; };
  for (const RealGuard& guard : context.real_guards()) {
    need(guard.a);
    need(guard.b);
  }
  for (const Symbol& symbol : context.symbols()) {
    if (symbol.follows) need(*symbol.follows);
  }
  for (const RealSymbol& symbol : context.real_symbols()) {
    if (symbol.follows) need(*symbol.follows);
  }
  // Operands are older than what is made of them.
  for (size_t i = reals.size(); i-- > 0;) {
    const Real& real = reals[RealId{static_cast<uint32_t>(i)}];
    if (!needed[i] || !has_operands(real.kind)) continue;
    need(real.a);
    need(real.b);
  }
  std::vector<uint32_t> place(reals.size());
  for (size_t i = 0; i < reals.size(); i++) {
    if (!needed[i]) continue;
    const Real& real = reals[RealId{static_cast<uint32_t>(i)}];
    place[i] = static_cast<uint32_t>(steps_.size());
    Step step{.kind = real.kind, .index = real.index, .number = real.number};
    if (real.kind == RealKind::kCall) step.function = RealFunction{static_cast<uint8_t>(real.index)};
    if (has_operands(real.kind)) {
      step.a = place[static_cast<uint32_t>(real.a)];
      step.b = place[static_cast<uint32_t>(real.b)];
    }
    steps_.push_back(step);
  }
  const auto step_of = [&](RealId id) -> Step& { return steps_[place[static_cast<uint32_t>(id)]]; };
  for (size_t i = 0; i < context.symbols().size(); i++) {
    if (!context.symbols()[i].follows) continue;
    Step& step = step_of(*context.symbols()[i].follows);
    step.fills_int = true;
    step.symbol_int = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < context.real_symbols().size(); i++) {
    if (!context.real_symbols()[i].follows) continue;
    Step& step = step_of(*context.real_symbols()[i].follows);
    step.fills_real = true;
    step.symbol_real = static_cast<uint32_t>(i);
  }
  for (const RealGuard& guard : context.real_guards()) {
    compared_.push_back(place[static_cast<uint32_t>(guard.a)]);
    compared_.push_back(place[static_cast<uint32_t>(guard.b)]);
  }
}

std::span<const double> RealCode::run(Bindings& bindings) const {
  static thread_local std::vector<double> values;
  static thread_local std::vector<double> operands;
  if (values.size() < steps_.size()) values.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); i++) {
    const Step& step = steps_[i];
    double& value = values[i];
    switch (step.kind) {
      case RealKind::kConstant:
        value = step.number;
        break;
      case RealKind::kSymbol:
        value = bindings.reals[step.index];
        break;
      case RealKind::kFromInt:
        value = RealTable::from_int(context_.exprs().evaluate(ExprId{step.index}, bindings.ints));
        break;
      case RealKind::kCall:
        value = apply(step.function, values[step.a], values[step.b]);
        break;
      default:
        value = RealTable::apply(step.kind, values[step.a], values[step.b]);
    }
    if (step.fills_int) bindings.ints[step.symbol_int] = whole(value);
    if (step.fills_real) bindings.reals[step.symbol_real] = value;
  }
  operands.clear();
  for (const uint32_t place : compared_) operands.push_back(values[place]);
  return operands;
}

}  // namespace stator::shape
