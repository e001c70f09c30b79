// capture/arguments/call.h: one call of a captured function, and what a hit needs while it lasts.
#ifndef STATOR_CAPTURE_ARGUMENTS_CALL_H
#define STATOR_CAPTURE_ARGUMENTS_CALL_H

#include <memory>
#include <vector>

#include "capture/cpython/frame.h"
#include "capture/cpython/ref.h"
#include "core/shape/bindings.h"

namespace stator {

// A frame that a capture takes up in the middle: its values are the arguments.
struct FramePlace {
  cpython::Frame* frame;  // not running: its stack is given
  ptrdiff_t unit;         // of the instruction that comes next
  // For each of its slots: whether it holds a value that is an argument; the others are unset, or cells of
  // the function. Then for each cell among them: whether it holds a value, which is an argument as well.
  std::vector<bool> given;
  std::vector<size_t> cells;  // which arguments are cells of the frame's own
  size_t slots = 0;
};

// The arguments as a vectorcall gives them: those by position, then those by keyword. All borrowed.
struct Call {
  PyObject* const* arguments = nullptr;
  Py_ssize_t positional = 0;
  PyObject* keywords = nullptr;       // a tuple of names, or nothing
  const FramePlace* place = nullptr;  // null where the function is called
  Py_ssize_t total() const { return positional + (keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0); }
};

struct CallValues {
  std::vector<PyObject*> tensors;     // of the arguments, borrowed
  std::vector<PyObject*> containers;  // lists, dictionaries and plain instances among them, borrowed
  shape::Bindings bindings;           // what the symbols stand for
  std::vector<PyObject*> inputs;      // of the tensor program, borrowed
  std::vector<Ref<>> outputs;         // of the tensor program
  std::vector<Ref<>> made;            // by the rebuild
  std::vector<Ref<>> on_arrays;       // tensors on the memory of arrays among the arguments
};

// The values of one call, out of the thread's stock: a hit allocates no memory for them. Calls may be nested,
// also while what is left of one is dropped.
class LeasedValues {
 public:
  LeasedValues();
  ~LeasedValues();
  LeasedValues(const LeasedValues&) = delete;
  LeasedValues& operator=(const LeasedValues&) = delete;
  CallValues& operator*() const { return *values_; }

 private:
  std::unique_ptr<CallValues> values_;
};

}  // namespace stator

#endif
