// bindings/capture/compiled.h: the callable behind stator.api.compile.
#ifndef STATOR_BINDINGS_CAPTURE_COMPILED_H
#define STATOR_BINDINGS_CAPTURE_COMPILED_H

#include "bindings/capture/function_wrapper.h"
#include "capture/session/compiled_function.h"

namespace stator {

struct Compiled : FunctionWrapper {
  PyObject* backend;
  PyObject* on_entry;      // called with the guards of each new capture; or None
  PyObject* on_miss;       // called with the guard that failed before a further capture; or None
  PyObject* guard_filter;  // says which guards of a capture count; or None
  PyObject* context;       // compiles other callables with the same options; or None
  CompiledState* state;
};

CompiledFunction as_function(PyObject* object);
// A vectorcall.
PyObject* vectorcall_compiled(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* keywords);
// In a hook that is told which guard failed: the function, the arguments of the call and those with names;
// otherwise None. A PyCFunction.
PyObject* missed_arguments(PyObject*, PyObject*);
// Says how hooks are given captures and stops.
void add_call_reports();

// Adds the type `Compiled` and the capsule through which a domain is installed. False with an error set.
bool add_compiled(PyObject* module);

}  // namespace stator

#endif
