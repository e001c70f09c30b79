// capture/session/call_settings.h: how a thread's calls of compiled functions are treated, and the settings
// of all.
#ifndef STATOR_CAPTURE_SESSION_CALL_SETTINGS_H
#define STATOR_CAPTURE_SESSION_CALL_SETTINGS_H

#include <string>

#include "capture/engine/engine.h"

namespace stator {

enum class Stance : uint8_t {
  normal,
  run_only,            // what was captured is used, nothing new is captured
  force_eager,         // compiled functions run as they are
  fail_on_recompile,   // a call that no capture serves is an error
  eager_then_compile,  // the first call of a function runs eagerly, the next one is captured
};
extern thread_local Stance thread_stance;

// Written by stator.config.
struct CallSettings {
  int recompile_limit = 8;
  bool disable = false;
  bool error_on_recompile = false;
  Stance stance = Stance::normal;  // of threads that have none of their own
  // Functions of stator/api, each nullptr or None where nobody listens.
  PyObject* miss_hook = nullptr;         // (function, the guard that failed)
  PyObject* guard_error_hook = nullptr;  // (function, the exception that a guard raised)
  PyObject* error_hook = nullptr;        // (kind, message) -> the exception to raise
  PyObject* limit_hook = nullptr;        // (function, message): too many captures
  PyObject* capture_hook = nullptr;      // (function, row of a new capture)
  PyObject* break_hook = nullptr;        // (function, row of the reason): a capture stopped
  PyObject* nothing_hook = nullptr;  // (function, row of the reason): several calls, and no operator captured
  PyObject* error_region = nullptr;  // (dictionary, key): while this is True a break is an error
  PyObject* backend_hook = nullptr;  // (compiled function) -> the one to call in its place
};
extern CallSettings settings;

inline Stance current_stance() { return thread_stance != Stance::normal ? thread_stance : settings.stance; }

// Whether somebody listens, that is `hook` is a callable.
inline bool is_set(PyObject* hook) { return hook != nullptr && hook != Py_None; }

extern PyObject* capture_error;  // stator.CaptureError

// Raises what the error hook makes of it, or stator.CaptureError. `kind`: "break" or "recompile".
void set_capture_error(const char* kind, const std::string& message);

// A stance for the length of a scope.
class StanceScope {
 public:
  explicit StanceScope(Stance stance) : before_(thread_stance), plain_(thread_context.plain) {
    thread_stance = stance;
    if (stance != Stance::normal) thread_context.plain = true;
  }
  ~StanceScope() {
    thread_stance = before_;
    thread_context.plain = plain_;
  }
  StanceScope(const StanceScope&) = delete;
  StanceScope& operator=(const StanceScope&) = delete;

 private:
  Stance before_;
  bool plain_;
};

}  // namespace stator

#endif
