// capture/cpython/cell_variable.h: which variables of a code object are cells.
#ifndef STATOR_CAPTURE_CPYTHON_CELL_VARIABLE_H
#define STATOR_CAPTURE_CPYTHON_CELL_VARIABLE_H

#include "capture/cpython/python.h"

namespace stator::cpython {

// A variable that inner functions share: its slot holds a cell, once the frame has begun.
inline bool is_cell_variable(const PyCodeObject* code, int slot) {
  constexpr char kCell = 0x40;  // CO_FAST_CELL
  return (PyBytes_AS_STRING(code->co_localspluskinds)[slot] & kCell) != 0;
}

}  // namespace stator::cpython

#endif
