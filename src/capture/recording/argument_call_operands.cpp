// capture/recording/argument_call_operands.cpp: calls of Python code are handed arguments unread, calls of C
// code are not.
#include <algorithm>
#include <initializer_list>

#include "capture/cpython/exported.h"
#include "capture/cpython/traits.h"
#include "capture/interpreter/calls.h"
#include "capture/recording/argument_operands.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/unread_holders.h"

namespace stator {

using cpython::Frame;

namespace {

// super() finds its object in the frame.
bool read_first_local(Recording& recording, Frame* frame) {
  if (frame->code->co_argcount == 0) return true;
  PyObject*& first = frame->localsplus[0];
  if (first != nullptr && PyCell_Check(first))
    return read_at(recording, reinterpret_cast<PyCellObject*>(first)->ob_ref);
  return read_at(recording, first);
}

bool is_method(PyObject* callable, PyTypeObject* type, std::initializer_list<const char*> names) {
  if (!Py_IS_TYPE(callable, &PyMethodDescr_Type) || PyDescr_TYPE(callable) != type) return false;
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    return PyUnicode_CompareWithASCIIString(PyDescr_NAME(callable), name) == 0;
  });
}

}  // namespace

bool hands_to_python(PyObject* callable) {
  if (Py_IS_TYPE(callable, &PyMethod_Type)) callable = PyMethod_GET_FUNCTION(callable);
  if (is_python_function(callable)) return true;
  const PyTypeObject* type = Py_TYPE(callable);
  if (PyType_Check(callable) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  PyObject* const method = _PyType_Lookup(Py_TYPE(callable), name);
  return method != nullptr && is_python_function(method);
}

bool read_call_operands(Recording& recording, PyObject* callable, PyObject** arguments, PyObject** end) {
  if (!recording.arguments.are_lazy) return true;
  std::vector<Frame*>& passing = recording.arguments.passing;
  if (hands_to_python(callable)) {
    if (passing.empty() || passing.back() != recording.frame) passing.push_back(recording.frame);
    return true;
  }
  if (!passing.empty() && passing.back() == recording.frame) passing.pop_back();
  const bool moves = is_method(callable, &PyDict_Type, {"get", "pop", "setdefault", "__contains__"});
  const bool appends = end - arguments == 2 && PyList_CheckExact(arguments[0]) &&
                       is_method(callable, &PyList_Type, {"append"});
  const bool hashes = Py_IS_TYPE(callable, &PyMethodDescr_Type) &&
                      (PyType_IsSubtype(PyDescr_TYPE(callable), &PyDict_Type) ||
                       PyDescr_TYPE(callable) == &PySet_Type || PyDescr_TYPE(callable) == &PyFrozenSet_Type);
  if (appends) {
    keep_unread(recording, arguments[0], arguments[1]);
    return true;
  }
  for (PyObject** place = arguments; place != end; place++) {
    const bool is_self = place == arguments;
    if (!(moves && is_self     ? read_at(recording, *place)
          : hashes && !is_self ? read_key(recording, *place)
                               : read_fully(recording, *place)))
      return false;
  }
  return true;
}

bool read_before_call(Recording& recording, const Instruction& instruction, Frame* frame, PyObject** sp) {
  if (instruction.opcode == Opcode::CALL_FUNCTION_EX) {
    const bool has_keywords = (instruction.argument & 1) != 0;
    PyObject*& callable = sp[(has_keywords ? -4 : -3) + (cpython::kCallableBelowSelf ? 0 : 1)];
    PyObject** const first = &sp[has_keywords ? -2 : -1];
    if (!read_at(recording, callable) || !read_at(recording, *first) ||
        (has_keywords && !read_at(recording, sp[-1])))
      return false;
    return read_call_operands(recording, callable, first, sp);
  }
  if (instruction.opcode == Opcode::CALL_KW) sp--;
  PyObject** const base = sp - instruction.argument - 2;
  if (!read_at(recording, base[0]) || !read_at(recording, base[1])) return false;
  const bool has_self = cpython::kCallableBelowSelf ? base[1] != nullptr : base[0] != nullptr;
  PyObject* const callable = cpython::kCallableBelowSelf || has_self ? base[0] : base[1];
  if (callable == reinterpret_cast<PyObject*>(&PySuper_Type) && !read_first_local(recording, frame))
    return false;
  return read_call_operands(recording, callable, has_self ? base + 1 : base + 2, sp);
}

}  // namespace stator
