// capture/recording/shown_objects.cpp: objects that are put into words, and what they hold.
#include "capture/recording/shown_objects.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/method_wrapper.h"
#include "capture/cpython/referents.h"
#include "capture/policy/shown_types.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/operands.h"
#include "capture/recording/reads.h"

namespace stator {
namespace {

bool stop_at_address(Recording& recording, PyObject* object) {
  return stop(recording, BreakCode::kUnguardable,
              std::string("the address of a ") + Py_TYPE(object)->tp_name + " is shown");
}

// Functions and methods of C name the object that they are bound to by its address.
bool before_showing_bound(Recording& recording, PyObject* object) {
  std::vector<PyObject*> bound;
  cpython::add_referents(object, bound);
  for (PyObject* const self : bound) {
    const bool is_lasting = PyModule_Check(self) || PyType_Check(self) || is_pinned(recording, self);
    if (!is_lasting && !Py_IS_TYPE(self, &PyWrapperDescr_Type)) return stop_at_address(recording, self);
  }
  return true;
}

bool before_showing_inner(Recording& recording, PyObject* object) {
  return before_showing(recording, object, false);
}

bool before_showing_contents(Recording& recording, PyObject* object) {
  const auto each = [&](PyObject* inner) { return before_showing_inner(recording, inner); };
  if (PyTuple_Check(object) || PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++) {
      if (!each(PySequence_Fast_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  if (PyDict_CheckExact(object) || PyODict_Check(object)) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &value)) {
      if (!each(key) || !each(value)) return false;
    }
    return true;
  }
  if (PyAnySet_Check(object)) return each_item(object, each);
  if (PyExceptionInstance_Check(object)) {
    PyObject* const arguments = reinterpret_cast<PyBaseExceptionObject*>(object)->args;
    return arguments == nullptr || each(arguments);
  }
  std::vector<PyObject*> held;
  cpython::add_referents(object, held);
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  return std::all_of(held.begin(), held.end(), [&](PyObject* inner) { return inner == type || each(inner); });
}

}  // namespace

bool before_showing(Recording& recording, PyObject* object, bool as_text) {
  if (is_constant(object) || recording.domain.is_tensor(object) || recording.domain.is_immutable(object))
    return true;
  if (Argument* argument = find_argument(recording, object);
      argument != nullptr && !read_argument_whole(recording, *argument))
    return false;
  PyTypeObject* const type = Py_TYPE(object);
  // C code that puts an object into words asks its class how, and names that, or the function that it is.
  if (!read_class(recording, object)) return false;
  if (!read_class_names(recording, PyType_Check(object) ? reinterpret_cast<PyTypeObject*>(object) : type))
    return false;
  if (PyFunction_Check(object)) {
    if (is_pinned(recording, object)) {
      read_field(recording, object, &reinterpret_cast<PyFunctionObject*>(object)->func_qualname,
                 "__qualname__");
    } else if (!is_of_call(recording, object)) {
      return stop(recording, BreakCode::kUnguardable,
                  "the name of a function is shown that no guard reaches");
    }
  }
  if (PyCFunction_Check(object) || cpython::is_method_wrapper(object))
    return before_showing_bound(recording, object);
  switch (as_text ? shown_by_str(type) : shown_by_repr(type)) {
    case ShownAs::value:
    case ShownAs::by_program:
      return true;
    case ShownAs::address:
      return !is_of_call(recording, object) || stop_at_address(recording, object);
    case ShownAs::contents:
      break;
  }
  if (Py_EnterRecursiveCall(" while an object is looked at")) return false;
  const bool shown = before_showing_contents(recording, object);
  Py_LeaveRecursiveCall();
  return shown;
}

}  // namespace stator
