// capture/recording/frame_states.h: where a capture ends before its function does, and what its frames hold
// there.
//
// A capture that meets something that it cannot record (a break) is made a second time, up to the instruction
// of its outermost loop that led there. Before that instruction the frames are looked at, and the capture is
// over: what it recorded so far is a segment.
#ifndef STATOR_CAPTURE_RECORDING_FRAME_STATES_H
#define STATOR_CAPTURE_RECORDING_FRAME_STATES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/bytecode/decode.h"
#include "capture/cpython/ref.h"

namespace stator {

struct Recording;

// Flags of code whose calls make an object that runs it, from one yield to the next.
inline constexpr int kMakesObject = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;

// A frame of the program as it stands before an instruction.
struct FrameState {
  Ref<> function;
  Ref<PyCodeObject> code;
  ptrdiff_t unit = 0;        // a caller stands on it; the innermost frame goes on there
  std::vector<Ref<>> slots;  // locals, cells, free variables, then the stack; nothing where one is unset
};

// An instruction of the loop that runs the captured function, calls inlined: what C code runs in between
// belongs to the instruction that called it.
struct ProgramPlace {
  size_t number = 0;  // counted over the capture; 0: none yet
  Ref<PyCodeObject> code;
  ptrdiff_t unit = 0;
};

struct SegmentEnd {
  ProgramPlace now;             // the instruction that runs
  ProgramPlace raised;          // the last one that raised an exception
  int evaluators = 0;           // the loop's depth, among activations of the interpreter
  PyObject* handled = nullptr;  // the exception that is handled where it began; only compared
  // What is handled once that handler has ended, which the frame held; null while the handler goes on.
  Ref<> handled_behind;
  size_t number = SIZE_MAX;  // the capture ends before this instruction
  bool behind = false;       // or behind it, if the domain can give its result as that of the graph
  bool passed = false;       // it runs: the capture ends before the next one
  ptrdiff_t unit = 0;        // of that instruction
  bool reached = false;
  std::vector<FrameState> frames;             // then: outermost first
  const cpython::Frame* looked_at = nullptr;  // the frame of the last instruction
  bool in_substitute = false;                 // it runs in place of a function of the program's
};

// A segment may also end behind an instruction whose result only a run has (a number that is read off a
// tensor, the elements of a mask): its operator is the last one of the graph. Instructions that only ask a
// tensor for its truth or number (a branch, `int(x)`) run natively, on what the graph gives.
//
// Before each instruction. False: the capture has come to its end, or its frames cannot be taken there.
[[nodiscard]] bool note_place(Recording& recording, const Instruction& instruction, cpython::Frame* frame,
                              PyObject** sp);

// The handler ends in which the frame stands that the capture took up. In `previous` lies what stands for the
// exception that was handled around it; it gives way to that. False: stopped.
[[nodiscard]] bool leave_handler(Recording& recording, PyObject*& previous);
// Whether the exception that is handled was raised in the capture.
bool handles_own_exception(const Recording& recording);

}  // namespace stator

#endif
