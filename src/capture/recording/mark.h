// capture/recording/mark.h: what a user said about a callable, as a capture that meets it must know.
#ifndef STATOR_CAPTURE_RECORDING_MARK_H
#define STATOR_CAPTURE_RECORDING_MARK_H

#include "capture/cpython/python.h"

namespace stator {

enum class Mark : uint8_t {
  none,
  captured,  // stands for a function that is compiled on its own: looked through
  disabled,  // never captured
  skipped,   // its own frame is not captured; what it calls may be
  constant,  // called once, when it is captured; the result is kept
  opaque,    // one node of the graph, whatever it does with its tensors
};

const char* name(Mark mark);
// Mark::none: no such name.
Mark mark_from_name(const char* name);

struct Marked {
  Mark mark = Mark::none;
  PyObject* function = nullptr;  // what the callable stands for; borrowed
};

// The bindings own the types of such callables and say how to read them.
void recognise_mark(PyTypeObject* type, Marked (*read)(PyObject*));
Marked mark_of(PyObject* callable);

// Marks a Python function in place: it stays the object that others hold, and differs in its vectorcall,
// which CPython and the interpreter ask before they enter a function. False with a Python error set.
bool mark_function(PyObject* function, Mark mark);

}  // namespace stator

#endif
