// bindings/capture/stance.h: how a thread's calls of compiled functions are treated, and the settings of all.
#ifndef STATOR_BINDINGS_CAPTURE_STANCE_H
#define STATOR_BINDINGS_CAPTURE_STANCE_H

#include "capture/engine/engine.h"

namespace stator {

enum class Stance : uint8_t {
  normal,
  run_only,     // what was captured is used, nothing new is captured
  force_eager,  // compiled functions run as they are
};
extern thread_local Stance thread_stance;

// Written by stator.config.
struct CallSettings {
  int recompile_limit = 8;
  bool disable = false;
  bool error_on_recompile = false;
  PyObject* miss_hook = nullptr;         // called with the function and the guard that failed
  PyObject* guard_error_hook = nullptr;  // called with the function and the exception that a guard raised
};
extern CallSettings settings;

extern PyObject* capture_error;  // stator.CaptureError

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

bool add_stance(PyObject* module);

}  // namespace stator

#endif
