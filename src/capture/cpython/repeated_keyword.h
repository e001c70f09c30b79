// capture/cpython/repeated_keyword.h: whether a merge of keywords failed for one that was given twice.
#ifndef STATOR_CAPTURE_CPYTHON_REPEATED_KEYWORD_H
#define STATOR_CAPTURE_CPYTHON_REPEATED_KEYWORD_H

#include "capture/cpython/python.h"
#include "capture/cpython/ref.h"

namespace stator::cpython {

// Takes the error that is set and returns the keyword; null, and the error stays set, if it is another one.
// The merge itself raises KeyError of that keyword. Up to 3.11 the evaluator tells it from the program's own
// KeyErrors by this: no instance has been made of it yet. Later ones tell only by the number of arguments.
inline Ref<> take_repeated_keyword() {
  if (!PyErr_ExceptionMatches(PyExc_KeyError)) return {};
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
#if PY_VERSION_HEX >= 0x030C0000
  PyObject* const arguments =
      value != nullptr ? reinterpret_cast<PyBaseExceptionObject*>(value)->args : nullptr;
#else
  PyObject* const arguments = value;
#endif
  if (arguments == nullptr || !PyTuple_Check(arguments) || PyTuple_GET_SIZE(arguments) != 1) {
    PyErr_Restore(type, value, traceback);
    return {};
  }
  Ref<> keyword = Ref<>::share(PyTuple_GET_ITEM(arguments, 0));
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return keyword;
}

}  // namespace stator::cpython

#endif  // STATOR_CAPTURE_CPYTHON_REPEATED_KEYWORD_H
