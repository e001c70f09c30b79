// src/backends/fused/kernel/cuda_terms.cpp: arithmetic as C++ writes it, with torch's meaning.
#include "backends/fused/kernel/cuda_terms.h"

#include <bit>
#include <stdexcept>

#include "backends/fused/kernel/cuda_text.h"

namespace stator::fused {

using ir::DType;

std::string type_text(Type type) {
  switch (type) {
    case Type::boolean:
      return "bool";
    case Type::u8:
      return "unsigned char";
    case Type::i8:
      return "signed char";
    case Type::i16:
      return "short";
    case Type::i32:
      return "int";
    case Type::i64:
      return "long long";
    case Type::f32:
      return "float";
    case Type::f64:
      return "double";
  }
  throw std::logic_error("a type without text");
}

std::string memory_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return "unsigned char";
    case DType::kI8:
      return "signed char";
    case DType::kI16:
      return "short";
    case DType::kF16:
    case DType::kBF16:
      return "unsigned short";
    case DType::kI32:
      return "int";
    case DType::kI64:
      return "long long";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    default:
      throw std::logic_error("an element type without text");
  }
}

std::string loaded_text(DType dtype, const std::string& place) {
  switch (dtype) {
    case DType::kBool:
      return place + " != 0";
    case DType::kBF16:
      return "stator_from_bf16(" + place + ")";
    case DType::kF16:
      return "stator_from_f16(" + place + ")";
    default:
      return place;
  }
}

std::string stored_text(DType dtype, const std::string& value) {
  switch (dtype) {
    case DType::kBF16:
      return "stator_to_bf16(" + value + ")";
    case DType::kF16:
      return "stator_to_f16(" + value + ")";
    default:
      return value;
  }
}

namespace {

// By its bits, which no reader of decimals rounds.
std::string float_text(Type type, double value) {
  if (type == Type::f32)
    return "__uint_as_float(" + std::to_string(std::bit_cast<uint32_t>(static_cast<float>(value))) + "u)";
  return "__longlong_as_double((long long)" + std::to_string(std::bit_cast<uint64_t>(value)) + "ull)";
}

std::string integer_text(Type type, int64_t value) {
  if (type == Type::boolean) return value != 0 ? "true" : "false";
  // The smallest integer has no literal of its own.
  const std::string text = value == INT64_MIN ? "(-9223372036854775807ll - 1)" : std::to_string(value) + "ll";
  return "(" + type_text(type) + ")" + text;
}

std::string constant_text(Type type, double real, int64_t integer) {
  return is_float(type) ? float_text(type, real) : integer_text(type, integer);
}

std::string function_text(Type type, const char* name, const std::string& a) {
  return std::string(name) + (type == Type::f32 ? "f(" : "(") + a + ")";
}

// C++ computes small integers as ints.
std::string binary(Type type, const std::string& a, const char* op, const std::string& b) {
  const std::string text = a + " " + op + " " + b;
  return is_float(type) ? text : "(" + type_text(type) + ")(" + text + ")";
}

// A NaN if either is one.
std::string extreme(const std::string& a, const char* op, const std::string& b, Type type) {
  const std::string is_nan = is_float(type) ? " || " + a + " != " + a : "";
  return "(" + a + " " + op + " " + b + is_nan + ") ? " + a + " : " + b;
}

}  // namespace

std::string identity_text(Op op, Type type) {
  if (op == Op::reduce_sum) return constant_text(type, 0, 0);
  const bool lowest = op == Op::reduce_max;
  if (is_float(type)) return float_text(type, lowest ? -__builtin_inf() : __builtin_inf());
  if (type == Type::boolean) return lowest ? "false" : "true";
  if (type == Type::u8) return integer_text(type, lowest ? 0 : 255);
  const int bits = type == Type::i64 ? 64 : type == Type::i32 ? 32 : type == Type::i16 ? 16 : 8;
  const int64_t low = bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
  return integer_text(type, lowest ? low : -(low + 1));
}

std::string term_text(const Term& term, Type from, const std::string& a, const std::string& b,
                      const std::string& c) {
  const Type type = term.type;
  const bool is_boolean = type == Type::boolean;
  switch (term.op) {
    case Op::constant:
      return constant_text(type, term.real, term.integer);
    case Op::convert:
      return is_boolean ? a + " != 0" : "(" + type_text(type) + ")" + a;
    case Op::round_bf16:
      return "stator_from_bf16(stator_to_bf16(" + a + "))";
    case Op::round_f16:
      return "stator_from_f16(stator_to_f16(" + a + "))";
    case Op::add:
      return is_boolean ? a + " || " + b : binary(type, a, "+", b);
    case Op::sub:
      return binary(type, a, "-", b);
    case Op::mul:
      return is_boolean ? a + " && " + b : binary(type, a, "*", b);
    case Op::div:
      return binary(type, a, "/", b);
    case Op::maximum:
    case Op::reduce_max:
      return extreme(a, ">", b, type);
    case Op::minimum:
    case Op::reduce_min:
      return extreme(a, "<", b, type);
    case Op::bit_and:
      return binary(type, a, "&", b);
    case Op::bit_or:
      return binary(type, a, "|", b);
    case Op::bit_xor:
      return binary(type, a, "^", b);
    case Op::equal:
      return a + " == " + b;
    case Op::unequal:
      return a + " != " + b;
    case Op::less:
      return a + " < " + b;
    case Op::less_equal:
      return a + " <= " + b;
    case Op::select:
      return a + " ? " + b + " : " + c;
    case Op::neg:
      return is_float(type) ? "-" + a : "(" + type_text(type) + ")(0 - " + a + ")";
    case Op::abs:
      if (is_float(type)) return function_text(type, "fabs", a);
      if (type == Type::u8) return a;
      return "(" + type_text(type) + ")(" + a + " < 0 ? 0 - " + a + " : " + a + ")";
    case Op::floor:
      return function_text(type, "floor", a);
    case Op::ceil:
      return function_text(type, "ceil", a);
    case Op::trunc:
      return function_text(type, "trunc", a);
    case Op::sqrt:
      return function_text(type, "sqrt", a);
    case Op::rsqrt:
      return function_text(type, "rsqrt", a);
    case Op::exp:
      return function_text(type, "exp", a);
    case Op::log:
      return function_text(type, "log", a);
    case Op::tanh:
      return function_text(type, "tanh", a);
    case Op::erf:
      return function_text(type, "erf", a);
    case Op::reduce_sum:
      return is_boolean ? a + " || " + b : binary(type, a, "+", b);
    case Op::load:
    case Op::row_size:
    case Op::index:
      break;
  }
  (void)from;
  throw std::logic_error("a term without text");
}

// 16-bit floats without CUDA's headers: NVRTC has none.
std::string cuda_prelude() {
  return R"(
template <class Element, int count>
struct __align__(sizeof(Element) * count < 16 ? sizeof(Element) * count : 16) stator_vector {
  Element at[count];
};
__device__ __forceinline__ float stator_from_bf16(unsigned short bits) {
  return __uint_as_float((unsigned int)bits << 16);
}
__device__ __forceinline__ unsigned short stator_to_bf16(float value) {
  const unsigned int bits = __float_as_uint(value);
  const unsigned int rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (unsigned short)(value != value ? 0x7fc0u : rounded);
}
__device__ __forceinline__ float stator_from_f16(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
__device__ __forceinline__ unsigned short stator_to_f16(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
)";
}

}  // namespace stator::fused
