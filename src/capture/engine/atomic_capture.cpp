// capture/engine/atomic_capture.cpp: what a library calls instead of CPython's functions that give up the
// GIL.
#include "capture/engine/atomic_capture.h"

#include "capture/engine/imported_function.h"

namespace stator {
namespace {

PyThreadState* save_thread() { return thread_context.keeps_gil ? PyThreadState_Get() : PyEval_SaveThread(); }

// Asks for what save_thread did, not for what it would do now.
void restore_thread(PyThreadState* thread) {
  if (_PyThreadState_UncheckedGet() != thread) PyEval_RestoreThread(thread);
}

}  // namespace

bool keep_gil_in(const char* library) {
  // The second first: it does what it always did for a thread that gave the GIL up already.
  return replace_imported_function(library, "PyEval_RestoreThread",
                                   reinterpret_cast<void*>(&restore_thread)) &&
         replace_imported_function(library, "PyEval_SaveThread", reinterpret_cast<void*>(&save_thread));
}

}  // namespace stator
