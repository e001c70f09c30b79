// src/torch/symbols/sym_node.cpp: expressions of a capture behind torch's interface for symbolic numbers.
#include "torch/symbols/sym_node.h"

#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/python_symnode.h>

#include <cmath>
#include <stdexcept>

#include "torch/symbols/known_comparison.h"
#include "torch/tracing/capture_break.h"

namespace stator {
namespace {

using c10::SymNode;

// An int, a float, or the truth of a comparison, which is decided when somebody asks for it.
class ExprNode final : public c10::SymNodeImpl {
 public:
  explicit ExprNode(SymNumber number)
      : number_(number),
        context_(number_.context != nullptr ? number_.context->shared_from_this() : nullptr) {}

  const SymNumber& number() const { return number_; }

  bool is_int() override { return !number_.is_real; }
  bool is_float() override { return number_.is_real; }
  bool is_bool() override { return false; }

  SymNode add(const SymNode& other) override { return calculated(Arithmetic::add, other); }
  SymNode sub(const SymNode& other) override { return calculated(Arithmetic::sub, other); }
  SymNode mul(const SymNode& other) override { return calculated(Arithmetic::mul, other); }
  SymNode truediv(const SymNode& other) override { return calculated(Arithmetic::truediv, other); }
  SymNode floordiv(const SymNode& other) override { return calculated(Arithmetic::floordiv, other); }
  SymNode mod(const SymNode& other) override { return calculated(Arithmetic::mod, other); }
  SymNode pow(const SymNode& other) override { return calculated(Arithmetic::pow, other); }
  SymNode neg() override {
    if (const auto result = negate(number_)) return c10::make_intrusive<ExprNode>(*result);
    break_for_overflow();
  }
  SymNode sym_min(const SymNode& other) override { return extremum(other, true); }
  SymNode sym_max(const SymNode& other) override { return extremum(other, false); }
  SymNode eq(const SymNode& other) override { return compared(Comparison::eq, other); }
  SymNode ne(const SymNode& other) override { return compared(Comparison::ne, other); }
  SymNode gt(const SymNode& other) override { return compared(Comparison::gt, other); }
  SymNode lt(const SymNode& other) override { return compared(Comparison::lt, other); }
  SymNode le(const SymNode& other) override { return compared(Comparison::le, other); }
  SymNode ge(const SymNode& other) override { return compared(Comparison::ge, other); }
  SymNode ceil() override { return is_int() ? clone() : wrap_int(whole(std::ceil(fixed()))); }
  SymNode floor() override { return is_int() ? clone() : wrap_int(whole(std::floor(fixed()))); }
  SymNode clone() override { return c10::make_intrusive<ExprNode>(number_); }
  SymNode sym_float() override {
    if (number_.is_real) return clone();
    const auto zero = calculate(Arithmetic::add, number_, SymNumber::of(0.0));
    if (!zero) return wrap_float(fixed());
    return c10::make_intrusive<ExprNode>(*zero);
  }
  SymNode wrap_int(int64_t number) override {
    return c10::make_intrusive<ExprNode>(SymNumber::of(Size(number)));
  }
  SymNode wrap_float(double number) override { return c10::make_intrusive<ExprNode>(SymNumber::of(number)); }
  SymNode wrap_bool(bool truth) override;

  int64_t guard_int(const char*, int64_t) override { return int_(); }
  double guard_float(const char*, int64_t) override { return fixed(); }
  bool guard_bool(const char*, int64_t) override { return bool_(); }
  int64_t int_() override { return number_.is_real ? whole(fixed()) : fixed_integer(); }
  bool bool_() override { return compare(Comparison::ne, number_, SymNumber::of(Size(0))); }
  bool has_hint() override { return number_.has_hint(); }
  // Messages of torch's errors show sizes, and the program may read them: a number that is shown is fixed.
  std::string str() override {
    return number_.is_real ? std::to_string(fixed()) : std::to_string(fixed_integer());
  }
  std::optional<int64_t> constant_int() override { return maybe_as_int(); }
  std::optional<int64_t> maybe_as_int() override {
    if (number_.is_real || number_.is_symbolic()) return std::nullopt;
    return number_.integer.dim().number();
  }
  bool is_constant() override { return !number_.is_symbolic(); }
  bool is_symbolic() override { return number_.is_symbolic(); }

 private:
  double fixed() const { return number_.specialize(); }
  int64_t fixed_integer() const {
    if (!number_.has_hint()) number_.specialize();  // ends the capture
    return number_.integer.specialize();
  }
  static SymNumber operand(const SymNode& other);
  SymNode calculated(Arithmetic operation, const SymNode& other) {
    const SymNumber right = operand(other);
    if (auto result = calculate(operation, number_, right)) return c10::make_intrusive<ExprNode>(*result);
    // torch's C++ asks for nothing else of numbers that have no symbolic form.
    TORCH_CHECK(operation != Arithmetic::truediv && operation != Arithmetic::pow && !number_.is_real &&
                    !right.is_real,
                "stator: arithmetic on numbers that has no symbolic form");
    const Size a = number_.integer.specialize(), b = right.integer.specialize();
    try {
      switch (operation) {
        case Arithmetic::add:
          return of(a + b);
        case Arithmetic::sub:
          return of(a - b);
        case Arithmetic::mul:
          return of(a * b);
        default:
          TORCH_CHECK(!(b == 0), "integer division by zero");
          return of(operation == Arithmetic::mod ? a % b : quotient(a, b));
      }
    } catch (const std::overflow_error&) {
      break_for_overflow();
    }
  }
  static Size quotient(const Size& a, const Size& b) {
    using shape::floordiv;  // hidden by the method
    return floordiv(a, b);
  }
  static SymNode of(const Size& size) { return c10::make_intrusive<ExprNode>(SymNumber::of(size)); }
  [[noreturn]] static void break_for_overflow() {
    raise_break(BreakCode::kShapeInference, "torch calculates with a number of more than 64 bits");
  }
  static int64_t whole(double number) {
    constexpr double kEnd = 9223372036854775808.0;  // 2^63
    if (!(number >= -kEnd && number < kEnd)) break_for_overflow();
    return static_cast<int64_t>(number);
  }
  SymNode compared(Comparison comparison, const SymNode& other);
  SymNode extremum(const SymNode& other, bool smaller) {
    const SymNumber right = operand(other);
    if (!number_.is_real && !right.is_real) {
      return c10::make_intrusive<ExprNode>(
          SymNumber::of(smaller ? min(number_.integer, right.integer) : max(number_.integer, right.integer)));
    }
    return compare(smaller ? Comparison::le : Comparison::ge, number_, right) ? clone() : other;
  }

  SymNumber number_;
  std::shared_ptr<shape::Context> context_;
};

// A comparison of two numbers that nobody has asked for yet.
class ComparisonNode final : public c10::SymNodeImpl {
 public:
  ComparisonNode(Comparison comparison, SymNumber a, SymNumber b, std::shared_ptr<shape::Context> context)
      : comparison_(comparison), a_(a), b_(b), context_(std::move(context)) {}
  explicit ComparisonNode(bool known) : known_(known) {}

  bool is_int() override { return false; }
  bool is_float() override { return false; }
  bool is_bool() override { return true; }
  bool bool_() override {
    if (!known_) known_ = compare(comparison_, a_, b_);
    return *known_;
  }
  bool guard_bool(const char*, int64_t) override { return bool_(); }
  bool guard_or_false(const char*, int64_t) override { return if_known().value_or(false); }
  bool guard_or_true(const char*, int64_t) override { return if_known().value_or(true); }
  // Without a guard: only what holds for every value counts.
  bool statically_known_true(const char*, int64_t) override { return known_.value_or(false); }
  bool has_hint() override { return true; }
  std::optional<bool> constant_bool() override { return known_; }
  bool is_symbolic() override { return !known_; }
  bool is_constant() override { return known_.has_value(); }
  SymNode sym_not() override { return c10::make_intrusive<ComparisonNode>(!bool_()); }
  SymNode sym_and(const SymNode& other) override {
    return c10::make_intrusive<ComparisonNode>(bool_() && other->bool_());
  }
  SymNode sym_or(const SymNode& other) override {
    return c10::make_intrusive<ComparisonNode>(bool_() || other->bool_());
  }
  SymNode sym_ite(const SymNode& then_value, const SymNode& else_value) override {
    return bool_() ? then_value : else_value;
  }
  SymNode eq(const SymNode& other) override {
    return c10::make_intrusive<ComparisonNode>(bool_() == other->bool_());
  }
  SymNode ne(const SymNode& other) override {
    return c10::make_intrusive<ComparisonNode>(bool_() != other->bool_());
  }
  SymNode wrap_bool(bool truth) override { return c10::make_intrusive<ComparisonNode>(truth); }
  SymNode clone() override { return SymNode::reclaim_copy(this); }
  std::string str() override { return bool_() ? "True" : "False"; }

 private:
  std::optional<bool> if_known() {
    if (!known_) known_ = compare_if_known(comparison_, a_, b_);
    return known_;
  }

  Comparison comparison_ = Comparison::eq;
  SymNumber a_, b_;
  std::shared_ptr<shape::Context> context_;
  std::optional<bool> known_;
};

SymNode ExprNode::wrap_bool(bool truth) { return c10::make_intrusive<ComparisonNode>(truth); }

SymNode ExprNode::compared(Comparison comparison, const SymNode& other) {
  return c10::make_intrusive<ComparisonNode>(comparison, number_, operand(other), context_);
}

SymNumber ExprNode::operand(const SymNode& other) {
  if (auto number = to_number(other)) return *number;
  return SymNumber::of(Size(other->guard_int(__FILE__, __LINE__)));
}

}  // namespace

SymNode to_node(const SymNumber& number) { return c10::make_intrusive<ExprNode>(number); }

std::optional<SymNumber> to_number(const SymNode& node) {
  if (const auto* ours = dynamic_cast<const ExprNode*>(node.get())) return ours->number();
  // torch's bindings wrap the node of a SymFloat once more.
  if (const auto* wrapped = dynamic_cast<torch::impl::PythonSymNodeImpl*>(node.get())) {
    const py::gil_scoped_acquire gil;
    const py::handle inner = wrapped->getPyObj();
    if (py::isinstance<c10::SymNodeImpl>(inner)) return to_number(py::cast<SymNode>(inner));
  }
  return std::nullopt;
}

c10::SymInt to_sym_int(const Size& size) {
  return size.is_symbolic() ? c10::SymInt(to_node(SymNumber::of(size))) : c10::SymInt(size.dim().number());
}

c10::SymFloat to_sym_float(const SymNumber& number) {
  // torch's bindings hand out no other nodes of floats than those that wrap a Python object.
  const py::gil_scoped_acquire gil;
  c10::SymNode node = c10::make_intrusive<torch::impl::PythonSymNodeImpl>(py::cast(to_node(number)));
  return c10::SymFloat(std::move(node));
}

Size to_size(const c10::SymInt& value) {
  if (!value.is_symbolic()) return value.as_int_unchecked();
  const c10::SymNode node = value.toSymNode();
  const auto number = to_number(node);
  if (!number && node->is_nested_int())
    raise_break(BreakCode::kTensorSubclass, "a ragged size of a nested tensor is given to an operator");
  return number && !number->is_real ? number->integer : Size(value.guard_int(__FILE__, __LINE__));
}

std::optional<SymNumber> to_number(const c10::IValue& value) {
  if (value.isInt()) return SymNumber::of(Size(value.toInt()));
  if (value.isDouble()) return SymNumber::of(value.toDouble());
  if (value.isSymInt()) return SymNumber::of(to_size(value.toSymInt()));
  if (value.isSymFloat()) {
    const c10::SymFloat number = value.toSymFloat();
    if (!number.is_symbolic()) return SymNumber::of(number.as_float_unchecked());
    const auto known = to_number(number.toSymNodeImpl());
    return known ? *known : SymNumber::of(number.guard_float(__FILE__, __LINE__));
  }
  return std::nullopt;
}

}  // namespace stator
