// bindings/capture/compiled.h: the callable behind stator.api.compile.
#ifndef STATOR_BINDINGS_CAPTURE_COMPILED_H
#define STATOR_BINDINGS_CAPTURE_COMPILED_H

#include <memory>
#include <vector>

#include "bindings/capture/function_wrapper.h"
#include "capture/session/callee_captures.h"

namespace stator {

struct CompiledState {
  CaptureCache cache;
  bool skipped = false;                               // by the user's wish: nothing of it is captured
  bool whole = false;                                 // a stop is an error
  bool ran_once = false;                              // see Stance::eager_then_compile
  int limit = -1;                                     // of captures; negative: the setting's
  int calls_until_notice = 3;                         // that run as they are; then nothing_hook may be told
  std::unique_ptr<CalleeCaptures> callees;            // of functions called while this one runs as it is
  std::vector<std::unique_ptr<CalleesScope>> blocks;  // with-blocks that were entered
};

struct Compiled : FunctionWrapper {
  PyObject* backend;
  PyObject* on_entry;  // called with the guards of each new capture; or None
  PyObject* on_miss;   // called with the guard that failed before a further capture; or None
  PyObject* context;   // compiles other callables with the same options; or None
  CompiledState* state;
};

// What a call does (compiled_call.cpp): a vectorcall.
PyObject* call_compiled(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* keywords);
// In a hook that is told which guard failed: the function, the arguments of the call and those with names;
// otherwise None. A PyCFunction.
PyObject* missed_arguments(PyObject*, PyObject*);
// Where the captures of functions go that are called while this one runs as it is.
CalleeCaptures* callees_of(Compiled* self);
// The domain of all captures from now on, which lives as long as the process.
void install_domain(const Domain* domain);

// Adds the type `Compiled` and the capsule through which a domain is installed. False with an error set.
bool add_compiled(PyObject* module);

}  // namespace stator

#endif
