// capture/recording/context_managers.cpp: context managers of C code: what their methods may do is asked
// before they are entered, locks among them; exceptions that C code makes.
#include "capture/recording/context_managers.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/made_error.h"
#include "capture/cpython/module_attribute.h"
#include "capture/interpreter/calls.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"

namespace stator {

bool before_with(Recording& recording, PyObject* manager) {
  if (!read_behaviour(recording, manager)) return false;
  for (const char* text : {"__exit__", "__enter__"}) {
    auto name = Ref<>::steal(PyUnicode_InternFromString(text));
    PyObject* method = name ? _PyType_Lookup(Py_TYPE(manager), name.get()) : nullptr;
    if (method == nullptr || !PyCallable_Check(method)) continue;  // the instruction raises
    if (is_python_function(method)) {
      pin(recording, method,
          {Origin::attribute, reinterpret_cast<PyObject*>(Py_TYPE(manager)), std::move(name)});
      continue;
    }
    const NativeCall* known = find_native_call(method);
    // It gives back what is taken here, when it is called.
    if (known != nullptr && known->effect == NativeEffect::releases) continue;
    if (!before_native_call(recording, method, &manager, 1)) return false;
  }
  return true;
}

// functools.cached_property of 3.11 holds a lock while the value is computed. Later ones do not, and two
// threads that ask at once may both compute it; so they may here.
static bool is_of_cached_property(const Recording& recording, PyObject* lock) {
  static PyObject* const type = module_attribute("functools", "cached_property").release();
  PyObject* holder = lock;
  for (int steps = 0; steps < 2; steps++) {  // the object, or its dictionary first
    const auto found = recording.known.pinned.find(holder);
    if (found == recording.known.pinned.end() || found->second.parent == nullptr) return false;
    holder = found->second.parent;
    if (reinterpret_cast<PyObject*>(Py_TYPE(holder)) == type) return true;
  }
  return false;
}

// A lock that is taken and given back while no operator is recorded protects Python objects alone, and nobody
// else runs while a program writes those. Any other lock is the program's business on every call.
bool before_lock(Recording& recording, NativeEffect effect, PyObject* lock) {
  if (effect == NativeEffect::acquires) {
    // A capture waits for nobody: whoever holds the lock would see it half done.
    auto taken = Ref<>::steal(PyObject_CallMethod(lock, "acquire", "O", Py_False));
    if (!taken) return false;
    if (taken.get() != Py_True)
      return stop(recording, BreakCode::kThread, "a lock is taken by another thread");
    if (!Ref<>::steal(PyObject_CallMethod(lock, "release", nullptr))) return false;
    recording.locks.take(lock, recording.capture.recorded(), recording.end.now.number);
    return true;
  }
  const std::optional<size_t> recorded = recording.locks.give_back(lock);
  if (!recorded) return stop(recording, BreakCode::kThread, "a lock that was taken before is released");
  if (*recorded != recording.capture.recorded() && !is_of_cached_property(recording, lock)) {
    // The instruction that would release it is not run.
    recording.locks.take(lock, *recorded, recording.end.now.number);
    return stop(recording, BreakCode::kThread, "a lock is held while operators run");
  }
  return true;
}

// An error that C code has just made: nobody else holds it.
void note_raised(Recording& recording) {
  PyObject* error = made_error();
  if (error != nullptr && Py_REFCNT(error) == 1 && !is_known(recording, error)) make_fresh(recording, error);
}

bool read_handled_exception(Recording& recording) {
  if (recording.handles_at_entry)
    return stop(recording, BreakCode::kUnguardable, "the exception that the caller handles");
  recording.guards.add(NoExceptionGuard{}, nullptr);
  return true;
}

}  // namespace stator
