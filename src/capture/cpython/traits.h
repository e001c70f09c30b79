// capture/cpython/traits.h: the ways in which the bytecode of supported versions differs, as named constants.
#ifndef STATOR_CAPTURE_CPYTHON_TRAITS_H
#define STATOR_CAPTURE_CPYTHON_TRAITS_H

#include "capture/cpython/layout.h"

namespace stator::cpython {

// The callable lies below its self slot, which is NULL when there is no self. Before 3.13 a NULL lies below the callable.
inline constexpr bool kCallableBelowSelf = STATOR_PY >= 313;
// LOAD_ATTR carries "is a method call" in its lowest bit.
inline constexpr bool kAttributeHasMethodBit = STATOR_PY >= 312;
// COMPARE_OP holds the operator above this many bits.
inline constexpr int kCompareShift = STATOR_PY == 311 ? 0 : STATOR_PY == 312 ? 4 : 5;
// COMPARE_OP with this bit gives the truth of the result.
inline constexpr int kCompareToBool = STATOR_PY >= 313 ? 16 : 0;
// Instructions behind a loop that an exhausted FOR_ITER jumps over (it has popped the iterator already).
inline constexpr int kForIterSkip = STATOR_PY == 311 ? 0 : STATOR_PY == 312 ? 1 : 2;
// SEND leaves its receiver on the stack for END_SEND.
inline constexpr bool kSendKeepsReceiver = STATOR_PY >= 312;
// END_FOR pops the iterator beside the value.
inline constexpr bool kEndForPopsIterator = STATOR_PY == 312;
// MAKE_FUNCTION takes its attributes from the stack, as its argument says.
inline constexpr bool kMakeFunctionHasFlags = STATOR_PY <= 312;
// The evaluator clears and pops a frame that it ends. Before 3.12 its caller does.
inline constexpr bool kEvaluatorClearsFrame = STATOR_PY >= 312;
// Frames of every kind can be ended here. On 3.12 only plain ones can: CPython executes the instruction that ends the others.
inline constexpr bool kEndsEveryFrame = true;
// Native code and Python code count their recursion apart.
inline constexpr bool kSeparateRecursion = STATOR_PY >= 312;
// The generator's exception state is unlinked by the instruction that leaves it, so generators end in CPython.
inline constexpr bool kGeneratorEndsInEvaluator = STATOR_PY >= 312;
// Positions: while an instruction runs, the frame points at it; before 3.13 a frame not running points one unit before the next.
inline constexpr bool kPointsAtNext = STATOR_PY >= 313;

// "No exception is being handled" is stored as NULL only.
inline constexpr bool kNoneIsNoException = STATOR_PY >= 313;
// A frame that an error passes while a tool is on reports it by stator_report_error and stator_report_unwind.
inline constexpr bool kReportsErrorsHere = true;
// The class named after `raise … from` must give an exception when it is called.
inline constexpr bool kChecksCause = STATOR_PY >= 313;
// `__import__` is looked up in builtins of any type, and nested scopes of a class look up globals of any type.
inline constexpr bool kReadsNamespacesAsMappings = STATOR_PY >= 313;
// A hook that is installed changes the events that tools see.
inline constexpr bool kToolsSeeHook = STATOR_PY >= 312;

}  // namespace stator::cpython

#endif
