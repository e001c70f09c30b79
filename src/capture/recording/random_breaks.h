// capture/recording/random_breaks.h: breaks at instructions that are drawn, for comparing captures with
// CPython.
//
// Where every function is captured (`capture_everything`), captures then begin and end at any instruction,
// and not only where something cannot be captured. An instruction is drawn once and for all: by its place in
// its function, whose first line stands for it.
#ifndef STATOR_CAPTURE_RECORDING_RANDOM_BREAKS_H
#define STATOR_CAPTURE_RECORDING_RANDOM_BREAKS_H

#include "capture/bytecode/decode.h"
#include "capture/cpython/frame.h"

namespace stator {

struct RandomBreaks {
  uint32_t one_in = 0;  // of so many instructions; 0: none
  uint32_t seed = 0;

  bool is_at(const cpython::Frame* frame, const Instruction& instruction) const {
    const auto line = static_cast<uint32_t>(frame->code->co_firstlineno);
    const auto unit = static_cast<uint32_t>(instruction.begin() - cpython::code_start(frame->code));
    uint32_t drawn = (seed * 0x9E3779B1u) ^ (line * 0x85EBCA77u) ^ (unit * 0xC2B2AE3Du);
    drawn ^= drawn >> 15;
    drawn *= 0x2C1B3C6Du;
    drawn ^= drawn >> 12;
    return drawn % one_in == 0;
  }
};

inline RandomBreaks random_breaks;

}  // namespace stator

#endif
