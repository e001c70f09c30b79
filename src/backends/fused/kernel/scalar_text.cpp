// src/backends/fused/kernel/scalar_text.cpp: arithmetic, comparisons, conversions and elements in memory.
#include "backends/fused/kernel/scalar_text.h"

#include <stdexcept>

#include "backends/fused/kernel/llvm_text.h"

namespace stator::fused {

using ir::DType;

std::optional<Type> arithmetic_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return Type::boolean;
    case DType::kU8:
      return Type::u8;
    case DType::kI8:
      return Type::i8;
    case DType::kI16:
      return Type::i16;
    case DType::kI32:
      return Type::i32;
    case DType::kI64:
      return Type::i64;
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      return Type::f32;
    case DType::kF64:
      return Type::f64;
    default:
      return {};
  }
}

size_t element_size(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
      return 1;
    case DType::kI16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI32:
    case DType::kF32:
      return 4;
    default:
      return 8;
  }
}

namespace {

std::string type_text(Type type) { return std::string(llvm_type(type)); }
std::string suffix(Type type) { return type == Type::f32 ? ".f32" : ".f64"; }

// Round to nearest, ties to even, by integer arithmetic: not every processor has an instruction for it.
std::string bf16_bits(IrWriter& w, const std::string& value) {
  const std::string bits = w.line("bitcast float " + value + " to i32");
  const std::string high = w.line("lshr i32 " + bits + ", 16");
  const std::string odd = w.line("and i32 " + high + ", 1");
  const std::string bias = w.line("add i32 " + odd + ", 32767");
  const std::string rounded = w.line("lshr i32 " + w.line("add i32 " + bits + ", " + bias) + ", 16");
  const std::string nan = w.line("fcmp uno float " + value + ", " + value);
  return w.line("select i1 " + nan + ", i32 32704, i32 " + rounded);
}

std::string bf16_value(IrWriter& w, const std::string& bits) {
  return w.line("bitcast i32 " + w.line("shl i32 " + bits + ", 16") + " to float");
}

std::string convert(IrWriter& w, Type from, Type to, const std::string& a) {
  if (from == to) return a;
  const std::string source = type_text(from) + " " + a, target = " to " + type_text(to);
  if (to == Type::boolean) {
    return is_float(from) ? w.line("fcmp une " + source + ", " + float_constant(from, 0))
                          : w.line("icmp ne " + source + ", 0");
  }
  const bool is_unsigned = from == Type::boolean || from == Type::u8;
  if (is_float(to)) {
    if (is_float(from)) return w.line((to == Type::f64 ? "fpext " : "fptrunc ") + source + target);
    return w.line((is_unsigned ? "uitofp " : "sitofp ") + source + target);
  }
  if (is_float(from)) throw std::logic_error("a float as an integer");
  const auto bits = [](Type type) {
    return type == Type::i64       ? 64
           : type == Type::i32     ? 32
           : type == Type::i16     ? 16
           : type == Type::boolean ? 1
                                   : 8;
  };
  if (bits(from) == bits(to)) return a;
  if (bits(to) < bits(from)) return w.line("trunc " + source + target);
  return w.line((is_unsigned ? "zext " : "sext ") + source + target);
}

std::string compare(IrWriter& w, Op op, Type type, const std::string& a, const std::string& b) {
  const bool is_unsigned = type == Type::u8 || type == Type::boolean;
  std::string predicate;
  switch (op) {
    case Op::equal:
      predicate = is_float(type) ? "oeq" : "eq";
      break;
    case Op::unequal:
      predicate = is_float(type) ? "une" : "ne";
      break;
    case Op::less:
      predicate = is_float(type) ? "olt" : is_unsigned ? "ult" : "slt";
      break;
    default:
      predicate = is_float(type) ? "ole" : is_unsigned ? "ule" : "sle";
      break;
  }
  return w.line((is_float(type) ? "fcmp " : "icmp ") + predicate + " " + type_text(type) + " " + a + ", " +
                b);
}

std::string extreme(IrWriter& w, bool largest, Type type, const std::string& a, const std::string& b) {
  if (is_float(type)) return w.call((largest ? "llvm.maximum" : "llvm.minimum") + suffix(type), type, {a, b});
  const std::string less = compare(w, Op::less, type, a, b);
  return largest ? w.select(less, type, b, a) : w.select(less, type, a, b);
}

}  // namespace

std::string scalar(IrWriter& w, const Term& term, Type from, const std::string& a, const std::string& b,
                   const std::string& c) {
  const Type type = term.type;
  const std::string f = is_float(type) ? "f" : "";
  switch (term.op) {
    case Op::constant:
      return constant(type, term.real, term.integer);
    case Op::convert:
      return convert(w, from, type, a);
    case Op::round_bf16:
      return bf16_value(w, bf16_bits(w, a));
    case Op::round_f16:
      return w.line("fpext half " + w.line("fptrunc float " + a + " to half") + " to float");
    case Op::add:
      return type == Type::boolean ? w.binary("or", type, a, b) : w.binary(f + "add", type, a, b);
    case Op::sub:
      return w.binary(f + "sub", type, a, b);
    case Op::mul:
      return type == Type::boolean ? w.binary("and", type, a, b) : w.binary(f + "mul", type, a, b);
    case Op::div:
      return w.binary("fdiv", type, a, b);
    case Op::maximum:
    case Op::reduce_max:
      return extreme(w, true, type, a, b);
    case Op::minimum:
    case Op::reduce_min:
      return extreme(w, false, type, a, b);
    case Op::bit_and:
      return w.binary("and", type, a, b);
    case Op::bit_or:
      return w.binary("or", type, a, b);
    case Op::bit_xor:
      return w.binary("xor", type, a, b);
    case Op::equal:
    case Op::unequal:
    case Op::less:
    case Op::less_equal:
      return compare(w, term.op, from, a, b);
    case Op::select:
      return w.select(a, type, b, c);
    case Op::neg:
      return is_float(type) ? w.line("fneg " + type_text(type) + " " + a) : w.binary("sub", type, "0", a);
    case Op::abs: {
      if (is_float(type)) return w.call("llvm.fabs" + suffix(type), type, {a});
      if (type == Type::u8) return a;
      const std::string negative = compare(w, Op::less, type, a, "0");
      return w.select(negative, type, w.binary("sub", type, "0", a), a);
    }
    case Op::floor:
    case Op::ceil:
    case Op::trunc:
    case Op::sqrt:
      return w.call("llvm." + std::string(text(term.op)) + suffix(type), type, {a});
    case Op::rsqrt:
      return w.binary("fdiv", type, constant(type, 1, 1), w.call("llvm.sqrt" + suffix(type), type, {a}));
    case Op::exp:
    case Op::log:
    case Op::tanh:
    case Op::erf:
      return w.call(math_function(term.op, type), type, {a});
    case Op::reduce_sum:  // rounding in another order lets the loop be vectorised
      return w.binary(is_float(type) ? "fadd reassoc" : "add", type, a, b);
    case Op::load:
    case Op::row_size:
    case Op::index:
      break;
  }
  throw std::logic_error("a term without scalar text");
}

std::string load_element(IrWriter& w, DType dtype, const std::string& address) {
  switch (dtype) {
    case DType::kBool:
      return w.line("icmp ne i8 " + w.line("load i8, ptr " + address) + ", 0");
    case DType::kBF16:
      return bf16_value(w, w.line("zext i16 " + w.line("load i16, ptr " + address) + " to i32"));
    case DType::kF16:
      return w.line("fpext half " + w.line("load half, ptr " + address) + " to float");
    default:
      return w.line("load " + type_text(*arithmetic_type(dtype)) + ", ptr " + address);
  }
}

void store_element(IrWriter& w, DType dtype, const std::string& address, const std::string& value) {
  switch (dtype) {
    case DType::kBool:
      w.statement("store i8 " + w.line("zext i1 " + value + " to i8") + ", ptr " + address);
      return;
    case DType::kBF16:
      w.statement("store i16 " + w.line("trunc i32 " + bf16_bits(w, value) + " to i16") + ", ptr " + address);
      return;
    case DType::kF16:
      w.statement("store half " + w.line("fptrunc float " + value + " to half") + ", ptr " + address);
      return;
    default:
      w.statement("store " + type_text(*arithmetic_type(dtype)) + " " + value + ", ptr " + address);
  }
}

}  // namespace stator::fused
