// capture/bytecode/opcode.h: the interpreter's opcodes as an enumeration.
#ifndef STATOR_CAPTURE_BYTECODE_OPCODE_H
#define STATOR_CAPTURE_BYTECODE_OPCODE_H

#include <cstdint>

namespace stator {

enum class Opcode : uint16_t {
#define OP(name, ...) name,
#include "capture/bytecode/opcodes.def"
#undef OP
  // Folded away by decoding; never executed.
  EXTENDED_ARG,
  KW_NAMES,
  PRECALL,
  // Not an opcode of this Python: the frame is handed over.
  UNKNOWN,
};

inline constexpr int kOpcodeCount = static_cast<int>(Opcode::UNKNOWN) + 1;

const char* opcode_name(Opcode opcode);

}  // namespace stator

#endif
