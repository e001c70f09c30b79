// capture/recording/instructions.cpp: what each instruction reads and writes, asked for before it runs.
#include "capture/recording/instructions.h"

#include "capture/recording/argument_operands.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/instruction_steps.h"
#include "capture/recording/paused_capture.h"
#include "capture/recording/random_breaks.h"
#include "capture/recording/recording.h"
#include "capture/recording/results.h"
#include "capture/recording/symbols.h"

namespace stator {

using cpython::Frame;

// A capture that wrote something keeps the other threads waiting, of which one may be what it waits for.
static constexpr size_t kMostInstructions = 10'000'000;

bool before_instruction(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  recording.frame = frame;
  if (recording.first_frame == nullptr) recording.first_frame = frame;
  recording.at = &instruction;
  recording.stored = nullptr;
  if (++recording.instructions > kMostInstructions)
    return stop(recording, BreakCode::kThread, "a loop that may wait for another thread takes too long");
  recording.pause.reset();
  if (recording.stopped.happened()) return stop(recording, *recording.stopped.code);
  if (!recording.pending.empty() && !take_pending(recording, sp)) return false;
  // What runs natively reads for itself.
  const bool runs_natively = recording.instructions == recording.end.number && !recording.end.behind;
  if (!runs_natively && recording.arguments.are_lazy && !read_operands(recording, instruction, frame, sp))
    return false;
  if (!recording.cached.followed.empty() && !recording.cached.settle(frame, recording.journal.writes(), sp))
    return stop(recording, BreakCode::kSymbolicNumber,
                "a function with a cache writes to an object that existed before");
  if (!note_place(recording, instruction, frame, sp)) return false;
  if (random_breaks.one_in != 0 && random_breaks.is_at(frame, instruction)) [[unlikely]]
    return stop(recording, BreakCode::kOpcode, "drawn");
  if (!recording.cached.kept.empty() && frame == recording.first_frame &&
      instruction.opcode == Opcode::RETURN_VALUE && !recording.cached.are_as_given(sp[-1]))
    return stop(recording, BreakCode::kSymbolicNumber,
                "what a function with a cache gave is changed or returned");
  if ((recording.has_symbols || recording.capture.has_symbols()) &&
      !use_numbers(recording, instruction, frame, sp))
    return false;
  const InstructionAt at{recording, instruction, frame, sp};
  using namespace steps;  // NOLINT(google-build-using-namespace): the words of the table
  switch (instruction.opcode) {
#define OP(name, ...) \
  case Opcode::name:  \
    return take(at, __VA_ARGS__);
#include "capture/bytecode/opcodes.def"
#undef OP
    case Opcode::EXTENDED_ARG:
    case Opcode::KW_NAMES:
    case Opcode::PRECALL:
    case Opcode::UNKNOWN:
      return stops(at);
  }
  return stops(at);
}

}  // namespace stator
