// capture/recording/contents.cpp: what C code may see of an object that it is given.
#include "capture/recording/contents.h"

#include <unordered_set>

#include "capture/cpython/method_wrapper.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/referents.h"
#include "capture/cpython/type_alias.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/module_attribute.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/type_aliases.h"

namespace stator {

static bool read_view(Recording& recording, PyObject* view);
namespace {

bool is_dict_view(PyObject* object) {
  return PyDictKeys_Check(object) || PyDictItems_Check(object) || PyDictValues_Check(object);
}

bool is_deque(PyObject* object) {
  static PyTypeObject* const type = [] {
    Ref<> found = module_attribute("_collections", "deque");
    if (!found) PyErr_Clear();
    return reinterpret_cast<PyTypeObject*>(found.release());
  }();
  return type != nullptr && PyObject_TypeCheck(object, type);
}

}  // namespace

bool read_behaviour(Recording& recording, PyObject* object) {
  if (recording.domain.is_tensor(object) || never_changes(recording, object)) return true;
  return read_type(recording, Py_TYPE(object));
}

bool read_contents(Recording& recording, PyObject* object) {
  if (object == nullptr || never_changes(recording, object) || reads_freely(recording, object) ||
      recording.domain.is_tensor(object)) {
    if (object != nullptr && PyTuple_Check(object)) pin_items(recording, object);
    if (object != nullptr) look_at(recording, object);
    return object == nullptr || !is_fresh(recording, object) || read_type(recording, Py_TYPE(object));
  }
  if (PyType_Check(object)) {
    recording.classes.give_out(reinterpret_cast<PyTypeObject*>(object));
    return read_type(recording, reinterpret_cast<PyTypeObject*>(object)) &&
           read_type(recording, Py_TYPE(object));
  }
  if (PyDict_CheckExact(object)) return read_dict(recording, object);
  if (PyList_CheckExact(object)) return read_list(recording, object);
  if (PyFunction_Check(object) || PyModule_Check(object) || Py_IS_TYPE(object, &PyProperty_Type) ||
      cpython::is_method_wrapper(object))
    return true;  // compared and called, not looked into
  if (PyWeakref_CheckRefExact(object)) return read_reference(recording, object);
  if (PyTuple_Check(object)) {
    if (!read_type(recording, Py_TYPE(object))) return false;
    pin_items(recording, object);
    return true;
  }
  if (cpython::is_type_alias(object)) return read_alias(recording, object);
  if (PyAnySet_Check(object) || is_deque(object))
    return read_type(recording, Py_TYPE(object)) && read_items(recording, object);
  if (is_dict_view(object) || Py_IS_TYPE(object, &PyDictProxy_Type)) return read_view(recording, object);
  if (PyODict_Check(object)) {
    return (PyODict_CheckExact(object) || read_object(recording, object)) && read_dict(recording, object) &&
           read_order(recording, object);
  }
  if (PyDict_Check(object)) {
    const bool is_python_class = Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE;
    return (!is_python_class || read_object(recording, object)) && read_dict(recording, object);
  }
  if (PyList_Check(object)) return read_object(recording, object) && read_list(recording, object);
  // Instances: their special methods are Python functions of their class, whose own reads are guarded as they
  // happen.
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) return read_object(recording, object);
  return stop(recording, BreakCode::kUnguardable,
              std::string("the contents of a ") + Py_TYPE(object)->tp_name + " that existed before");
}

void pin_items(Recording& recording, PyObject* tuple) {
  if (!is_pinned(recording, tuple)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (!is_constant(item)) pin(recording, item, {Origin::item, tuple, Ref<>::steal(PyLong_FromSsize_t(i))});
  }
}

// Views show a mapping as it is now.
static bool read_view(Recording& recording, PyObject* view) {
  if (!is_pinned(recording, view)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(view)->tp_name + " of unknown origin is read");
  }
  PyObject* mapping = cpython::mapping_of_view(view);
  if (mapping == nullptr) return stop(recording, BreakCode::kUnguardable, "a view of nothing");
  pin(recording, mapping, {Origin::attribute, view, Ref<>::steal(PyUnicode_FromString("mapping"))});
  return read_contents(recording, mapping);
}

bool read_deep(Recording& recording, PyObject* object) {
  if (!read_contents(recording, object)) return false;
  const auto is_container = [](PyObject* item) {
    return PyTuple_Check(item) || PyList_Check(item) || PyDict_Check(item) || PyAnySet_Check(item) ||
           is_deque(item) || PyDictValues_Check(item);
  };
  if (object == nullptr || !is_container(object)) return true;
  std::vector<PyObject*> left{object};
  std::unordered_set<PyObject*> seen{object};
  const auto look_into = [&](PyObject* item) {
    if (is_constant(item) || recording.domain.is_tensor(item) || !is_known(recording, item)) return true;
    if (!is_container(item) || !seen.insert(item).second) return true;
    left.push_back(item);
    return read_contents(recording, item);
  };
  while (!left.empty()) {
    PyObject* container = left.back();
    left.pop_back();
    if (PyDictValues_Check(container)) container = cpython::mapping_of_view(container);
    if (container == nullptr) continue;
    if (PyDict_Check(container)) {
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(container, &position, &key, &value)) {
        if (!look_into(key) || !look_into(value)) return false;
      }
    } else if (PyAnySet_Check(container) || is_deque(container)) {
      for (const ExpectedValue& item : expect_items(container)) {
        if (!look_into(item.object)) return false;
      }
    } else {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(container); i++) {
        if (!look_into(PySequence_Fast_GET_ITEM(container, i))) return false;
      }
    }
  }
  return true;
}

// container[key], read or asked for by `in`.
bool read_subscript(Recording& recording, PyObject* container, PyObject* key) {
  if (PyDict_CheckExact(container)) return read_dict_item(recording, container, key);
  if (PyODict_CheckExact(container)) return read_dict_item(recording, container, key);
  if (is_default_dict(container) && !is_fresh(recording, container)) {
    PyObject* found = PyDict_GetItemWithError(container, key);
    if (found == nullptr && PyErr_Occurred()) return false;
    return read_dict_item(recording, container, key);
  }
  if (Py_IS_TYPE(container, &PyDictProxy_Type) && is_pinned(recording, container)) {
    PyObject* mapping = cpython::mapping_of_view(container);
    if (mapping != nullptr && PyDict_CheckExact(mapping)) {
      pin(recording, mapping, {Origin::attribute, container, Ref<>::steal(PyUnicode_FromString("mapping"))});
      return read_dict_item(recording, mapping, key);
    }
  }
  return read_contents(recording, container) && read_contents(recording, key);
}

bool is_default_dict(PyObject* object) {
  static PyTypeObject* const type = [] {
    Ref<> found = module_attribute("_collections", "defaultdict");
    if (!found) PyErr_Clear();
    return reinterpret_cast<PyTypeObject*>(found.release());
  }();
  return type != nullptr && PyObject_TypeCheck(object, type);
}

}  // namespace stator
