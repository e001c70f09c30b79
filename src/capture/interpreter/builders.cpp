// capture/interpreter/builders.cpp: containers and strings made from values on the stack, and iterables taken
// apart onto it.
#include "capture/interpreter/builders.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"
#include "capture/cpython/repeated_keyword.h"
#include "capture/cpython/traits.h"

namespace stator {

PyObject* build_set(PyObject* const* values, int count) {
  auto set = Ref<>::steal(PySet_New(nullptr));
  if (!set) return nullptr;
  for (int i = 0; i < count; i++) {
    if (PySet_Add(set.get(), values[i]) < 0) return nullptr;
  }
  return set.release();
}

PyObject* build_map(PyObject* const* keys_and_values, int count) {
  auto dict = Ref<>::steal(PyDict_New());
  if (!dict) return nullptr;
  for (int i = 0; i < count; i++) {
    if (PyDict_SetItem(dict.get(), keys_and_values[2 * i], keys_and_values[2 * i + 1]) < 0) return nullptr;
  }
  return dict.release();
}

PyObject* build_const_key_map(PyObject* const* values, PyObject* keys, int count) {
  if (!PyTuple_CheckExact(keys) || PyTuple_GET_SIZE(keys) != count) {
    PyErr_SetString(PyExc_SystemError, "bad BUILD_CONST_KEY_MAP keys argument");
    return nullptr;
  }
  auto dict = Ref<>::steal(PyDict_New());
  if (!dict) return nullptr;
  for (int i = 0; i < count; i++) {
    if (PyDict_SetItem(dict.get(), PyTuple_GET_ITEM(keys, i), values[i]) < 0) return nullptr;
  }
  return dict.release();
}

PyObject* join_strings(PyObject* const* parts, int count) {
  auto empty = Ref<>::steal(PyUnicode_New(0, 0));
  return empty ? _PyUnicode_JoinArray(empty.get(), parts, count) : nullptr;
}

PyObject* convert_value(PyObject* value, int conversion) {
  switch (conversion) {
    case 0:
      return Py_NewRef(value);
    case 1:
      return PyObject_Str(value);
    case 2:
      return PyObject_Repr(value);
    case 3:
      return PyObject_ASCII(value);
    default:
      PyErr_Format(PyExc_SystemError, "unexpected conversion flag %d", conversion);
      return nullptr;
  }
}

PyObject* format_value(PyObject* value, int conversion, PyObject* spec) {
  auto converted = Ref<>::steal(convert_value(value, conversion));
  if (!converted || (PyUnicode_CheckExact(converted.get()) && spec == nullptr)) return converted.release();
  return PyObject_Format(converted.get(), spec);
}

static bool lacks_iteration(PyObject* value) {
  return Py_TYPE(value)->tp_iter == nullptr && !PySequence_Check(value);
}

bool extend_list(PyObject* list, PyObject* iterable) {
  auto none = Ref<>::steal(_PyList_Extend(reinterpret_cast<PyListObject*>(list), iterable));
  if (none) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError) && lacks_iteration(iterable)) {
    drop_error();
    PyErr_Format(PyExc_TypeError, "Value after * must be an iterable, not %.200s",
                 Py_TYPE(iterable)->tp_name);
  }
  return false;
}

bool update_dict(PyObject* dict, PyObject* update) {
  if (PyDict_Update(dict, update) == 0) return true;
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Format(PyExc_TypeError, "'%.200s' object is not a mapping", Py_TYPE(update)->tp_name);
  }
  return false;
}

// Replaces the error of a failed merge by one that names the function.
static void explain_merge(PyObject* function, PyObject* update) {
  if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
    drop_error();
    auto name = Ref<>::steal(_PyObject_FunctionStr(function));
    if (name) {
      PyErr_Format(PyExc_TypeError, "%U argument after ** must be a mapping, not %.200s", name.get(),
                   Py_TYPE(update)->tp_name);
    }
    return;
  }
  const Ref<> keyword = cpython::take_repeated_keyword();
  if (!keyword) return;
  auto name = Ref<>::steal(_PyObject_FunctionStr(function));
  if (name)
    PyErr_Format(PyExc_TypeError, "%U got multiple values for keyword argument '%S'", name.get(),
                 keyword.get());
}

bool merge_keywords(PyObject* dict, PyObject* update, PyObject* function) {
  if (_PyDict_MergeEx(dict, update, 2) == 0) return true;
  explain_merge(function, update);
  return false;
}

bool check_star_arguments(PyObject* function, PyObject* arguments) {
  if (!lacks_iteration(arguments)) return true;
  drop_error();
  auto name = Ref<>::steal(_PyObject_FunctionStr(function));
  if (name) {
    PyErr_Format(PyExc_TypeError, "%U argument after * must be an iterable, not %.200s", name.get(),
                 Py_TYPE(arguments)->tp_name);
  }
  return false;
}

PyObject* callee_of_merge(PyObject** sp, int argument) {
  // […, callable and its NULL, arguments, dict, …(argument - 1), update]
  return sp[-1 - argument - 2 - (cpython::kCallableBelowSelf ? 1 : 0)];
}

bool unpack_iterable(PyObject* iterable, int before, int after, PyObject** top) {
  PyObject** const start = top;
  auto iterator = Ref<>::steal(PyObject_GetIter(iterable));
  if (!iterator) {
    if (PyErr_ExceptionMatches(PyExc_TypeError) && lacks_iteration(iterable)) {
      PyErr_Format(PyExc_TypeError, "cannot unpack non-iterable %.200s object", Py_TYPE(iterable)->tp_name);
    }
    return false;
  }
  const auto drop = [&] {
    for (; top < start; top++) Py_DECREF(*top);
    return false;
  };
  int taken = 0;
  for (; taken < before; taken++) {
    PyObject* item = PyIter_Next(iterator.get());
    if (item == nullptr) {
      if (!PyErr_Occurred()) {
        PyErr_Format(PyExc_ValueError,
                     after == -1 ? "not enough values to unpack (expected %d, got %d)"
                                 : "not enough values to unpack (expected at least %d, got %d)",
                     after == -1 ? before : before + after, taken);
      }
      return drop();
    }
    *--top = item;
  }
  if (after == -1) {
    auto extra = Ref<>::steal(PyIter_Next(iterator.get()));
    if (!extra) return PyErr_Occurred() ? drop() : true;
    PyErr_Format(PyExc_ValueError, "too many values to unpack (expected %d)", before);
    return drop();
  }
  PyObject* rest = PySequence_List(iterator.get());
  if (rest == nullptr) return drop();
  *--top = rest;
  const Py_ssize_t length = PyList_GET_SIZE(rest);
  if (length < after) {
    PyErr_Format(PyExc_ValueError, "not enough values to unpack (expected at least %d, got %zd)",
                 before + after, before + length);
    return drop();
  }
  for (int i = after; i > 0; i--) *--top = Py_NewRef(PyList_GET_ITEM(rest, length - i));
  if (PyList_SetSlice(rest, length - after, length, nullptr) < 0) return drop();
  return true;
}

}  // namespace stator
