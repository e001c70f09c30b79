// capture/session/compiled_function.h: a compiled function, and what a call of it does: served by a capture,
// captured, or run eagerly.
#ifndef STATOR_CAPTURE_SESSION_COMPILED_FUNCTION_H
#define STATOR_CAPTURE_SESSION_COMPILED_FUNCTION_H

#include <memory>
#include <vector>

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

// As a call sees it; borrowed.
struct CompiledFunction {
  PyObject* object;  // the compiled one itself
  PyObject* function;
  PyObject* backend;
  PyObject* on_entry;      // called with the guards of each new capture; or None
  PyObject* on_miss;       // called with the guard that failed before a further capture; or None
  PyObject* guard_filter;  // says which guards of a capture count; or None
  CompiledState& state;
};

// A vectorcall of it.
PyObject* call_compiled(const CompiledFunction& compiled, PyObject* const* arguments, size_t flags,
                        PyObject* keywords);
// Where the captures of functions go that are called while this one runs eagerly.
CalleeCaptures* callees_of(const CompiledFunction& compiled);
// The domain of all captures from now on, which lives as long as the process.
void install_domain(const Domain* domain);

// A call that no capture serves, while a hook of this thread is told why; without a function otherwise.
struct MissedCall {
  PyObject* function = nullptr;
  const Call* call = nullptr;
};
MissedCall missed_call();

// What hooks are given, as Python objects; set by the bindings. New references, nullptr with an error set.
struct CallReports {
  PyObject* (*entry)(const Entry& entry) = nullptr;
  PyObject* (*stop)(const CaptureStop& stop) = nullptr;
  PyObject* (*guards)(const std::vector<std::string>& texts) = nullptr;
};
extern CallReports call_reports;

}  // namespace stator

#endif
