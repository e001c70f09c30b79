// bindings/capture/identity.cpp: a callable of ours takes over the name of the one it stands for.
#include "bindings/capture/identity.h"

#include "capture/cpython/ref.h"

namespace stator {

bool copy_identity(PyObject* to, PyObject* from) {
  for (const char* name : {"__module__", "__name__", "__qualname__", "__doc__"}) {
    auto value = Ref<>::steal(PyObject_GetAttrString(from, name));
    if (!value) {
      if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
      PyErr_Clear();
      continue;
    }
    auto dict = Ref<>::steal(PyObject_GenericGetDict(to, nullptr));
    if (!dict || PyDict_SetItemString(dict.get(), name, value.get()) < 0) return false;
  }
  return true;
}

}  // namespace stator
