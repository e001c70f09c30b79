// capture/cpython/empty_dict.h: takes everything out of a dictionary.
#ifndef STATOR_CAPTURE_CPYTHON_EMPTY_DICT_H
#define STATOR_CAPTURE_CPYTHON_EMPTY_DICT_H

#include "capture/cpython/ref.h"

namespace stator::cpython {

// Item by item, without a comparison of keys. PyDict_Clear gives the dictionary a table for strings, which an
// insertion that waits for the __eq__ of another kind of key does not expect to find (CPython fills it all the
// same).
inline int empty_dict(PyObject* dict) {
  // That of dictionaries, whatever a subclass has under the name.
  static PyObject* const pop = PyObject_GetAttrString(reinterpret_cast<PyObject*>(&PyDict_Type), "popitem");
  while (PyDict_GET_SIZE(dict) > 0) {
    if (pop == nullptr || !Ref<>::steal(PyObject_CallOneArg(pop, dict))) return -1;
  }
  return 0;
}

}  // namespace stator::cpython

#endif
