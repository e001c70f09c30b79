// capture/cpython/finalizers.h: objects whose death runs code.
#ifndef STATOR_CAPTURE_CPYTHON_FINALIZERS_H
#define STATOR_CAPTURE_CPYTHON_FINALIZERS_H

#include "capture/cpython/python.h"

namespace stator::cpython {

inline bool has_finalizer(PyObject* object) {
  return Py_TYPE(object)->tp_finalize != nullptr || Py_TYPE(object)->tp_del != nullptr;
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
