// src/backends/fused/plan/node_terms.cpp: arguments by name, and terms that are made once each.
#include "backends/fused/plan/node_terms.h"

#include <algorithm>
#include <cmath>

#include "backends/fused/kernel/llvm_text.h"

namespace stator::fused {

using ir::Operand;
using ir::OperandKind;

const Operand* NodeTerms::find(std::string_view name) const {
  const auto& names = graph_.op_of(node_).arguments;
  const auto operands = graph_.operands(node_);
  for (size_t i = 0; i < names.size() && i < operands.size(); ++i) {
    if (names[i] == name) return operands[i].kind == OperandKind::kNone ? nullptr : &operands[i];
  }
  return nullptr;
}

bool NodeTerms::has(std::string_view name) const { return find(name) != nullptr; }

bool NodeTerms::is_tensor(std::string_view name) const {
  const Operand* operand = find(name);
  return operand && operand->kind == OperandKind::kValue && graph_.value(operand->value).is_tensor();
}

bool NodeTerms::is_single(std::string_view name) const {
  if (!is_tensor(name)) return true;
  return std::ranges::all_of(graph_.sizes(find(name)->value),
                             [](shape::Dim size) { return size == shape::Dim(1); });
}

ir::DType NodeTerms::dtype(std::string_view name) const {
  if (!is_tensor(name)) throw NotFused{};
  return graph_.value(find(name)->value).dtype;
}

double NodeTerms::real(std::string_view name, double otherwise) const {
  const Operand* operand = find(name);
  if (!operand) return otherwise;
  if (operand->kind == OperandKind::kDouble) return operand->real;
  if (operand->kind == OperandKind::kInt) return static_cast<double>(operand->integer);
  if (operand->kind == OperandKind::kBool) return operand->boolean ? 1 : 0;
  throw NotFused{};
}

int64_t NodeTerms::integer(std::string_view name, int64_t otherwise) const {
  const Operand* operand = find(name);
  if (!operand) return otherwise;
  if (operand->kind != OperandKind::kInt) throw NotFused{};
  return operand->integer;
}

bool NodeTerms::flag(std::string_view name, bool otherwise) const {
  const Operand* operand = find(name);
  if (!operand) return otherwise;
  if (operand->kind != OperandKind::kBool) throw NotFused{};
  return operand->boolean;
}

std::string_view NodeTerms::string(std::string_view name, std::string_view otherwise) const {
  const Operand* operand = find(name);
  if (!operand) return otherwise;
  if (operand->kind != OperandKind::kString) throw NotFused{};
  return graph_.string(*operand);
}

std::vector<int64_t> NodeTerms::ints(std::string_view name) const {
  const Operand* operand = find(name);
  if (!operand) return {};
  if (operand->kind == OperandKind::kInt) return {operand->integer};
  if (operand->kind != OperandKind::kIntList) throw NotFused{};
  const auto ints = graph_.ints(*operand);
  return {ints.begin(), ints.end()};
}

ir::DType NodeTerms::result_dtype() const { return graph_.value(node_.first_output).dtype; }

bool NodeTerms::is_on_cuda() const {
  return graph_.value(node_.first_output).device.type == ir::DeviceType::kCuda;
}

Type NodeTerms::result() const {
  const auto type = arithmetic_type(result_dtype());
  if (!type) throw NotFused{};
  return *type;
}

TermId NodeTerms::operand(std::string_view name, Type type) {
  const Operand* operand = find(name);
  if (!operand) throw NotFused{};
  if (operand->kind == OperandKind::kValue) {
    const ir::Value& value = graph_.value(operand->value);
    if (!value.is_tensor()) throw NotFused{};
    // Promotion to a wider type is a conversion as any other.
    return convert(value.dtype == result_dtype() ? resolve_(operand->value) : exact(name), type);
  }
  if (is_float(type)) return number(real(name, 0), type);
  if (operand->kind == OperandKind::kDouble) throw NotFused{};
  return number(real(name, 0), type);
}

TermId NodeTerms::exact(std::string_view name) {
  const ir::DType dtype = this->dtype(name);
  const TermId term = resolve_(find(name)->value);
  return kernel_.terms[term].op == Op::load ? term : rounded(term, dtype);
}

// Integers that a double does not hold are left to torch.
TermId NodeTerms::number(double value, Type type) {
  Term term{.op = Op::constant, .type = type};
  if (is_float(type)) {
    term.real = value;
  } else {
    if (std::abs(value) > 9e15) throw NotFused{};
    const int bits = type == Type::i64 ? 63 : type == Type::i32 ? 31 : type == Type::i16 ? 15 : 7;
    const bool is_unsigned = type == Type::u8;
    const double limit = std::ldexp(1.0, is_unsigned ? 8 : bits);
    if (type != Type::boolean && (value >= limit || value < (is_unsigned ? 0 : -limit))) throw NotFused{};
    term.integer = type == Type::boolean ? static_cast<int64_t>(value != 0) : static_cast<int64_t>(value);
  }
  kernel_.terms.push_back(term);
  return static_cast<TermId>(kernel_.terms.size() - 1);
}

TermId NodeTerms::make_as(Op op, Type type, TermId a, TermId b, TermId c) {
  const Term term{.op = op, .type = type, .a = a, .b = b, .c = c};
  kernel_.terms.push_back(term);
  return static_cast<TermId>(kernel_.terms.size() - 1);
}

TermId NodeTerms::make(Op op, TermId a, TermId b, TermId c) {
  const bool compares = op == Op::equal || op == Op::unequal || op == Op::less || op == Op::less_equal;
  return make_as(op, compares ? Type::boolean : type_of(a), a, b, c);
}

TermId NodeTerms::select(TermId condition, TermId a, TermId b) {
  return make_as(Op::select, type_of(a), condition, a, b);
}

TermId NodeTerms::convert(TermId term, Type type) {
  const Type from = type_of(term);
  if (from == type) return term;
  // What C leaves undefined (a float beyond the integers) is torch's to decide.
  if (is_float(from) && !is_float(type) && type != Type::boolean) throw NotFused{};
  return make_as(Op::convert, type, term);
}

TermId NodeTerms::rounded(TermId term, ir::DType dtype) {
  if (dtype == ir::DType::kBF16) return make(Op::round_bf16, term);
  if (dtype == ir::DType::kF16) return make(Op::round_f16, term);
  return term;
}

}  // namespace stator::fused
