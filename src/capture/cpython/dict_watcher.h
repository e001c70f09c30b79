// capture/cpython/dict_watcher.h: notice of changes of dictionaries, from 3.12 on.
#ifndef STATOR_CAPTURE_CPYTHON_DICT_WATCHER_H
#define STATOR_CAPTURE_CPYTHON_DICT_WATCHER_H

#include "capture/cpython/interrupts.h"
#include "capture/cpython/layout.h"

namespace stator::cpython {

#if STATOR_PY >= 312

// Takes one of the interpreter's eight slots. Negative: none is left. `Changed` hears of a dictionary before
// it changes or dies, and must not run Python code.
template <void (*Changed)(PyObject* dict, bool dies)>
int add_dict_watcher() {
  const int slot = PyDict_AddWatcher([](PyDict_WatchEvent event, PyObject* dict, PyObject*, PyObject*) {
    Changed(dict, event == PyDict_EVENT_DEALLOCATED);
    return 0;
  });
  if (slot < 0) drop_error();
  return slot;
}

inline bool watch_dict(int slot, PyObject* dict) {
  const bool done = PyDict_Watch(slot, dict) == 0;
  if (!done) drop_error();
  return done;
}

inline void unwatch_dict(int slot, PyObject* dict) {
  if (PyDict_Unwatch(slot, dict) < 0) drop_error();
}

#else

template <void (*Changed)(PyObject* dict, bool dies)>
int add_dict_watcher() {
  return -1;
}
inline bool watch_dict(int, PyObject*) { return false; }
inline void unwatch_dict(int, PyObject*) {}

#endif

}  // namespace stator::cpython

#endif
