// src/core/shape/real.h: floats that are known only when the program runs: expressions over float symbols.
//
// No algebra: a float expression is computed as Python computes it, operation by operation, so that replays
// give the bits that eager gives.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/shape/dim.h"
#include "core/shape/real_function.h"

namespace stator::shape {

class ExprTable;

// An expression of one shape::Context; equal ids are equal expressions.
enum class RealId : uint32_t {};

enum class RealKind : uint8_t {
  kConstant,  // number
  kSymbol,    // index
  kFromInt,   // of the integer expression `index`
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kNeg,
  kCall,  // of the function `index`, a RealFunction
  kRead,  // the number that the program reads off a tensor: a value of the graph, unknown before it runs
};

struct Real {
  RealKind kind = RealKind::kConstant;
  uint32_t index = 0;
  RealId a{}, b{};
  double number = 0;     // kConstant: its value
  double hint = 0;       // the value at capture
  bool has_hint = true;  // false: it depends on numbers that are read, so nothing can be decided by it
};

// A comparison of two floats that a capture relied on. Its negation is kept by `expected`: with NaN the
// opposite comparison would be something else.
struct RealGuard {
  enum class Kind : uint8_t { kEqual, kLess, kLessEqual, kSameBits };
  Kind kind;
  RealId a, b;
  bool expected;
  bool operator==(const RealGuard&) const = default;
};

class RealTable {
 public:
  explicit RealTable(const ExprTable& ints) : ints_(ints) {}
  RealTable(const RealTable&) = delete;
  RealTable& operator=(const RealTable&) = delete;

  RealId constant(double number);
  RealId add_symbol(double hint);
  RealId from_int(ExprId expr, double hint);
  RealId add_read();
  // Precondition of kDiv and kPow: Python gives a float for the hints, and guards keep it so.
  RealId binary(RealKind kind, RealId a, RealId b);
  RealId neg(RealId a);
  // b is a where the function has one operand.
  RealId call(RealFunction function, RealId a, RealId b);

  const Real& operator[](RealId id) const { return reals_[static_cast<uint32_t>(id)]; }
  size_t size() const { return reals_.size(); }
  // Whether Python raises for some values of its operands, as far as they are not known.
  bool may_raise(RealId id) const;
  uint32_t symbol_count() const { return symbols_; }

  // Recurses, and computes what is used twice twice; calls are checked by RealCode.
  double evaluate(RealId id, std::span<const int64_t> ints, std::span<const double> reals) const;
  bool holds(const RealGuard& guard, std::span<const int64_t> ints, std::span<const double> reals) const;

  static double apply(RealKind kind, double a, double b);
  // Rounded to the nearest, as Python does. Of an expression without a value, NaN: a guard fails then.
  static double from_int(std::optional<int64_t> number);
  static bool compare(RealGuard::Kind kind, double a, double b);

 private:
  struct Hash {
    const RealTable* table;
    size_t operator()(RealId id) const;
  };
  struct Equal {
    const RealTable* table;
    bool operator()(RealId a, RealId b) const;
  };
  RealId intern(const Real& real);

  const ExprTable& ints_;
  std::vector<Real> reals_;
  std::unordered_set<RealId, Hash, Equal> ids_{0, Hash{this}, Equal{this}};
  uint32_t symbols_ = 0;
  uint32_t reads_ = 0;
};

}  // namespace stator::shape
