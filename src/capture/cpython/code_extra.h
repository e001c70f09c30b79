// capture/cpython/code_extra.h: a pointer of ours on each code object.
#ifndef STATOR_CAPTURE_CPYTHON_CODE_EXTRA_H
#define STATOR_CAPTURE_CPYTHON_CODE_EXTRA_H

#include "capture/cpython/interrupts.h"
#include "capture/cpython/layout.h"

namespace stator::cpython {

inline Py_ssize_t request_code_extra(freefunc free) {
#if STATOR_PY == 311
  return _PyEval_RequestCodeExtraIndex(free);
#else
  return PyUnstable_Eval_RequestCodeExtraIndex(free);
#endif
}

inline void* get_code_extra(PyCodeObject* code, Py_ssize_t index) {
  void* extra = nullptr;
#if STATOR_PY == 311
  _PyCode_GetExtra(reinterpret_cast<PyObject*>(code), index, &extra);
#else
  PyUnstable_Code_GetExtra(reinterpret_cast<PyObject*>(code), index, &extra);
#endif
  return extra;
}

// The layout behind PyCodeObject::co_extra.
struct CodeExtraSlots {
  Py_ssize_t count;
  void* extras[1];
};

inline bool set_code_extra(PyCodeObject* code, Py_ssize_t index, void* extra) {
#if STATOR_PY == 311
  const int status = _PyCode_SetExtra(reinterpret_cast<PyObject*>(code), index, extra);
#else
  const int status = PyUnstable_Code_SetExtra(reinterpret_cast<PyObject*>(code), index, extra);
#endif
  if (status != 0) {
    drop_error();
    return false;
  }
  // CPython made room for every library's data, and would call every library's free function for this code
  // object, with NULL. Slots behind ours that nobody uses are given up again; a later writer gets them back.
  auto* slots = static_cast<CodeExtraSlots*>(code->co_extra);
  while (slots->count > index + 1 && slots->extras[slots->count - 1] == nullptr) slots->count--;
  return true;
}

}  // namespace stator::cpython

#endif
