/* capture/cpython/py313.c: frames of CPython 3.13. */
#define Py_BUILD_CORE_MODULE 1
#include "capture/cpython/frame.h"

#include <stddef.h>
#include <string.h>

#include "internal/pycore_ceval.h"
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_pystate.h"
#include "opcode.h"

#include "capture/cpython/opcode_rows.h"

#define STATOR_OPCODE_ROWS "capture/cpython/opcodes_py313.def"
#include "capture/cpython/py_shared.inc"

SAME_OFFSET(function, f_funcobj);
SAME_OFFSET(code, f_executable);
SAME_OFFSET(instruction, instr_ptr);
SAME_OFFSET(return_offset, return_offset);

PyObject* stator_take_error(void) { return PyErr_GetRaisedException(); }

void stator_give_error(PyObject* exception) { PyErr_SetRaisedException(exception); }

const volatile void* stator_eval_breaker(PyThreadState* thread) { return &thread->eval_breaker; }
