/* capture/cpython/opcode_rows.h: the opcodes of the Python we are built for, each with the opcode of ours
 * that it decodes to. */
#ifndef STATOR_CAPTURE_CPYTHON_OPCODE_ROWS_H
#define STATOR_CAPTURE_CPYTHON_OPCODE_ROWS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an argument names a place: not at all, or as a distance from the next instruction. */
enum StatorArgumentKind { STATOR_ARGUMENT_PLAIN, STATOR_ARGUMENT_FORWARD, STATOR_ARGUMENT_BACKWARD };

typedef struct StatorOpcodeRow {
  uint8_t number;        /* CPython's */
  uint8_t cache_entries; /* units behind the instruction */
  uint16_t opcode;       /* stator::Opcode */
  int argument;          /* StatorArgumentKind */
} StatorOpcodeRow;

extern const StatorOpcodeRow stator_opcode_rows[];
extern const int stator_opcode_row_count;

#ifdef __cplusplus
}
#endif
#endif
