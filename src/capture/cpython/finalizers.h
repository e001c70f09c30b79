// capture/cpython/finalizers.h: objects whose death runs code.
#ifndef STATOR_CAPTURE_CPYTHON_FINALIZERS_H
#define STATOR_CAPTURE_CPYTHON_FINALIZERS_H

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/cpython/python.h"

namespace stator::cpython {

inline bool has_finalizer(PyObject* object) {
  return Py_TYPE(object)->tp_finalize != nullptr || Py_TYPE(object)->tp_del != nullptr;
}

// Whether somebody who refers to it weakly is called when it dies.
inline bool has_weak_callback(PyObject* object) {
  const Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;
  if (offset == 0 || PyType_Check(object)) return false;  // builtin classes have their list elsewhere
  const char* const field = reinterpret_cast<const char*>(object) + offset;
  const auto* reference = *reinterpret_cast<PyWeakReference* const*>(field);
  while (reference != nullptr && reference->wr_callback == nullptr) reference = reference->wr_next;
  return reference != nullptr;
}

inline bool runs_code_at_death(PyObject* object) {
  return has_finalizer(object) || has_weak_callback(object);
}

// Asks `found` of all that dies with `dying`: these, and what only they hold, at any depth and by however
// many ways, until it says yes. False: of none.
template <class Found>
bool any_that_dies(std::vector<PyObject*> dying, Found found) {
  struct Dying {
    std::vector<PyObject*> left;
    std::unordered_map<PyObject*, Py_ssize_t> holders;  // that die
  } all{std::move(dying), {}};
  // Frames in the middle of a traceback also hold each other, which nobody tells the collector.
  const auto add_frames = [&](PyObject* traceback) {
    while (traceback != nullptr && PyTraceBack_Check(traceback)) {
      auto* const at = reinterpret_cast<PyTracebackObject*>(traceback);
      all.left.push_back(reinterpret_cast<PyObject*>(at->tb_frame));
      traceback = reinterpret_cast<PyObject*>(at->tb_next);
    }
  };
  std::unordered_set<PyObject*> seen;
  while (!all.left.empty()) {
    PyObject* const dead = all.left.back();
    all.left.pop_back();
    if (!seen.insert(dead).second) continue;
    if (found(dead)) return true;
    if (PyTraceBack_Check(dead)) add_frames(dead);
    const visitproc follow = [](PyObject* held, void* each) {
      auto& dying = *static_cast<Dying*>(each);
      if (++dying.holders[held] == Py_REFCNT(held)) dying.left.push_back(held);
      return 0;
    };
    if (PyObject_IS_GC(dead)) Py_TYPE(dead)->tp_traverse(dead, follow, &all);
  }
  return false;
}

// Whether code runs when an object dies that is held `holders` times: its own finalizer or a callback of a
// weak reference, or that of one that only it holds.
inline bool dies_aloud(PyObject* object, Py_ssize_t holders) {
  return Py_REFCNT(object) <= holders && any_that_dies({object}, runs_code_at_death);
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
