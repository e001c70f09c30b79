// capture/cpython/finalizers.h: objects whose death runs code.
#ifndef STATOR_CAPTURE_CPYTHON_FINALIZERS_H
#define STATOR_CAPTURE_CPYTHON_FINALIZERS_H

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/cpython/python.h"

namespace stator::cpython {

inline bool has_finalizer(PyObject* object) {
  return Py_TYPE(object)->tp_finalize != nullptr || Py_TYPE(object)->tp_del != nullptr;
}

// Whether code runs when an object dies that is held `holders` times: its own finalizer, or that of one that
// only it holds, at any depth and by however many ways.
inline bool dies_aloud(PyObject* object, Py_ssize_t holders) {
  if (Py_REFCNT(object) > holders) return false;
  struct Dying {
    std::vector<PyObject*> left;
    std::unordered_map<PyObject*, Py_ssize_t> holders;  // that die
  } dying{{object}, {}};
  // Frames in the middle of a traceback also hold each other, which nobody tells the collector.
  const auto add_frames = [&](PyObject* traceback) {
    while (traceback != nullptr && PyTraceBack_Check(traceback)) {
      auto* const at = reinterpret_cast<PyTracebackObject*>(traceback);
      dying.left.push_back(reinterpret_cast<PyObject*>(at->tb_frame));
      traceback = reinterpret_cast<PyObject*>(at->tb_next);
    }
  };
  std::unordered_set<PyObject*> seen;
  while (!dying.left.empty()) {
    PyObject* const dead = dying.left.back();
    dying.left.pop_back();
    if (!seen.insert(dead).second) continue;
    if (has_finalizer(dead)) return true;
    if (PyTraceBack_Check(dead)) add_frames(dead);
    const visitproc follow = [](PyObject* held, void* all) {
      auto& dying = *static_cast<Dying*>(all);
      if (++dying.holders[held] == Py_REFCNT(held)) dying.left.push_back(held);
      return 0;
    };
    if (PyObject_IS_GC(dead)) Py_TYPE(dead)->tp_traverse(dead, follow, &dying);
  }
  return false;
}

// CPython calls a finalizer once; this makes it believe that it did.
inline void drop_finalizer(PyObject* object) {
  if (!PyObject_IS_GC(object)) return;
  constexpr uintptr_t kFinalized = 1;
  struct Head {
    uintptr_t next, previous;
  };
  (reinterpret_cast<Head*>(object) - 1)->previous |= kFinalized;
}

}  // namespace stator::cpython

#endif
