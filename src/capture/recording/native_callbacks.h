// capture/recording/native_callbacks.h: callables that C code is given, and what Python code gives to C code.
//
// A callable that is no plain Python function is given to C code as one that calls it. Its frames are
// captured, so each call is looked at like any other, with the arguments that it gets: what it reads is
// guarded, what it writes is journaled, and where that cannot be done the capture ends.
#ifndef STATOR_CAPTURE_RECORDING_NATIVE_CALLBACKS_H
#define STATOR_CAPTURE_RECORDING_NATIVE_CALLBACKS_H

#include <vector>

#include "capture/bytecode/decode.h"
#include "capture/cpython/frame.h"
#include "capture/policy/native_row.h"

namespace stator {

struct Recording;

// Where the arguments of the call lie that is looked at, while they can still be replaced.
struct CallSlots {
  const cpython::Frame* frame = nullptr;
  const Instruction* at = nullptr;
  PyObject** values = nullptr;  // on the stack, or else:
  PyObject** tuple = nullptr;   // star arguments
  PyObject** dict = nullptr;    // keyword arguments, or nullptr
  Py_ssize_t count = 0;
  std::vector<PyObject*> names;  // of the last arguments
};

// What the C code that an instruction runs does with values that Python code gives it.
enum class Given : uint8_t {
  passed_on,     // it becomes the result, or is kept
  looked_at,     // with all that it reaches
  made_numbers,  // the same, and the values of tensors in it are read, which the graph does not see
};
struct NativeUse {
  const cpython::Frame* frame;
  const cpython::Unit *first, *last;  // of the instruction; compared, not followed
  Given given;
};

// The argument that a function calls, by its place in `all`; all.size() where it is given none.
size_t called_argument(const Recording& recording, const Calls& calls, const std::vector<PyObject*>& all);
// Puts a function in the place of a callable that C code will call.
[[nodiscard]] bool give_as_function(Recording& recording, const Calls& calls, std::vector<PyObject*>& all,
                                    size_t index);
// Whether this is the code of such a function, which is no part of the program.
bool is_callback_code(const PyCodeObject* code);

// What the C code that this instruction runs does with what Python code gives it.
void note_use(Recording& recording, Given given);
// The same for an operator or a subscript: a special method of an operand may answer, whose value is the
// result; but C code that compares keys, formats text or makes an index looks at what it is given.
void note_operands(Recording& recording, PyObject* left, PyObject* right);
void note_key(Recording& recording, PyObject* container, PyObject* key);
// A frame that C code called gives it this value. False: stopped, an error is set.
[[nodiscard]] bool before_giving(Recording& recording, const cpython::Frame* frame, PyObject* value);

}  // namespace stator

#endif
