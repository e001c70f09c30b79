// capture/bytecode/decode.h: a code object's bytecode, decoded once into the form that the interpreter runs.
#ifndef STATOR_CAPTURE_BYTECODE_DECODE_H
#define STATOR_CAPTURE_BYTECODE_DECODE_H

#include <memory>
#include <vector>

#include "capture/bytecode/opcode.h"
#include "capture/cpython/frame.h"

namespace stator {

struct Instruction {
  Opcode opcode;
  uint16_t prefix;    // units before `at` that belong to it (EXTENDED_ARG, KW_NAMES, PRECALL): where CPython
                      // would begin it
  int32_t argument;   // of a jump: the index of the instruction it leads to
  cpython::Unit* at;  // its place in the code object, for the frame
  int32_t keywords;   // of a call: the index of its keyword names in co_consts, or -1
  uint32_t cache;     // of instructions that remember something: their slot in DecodedCode::caches

  cpython::Unit* begin() const { return at - prefix; }
  // Its last inline cache entry, or itself. Another instruction always follows, if only the sentinel.
  cpython::Unit* last() const { return this[1].begin() - 1; }
};

// What an instruction remembers between executions. Entries hold no references: they are compared before they
// are used.
struct InlineCache {
  uint64_t key = 0;
  uint64_t second_key = 0;
  PyObject* value = nullptr;
  intptr_t extra = 0;
};

struct Handler {
  int start, end;   // units covered: [start, end)
  int target;       // unit where it begins
  int depth;        // values that stay on the stack
  bool push_lasti;  // the unit of the failing instruction is pushed below the exception
};

class DecodedCode {
 public:
  // Empty where the bytecode holds something that is no opcode of this Python; never sets an error that
  // stays.
  static std::unique_ptr<DecodedCode> decode(PyCodeObject* code);

  const Instruction* at_unit(const cpython::Unit* unit) const {
    return &instructions[index_of_unit[unit - start]];
  }
  // The instruction that `unit` is the last unit of.
  const Instruction* ending_at(const cpython::Unit* unit) const { return at_unit(unit + 1) - 1; }
  size_t index(const Instruction* instruction) const {
    return static_cast<size_t>(instruction - instructions.data());
  }
  bool is_break(const Instruction* instruction) const {
    return !breaks.empty() && breaks[index(instruction)];
  }
  void note_break(const Instruction* instruction) const {
    breaks.resize(instructions.size());
    breaks[index(instruction)] = true;
  }
  // The handler that covers the instruction at `unit`, or nullptr.
  const Handler* handler_at(const cpython::Unit* unit) const;

  cpython::Unit* start = nullptr;
  std::vector<Instruction> instructions;
  std::vector<int32_t> index_of_unit;
  std::vector<Handler> handlers;
  mutable std::vector<InlineCache> caches;
  // By index: instructions that ended a capture, behind which another one may begin.
  mutable std::vector<bool> breaks;
};

}  // namespace stator

#endif
