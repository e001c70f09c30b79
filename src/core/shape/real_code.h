// src/core/shape/real_code.h: the floats that every call computes: those that guards compare and those that
// symbols stand for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/shape/bindings.h"
#include "core/shape/real.h"

namespace stator::shape {

class Context;

// Each expression once, after its operands: what a program uses twice is not computed twice.
class RealCode {
 public:
  // The context outlives it and is complete.
  explicit RealCode(const Context& context);

  // Puts what follows from the numbers of the call into the bindings. The floats stay valid until the next
  // run of any code in this thread: operands of the guards two by two.
  std::span<const double> run(Bindings& bindings) const;

 private:
  struct Step {
    RealKind kind;
    RealFunction function{};
    bool fills_int = false, fills_real = false;
    uint32_t index = 0;     // kSymbol, kFromInt: its own
    uint32_t a = 0, b = 0;  // steps
    uint32_t symbol_int = 0, symbol_real = 0;
    double number = 0;
  };

  const Context& context_;
  std::vector<Step> steps_;
  std::vector<uint32_t> compared_;  // steps
};

}  // namespace stator::shape
