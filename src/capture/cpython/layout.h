/* capture/cpython/layout.h: the layout of a running frame on the Python we are built for, and the ways in
 * which versions differ.
 *
 * CPython's internal headers do not compile as C++, so the frame is declared here a second time. The C11 file
 * of each version includes the real header and asserts that both layouts are the same. Nothing outside
 * capture/cpython asks for a version: it asks for one of the traits below. */
#ifndef STATOR_CAPTURE_CPYTHON_LAYOUT_H
#define STATOR_CAPTURE_CPYTHON_LAYOUT_H

#include "capture/cpython/python.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define STATOR_PY 311
#elif PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030D0000
#define STATOR_PY 312
#elif PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
#define STATOR_PY 313
#else
#error "Stator supports CPython 3.11, 3.12 and 3.13."
#endif

/* One unit of bytecode: opcode in the low byte, argument in the high byte. */
typedef uint16_t StatorUnit;

enum StatorFrameOwner { STATOR_OWNED_BY_THREAD = 0, STATOR_OWNED_BY_GENERATOR = 1 };

/* The fields of _PyInterpreterFrame that all versions have; where one is named differently, the names below
 * are ours. */
typedef struct StatorFrame {
#if STATOR_PY == 311
  PyObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* locals;
  PyCodeObject* code;
  PyFrameObject* frame_object;
  struct StatorFrame* previous;
  StatorUnit* instruction;
  int stacktop;
  char is_entry;
  char owner;
#else
  PyCodeObject* code;
  struct StatorFrame* previous;
  PyObject* function;
  PyObject* globals;
  PyObject* builtins;
  PyObject* locals;
  PyFrameObject* frame_object;
  StatorUnit* instruction;
  int stacktop;
  uint16_t return_offset;
  char owner;
#endif
  PyObject* localsplus[1];
} StatorFrame;

/* Words of a frame before its locals. */
#define STATOR_FRAME_SPECIALS ((int)((sizeof(StatorFrame) - 1) / sizeof(PyObject*)))

#endif
