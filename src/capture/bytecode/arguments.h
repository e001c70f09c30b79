// capture/bytecode/arguments.h: what the arguments of instructions mean, where they are more than a count or
// an index.
#ifndef STATOR_CAPTURE_BYTECODE_ARGUMENTS_H
#define STATOR_CAPTURE_BYTECODE_ARGUMENTS_H

namespace stator {

// Of BINARY_OP: operators, and the in-place forms behind them in the same order.
enum class BinaryOperator : int {
#define OPERATOR(name, ...) name,
#include "capture/bytecode/operators.def"
  count,
};
inline constexpr int kOperatorCount = static_cast<int>(BinaryOperator::count);
constexpr bool is_in_place(int argument) { return argument >= kOperatorCount; }
constexpr BinaryOperator operator_of(int argument) {
  return static_cast<BinaryOperator>(argument % kOperatorCount);
}

// Of CALL_INTRINSIC_1.
enum class Intrinsic : int {
#define INTRINSIC(name, ...) name,
#include "capture/bytecode/intrinsics.def"
};

// Of FORMAT_VALUE: a conversion, and whether a format specification lies on top of the value.
constexpr int conversion_of(int argument) { return argument & 3; }
constexpr bool has_format_spec(int argument) { return (argument & 4) != 0; }

// Of UNPACK_EX: how many values stand before the starred one, and behind it.
constexpr int unpacked_before(int argument) { return argument & 0xff; }
constexpr int unpacked_after(int argument) { return argument >> 8; }

// Of LOAD_GLOBAL and LOAD_SUPER_ATTR, whose low bits say how the result is called: the index of the name.
constexpr int global_name(int argument) { return argument >> 1; }
constexpr int super_name(int argument) { return argument >> 2; }

}  // namespace stator

#endif
