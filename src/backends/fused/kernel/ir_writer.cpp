// src/backends/fused/kernel/ir_writer.cpp: types, constants and calls in LLVM's text.
#include "backends/fused/kernel/ir_writer.h"

#include <bit>
#include <cinttypes>
#include <cstdio>

namespace stator::fused {

std::string_view llvm_type(Type type) {
  switch (type) {
    case Type::boolean:
      return "i1";
    case Type::u8:
    case Type::i8:
      return "i8";
    case Type::i16:
      return "i16";
    case Type::i32:
      return "i32";
    case Type::i64:
      return "i64";
    case Type::f32:
      return "float";
    case Type::f64:
      return "double";
  }
  return "";
}

std::string IrWriter::call(const std::string& function, Type type,
                           std::initializer_list<std::string> arguments) {
  const std::string t(llvm_type(type));
  std::string text = "call " + t + " @" + function + "(";
  bool first = true;
  for (const std::string& argument : arguments) {
    text.append(first ? "" : ", ").append(t).append(" ").append(argument);
    first = false;
  }
  return line(text + ")");
}

std::string IrWriter::fma(Type type, const std::string& a, const std::string& b, const std::string& c) {
  return call(type == Type::f32 ? "llvm.fma.f32" : "llvm.fma.f64", type, {a, b, c});
}

std::string IrWriter::select(const std::string& condition, Type type, const std::string& a,
                             const std::string& b) {
  const std::string t(llvm_type(type));
  return line("select i1 " + condition + ", " + t + " " + a + ", " + t + " " + b);
}

// LLVM writes a float as the bits of the double that equals it.
std::string float_constant(Type type, double value) {
  const double exact = type == Type::f32 ? static_cast<double>(static_cast<float>(value)) : value;
  char text[24];
  std::snprintf(text, sizeof text, "0x%016" PRIX64, std::bit_cast<uint64_t>(exact));
  return text;
}

std::string constant(Type type, double real, int64_t integer) {
  if (is_float(type)) return float_constant(type, real);
  if (type == Type::boolean) return integer != 0 ? "true" : "false";
  return std::to_string(integer);
}

}  // namespace stator::fused
