// capture/cpython/traits.h: the ways in which the bytecode of supported versions differs, as named constants.
#ifndef STATOR_CAPTURE_CPYTHON_TRAITS_H
#define STATOR_CAPTURE_CPYTHON_TRAITS_H

#include "capture/cpython/layout.h"

namespace stator::cpython {

// The callable lies below its self slot, which is NULL when there is no self. Before 3.13 a NULL lies below
// the callable.
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
// Iterators of itertools say what makes another one like them; later with a warning.
inline constexpr bool kItertoolsReduce = STATOR_PY == 311;
// The evaluator clears and pops a frame that it ends. Before 3.12 its caller does.
inline constexpr bool kEvaluatorClearsFrame = STATOR_PY >= 312;

// While a Python function that CALL entered runs, its caller stands on the last unit of the instruction, not
// on the first.
inline constexpr bool kCallerStandsOnLastUnit = STATOR_PY <= 312;
// SEND enters generators and coroutines in the same way.
inline constexpr bool kSenderStandsOnLastUnit = STATOR_PY == 312;

// FOR_ITER and SEND resume a generator in the evaluator's own loop, without recursion in C.
inline constexpr bool kResumesInLoop = STATOR_PY >= 312;
// So do, in warm code, reads of attributes that end in a Python getter or `__getattribute__`.
inline constexpr bool kReadsEnterFrames = STATOR_PY >= 312;
// So do warm calls of simple classes, which end in a Python `__init__`; they count a level beside that of its
// frame.
inline constexpr bool kClassCallsEnterInit = STATOR_PY >= 313;
// Warm calls with keywords count no level of recursion for C functions that take them as an array.
inline constexpr bool kKeywordCallsAreSpecialised = STATOR_PY <= 312;
// str(x) counts a level in cold code, none in warm code. Later, in neither.
inline constexpr bool kCallsOfStrCount = STATOR_PY <= 312;

// "No exception is being handled" is stored as NULL only.
inline constexpr bool kNoneIsNoException = STATOR_PY >= 313;
// The class named after `raise … from` must give an exception when it is called.
inline constexpr bool kChecksCause = STATOR_PY >= 313;
// `__import__` is looked up in builtins of any type, and nested scopes of a class look up globals of any
// type.
inline constexpr bool kReadsNamespacesAsMappings = STATOR_PY >= 313;
// A hook that is installed changes the events that tools see.
inline constexpr bool kToolsSeeHook = STATOR_PY >= 312;

}  // namespace stator::cpython

#endif
