// capture/recording/warnings.cpp: warnings that a filter ignores.
//
// One that is shown is output, and so is one that is shown once: whether it was shown already is asked with a
// count of filter changes that C code keeps to itself.
#include "capture/recording/warnings.h"

#include "capture/cpython/interrupts.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

enum class Match : uint8_t { no, yes, unknown };

// As _warnings.c compares the parts of a filter.
Match compare(PyObject* pattern, PyObject* text) {
  const auto known = [](bool matches) { return matches ? Match::yes : Match::no; };
  if (pattern == Py_None) return Match::yes;
  if (PyUnicode_CheckExact(pattern)) return known(PyUnicode_Compare(pattern, text) == 0);
  if (std::string_view(Py_TYPE(pattern)->tp_name) != "re.Pattern") return Match::unknown;
  const Ref<> found = Ref<>::steal(PyObject_CallMethod(pattern, "match", "O", text));
  if (!found) drop_error();
  return found ? known(found.get() != Py_None) : Match::unknown;
}

struct Warning {
  PyObject* text = nullptr;
  PyTypeObject* category = reinterpret_cast<PyTypeObject*>(PyExc_UserWarning);
  PyObject* module = nullptr;
};

// Yes: the first filter that applies ignores it.
Match is_ignored(const Warning& warning, PyObject* filters) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters); i++) {
    PyObject* filter = PyList_GET_ITEM(filters, i);
    if (!PyTuple_CheckExact(filter) || PyTuple_GET_SIZE(filter) != 5) return Match::unknown;
    const auto part = [&](Py_ssize_t index) { return PyTuple_GET_ITEM(filter, index); };
    if (!PyType_Check(part(2)) || Py_TYPE(part(2)) != &PyType_Type || !PyLong_CheckExact(part(4)))
      return Match::unknown;
    if (!PyType_IsSubtype(warning.category, reinterpret_cast<PyTypeObject*>(part(2)))) continue;
    const Match text = compare(part(1), warning.text), module = compare(part(3), warning.module);
    if (text == Match::no || module == Match::no) continue;
    const bool of_any_line = PyLong_AsLong(part(4)) == 0;
    if (text == Match::unknown || module == Match::unknown || !of_any_line || !PyUnicode_Check(part(0)))
      return Match::unknown;
    return PyUnicode_CompareWithASCIIString(part(0), "ignore") == 0 ? Match::yes : Match::no;
  }
  return Match::no;
}

}  // namespace

// warnings.warn(text, category, stacklevel), in any order from the second on: keywords have lost their names.
bool before_warning(Recording& recording, const std::vector<PyObject*>& arguments) {
  const auto shown = [&] {
    return stop(recording, BreakCode::kOutsideEffect, "a warning that may be shown");
  };
  Warning warning;
  long level = 1;
  for (size_t i = 0; i < arguments.size(); i++) {
    PyObject* argument = arguments[i];
    if (i == 0 && PyUnicode_CheckExact(argument)) {
      warning.text = argument;
    } else if (i > 0 && PyType_Check(argument)) {
      warning.category = reinterpret_cast<PyTypeObject*>(argument);
    } else if (i > 0 && PyLong_CheckExact(argument)) {
      level = PyLong_AsLong(argument);
    } else if (i == 0 || argument != Py_None) {
      return shown();
    }
  }
  // Making one runs no code of the program's.
  const auto* plain = reinterpret_cast<PyTypeObject*>(PyExc_Warning);
  if (warning.text == nullptr || PyErr_Occurred() || !PyExceptionClass_Check(warning.category) ||
      warning.category->tp_init != plain->tp_init || warning.category->tp_new != plain->tp_new)
    return shown();
  // The frame that is blamed must be one of the capture's.
  const cpython::Frame* frame = recording.frame;
  for (; level > 1 && frame != recording.first_frame && frame != nullptr; level--) frame = frame->previous;
  if (level > 1 || frame == nullptr) return shown();
  static PyObject* const name_key = PyUnicode_InternFromString("__name__");
  static PyObject* const filters_key = PyUnicode_InternFromString("filters");
  static PyObject* const warnings_key = PyUnicode_InternFromString("warnings");
  if (!read_dict_item(recording, frame->globals, name_key)) return false;
  warning.module = PyDict_GetItemWithError(frame->globals, name_key);
  PyObject* modules = PyImport_GetModuleDict();
  pin(recording, modules, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("sys.modules"))});
  if (!read_dict_item(recording, modules, warnings_key)) return false;
  PyObject* module = PyDict_GetItemWithError(modules, warnings_key);
  if (module == nullptr || !PyModule_Check(module) || warning.module == nullptr ||
      !PyUnicode_CheckExact(warning.module))
    return shown();
  PyObject* attributes = PyModule_GetDict(module);
  pin(recording, attributes, {Origin::dict_of, module, {}});
  if (!read_dict_item(recording, attributes, filters_key)) return false;
  PyObject* filters = PyDict_GetItemWithError(attributes, filters_key);
  if (filters == nullptr || !PyList_CheckExact(filters)) return shown();
  if (!read_list(recording, filters) || !read_type(recording, warning.category)) return false;
  return is_ignored(warning, filters) == Match::yes || shown();
}

}  // namespace stator
