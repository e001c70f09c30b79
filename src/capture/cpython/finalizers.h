// capture/cpython/finalizers.h: objects whose death runs code.
#ifndef STATOR_CAPTURE_CPYTHON_FINALIZERS_H
#define STATOR_CAPTURE_CPYTHON_FINALIZERS_H

#include <vector>

#include "capture/cpython/python.h"

namespace stator::cpython {

inline bool has_finalizer(PyObject* object) {
  return Py_TYPE(object)->tp_finalize != nullptr || Py_TYPE(object)->tp_del != nullptr;
}

// Whether code runs when an object dies that is held `holders` times: its own finalizer, or that of one that
// only it holds, at any depth.
inline bool dies_aloud(PyObject* object, Py_ssize_t holders) {
  if (Py_REFCNT(object) > holders) return false;
  std::vector<PyObject*> left{object};
  while (!left.empty()) {
    PyObject* const dying = left.back();
    left.pop_back();
    if (has_finalizer(dying)) return true;
    const visitproc follow = [](PyObject* held, void* all) {
      if (Py_REFCNT(held) == 1) static_cast<std::vector<PyObject*>*>(all)->push_back(held);
      return 0;
    };
    if (PyObject_IS_GC(dying)) Py_TYPE(dying)->tp_traverse(dying, follow, &left);
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
