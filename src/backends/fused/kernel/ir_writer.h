// src/backends/fused/kernel/ir_writer.h: LLVM instructions as text, one register after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

std::string_view llvm_type(Type type);

class IrWriter {
 public:
  // Appends `%rN = instruction`; the register.
  std::string line(const std::string& instruction) {
    std::string name = "%r" + std::to_string(next_++);
    out += "  " + name + " = " + instruction + "\n";
    return name;
  }
  void statement(const std::string& instruction) { out += "  " + instruction + "\n"; }
  // Begins a block.
  void block(const std::string& label) {
    out += label + ":\n";
    current = label;
  }
  std::string new_label() { return "b" + std::to_string(next_++); }

  std::string binary(std::string_view op, Type type, const std::string& a, const std::string& b) {
    return line(std::string(op) + " " + std::string(llvm_type(type)) + " " + a + ", " + b);
  }
  // A call of an intrinsic or function whose arguments and result have one type.
  std::string call(const std::string& function, Type type, std::initializer_list<std::string> arguments);
  std::string fma(Type type, const std::string& a, const std::string& b, const std::string& c);
  std::string select(const std::string& condition, Type type, const std::string& a, const std::string& b);

  std::string out;
  std::string current;  // the block that is being written

 private:
  uint32_t next_ = 0;
};

std::string float_constant(Type type, double value);
std::string constant(Type type, double real, int64_t integer);

// Definitions of the functions that terms call: stator.exp.f32 and so on. In float32 they are polynomials
// that a loop can be vectorised over; in float64 they call the C library.
std::string math_functions();
std::string math_function(Op op, Type type);

}  // namespace stator::fused
