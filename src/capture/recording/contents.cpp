// capture/recording/contents.cpp: what C code may see of an object that it is given.
#include <unordered_set>

#include "capture/cpython/method_wrapper.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/referents.h"
#include "capture/cpython/type_alias.h"
#include "capture/recording/module_attribute.h"
#include "capture/recording/recording.h"

namespace stator {
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

bool Recording::read_behaviour(PyObject* object) {
  if (domain_.is_tensor(object) || never_changes(object)) return true;
  return read_type(Py_TYPE(object));
}

bool Recording::read_contents(PyObject* object) {
  if (object == nullptr || never_changes(object) || reads_freely(object) || domain_.is_tensor(object)) {
    if (object != nullptr && PyTuple_Check(object)) pin_items(object);
    if (object != nullptr) look_at(object);
    return object == nullptr || !is_fresh(object) || read_type(Py_TYPE(object));
  }
  if (PyType_Check(object)) {
    classes_.give_out(reinterpret_cast<PyTypeObject*>(object));
    return read_type(reinterpret_cast<PyTypeObject*>(object)) && read_type(Py_TYPE(object));
  }
  if (PyDict_CheckExact(object)) return read_dict(object);
  if (PyList_CheckExact(object)) return read_list(object);
  if (PyFunction_Check(object) || PyModule_Check(object) || Py_IS_TYPE(object, &PyProperty_Type) ||
      cpython::is_method_wrapper(object))
    return true;  // compared and called, not looked into
  if (PyWeakref_CheckRefExact(object)) return read_reference(object);
  if (PyTuple_Check(object)) {
    if (!read_type(Py_TYPE(object))) return false;
    pin_items(object);
    return true;
  }
  if (cpython::is_type_alias(object)) return read_alias(object);
  if (PyAnySet_Check(object) || is_deque(object)) return read_type(Py_TYPE(object)) && read_items(object);
  if (is_dict_view(object) || Py_IS_TYPE(object, &PyDictProxy_Type)) return read_view(object);
  if (PyODict_Check(object)) {
    return (PyODict_CheckExact(object) || read_object(object)) && read_dict(object) && read_order(object);
  }
  if (PyDict_Check(object)) {
    const bool is_python_class = Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE;
    return (!is_python_class || read_object(object)) && read_dict(object);
  }
  if (PyList_Check(object)) return read_object(object) && read_list(object);
  // Instances: their special methods are Python functions of their class, whose own reads are guarded as they
  // happen.
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) return read_object(object);
  return stop(BreakCode::kUnguardable,
              std::string("the contents of a ") + Py_TYPE(object)->tp_name + " that existed before");
}

void Recording::pin_items(PyObject* tuple) {
  if (!is_pinned(tuple)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (!is_constant(item)) pin(item, {Origin::item, tuple, Ref<>::steal(PyLong_FromSsize_t(i))});
  }
}

// Views show a mapping as it is now.
bool Recording::read_view(PyObject* view) {
  if (!is_pinned(view)) {
    return stop(BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(view)->tp_name + " of unknown origin is read");
  }
  PyObject* mapping = cpython::mapping_of_view(view);
  if (mapping == nullptr) return stop(BreakCode::kUnguardable, "a view of nothing");
  pin(mapping, {Origin::attribute, view, Ref<>::steal(PyUnicode_FromString("mapping"))});
  return read_contents(mapping);
}

bool Recording::read_deep(PyObject* object) {
  if (!read_contents(object)) return false;
  const auto is_container = [](PyObject* item) {
    return PyTuple_Check(item) || PyList_Check(item) || PyDict_Check(item) || PyAnySet_Check(item) ||
           is_deque(item) || PyDictValues_Check(item);
  };
  if (object == nullptr || !is_container(object)) return true;
  std::vector<PyObject*> left{object};
  std::unordered_set<PyObject*> seen{object};
  const auto look_at = [&](PyObject* item) {
    if (is_constant(item) || domain_.is_tensor(item) || !is_known(item)) return true;
    if (!is_container(item) || !seen.insert(item).second) return true;
    left.push_back(item);
    return read_contents(item);
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
        if (!look_at(key) || !look_at(value)) return false;
      }
    } else if (PyAnySet_Check(container) || is_deque(container)) {
      for (const ExpectedValue& item : expect_items(container)) {
        if (!look_at(item.object)) return false;
      }
    } else {
      for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(container); i++) {
        if (!look_at(PySequence_Fast_GET_ITEM(container, i))) return false;
      }
    }
  }
  return true;
}

// container[key], read or asked for by `in`.
bool Recording::read_subscript(PyObject* container, PyObject* key) {
  if (PyDict_CheckExact(container)) return read_dict_item(container, key);
  if (PyODict_CheckExact(container)) return read_dict_item(container, key);
  if (is_default_dict(container) && !is_fresh(container)) {
    PyObject* found = PyDict_GetItemWithError(container, key);
    if (found == nullptr && PyErr_Occurred()) return false;
    return read_dict_item(container, key);
  }
  if (Py_IS_TYPE(container, &PyDictProxy_Type) && is_pinned(container)) {
    PyObject* mapping = cpython::mapping_of_view(container);
    if (mapping != nullptr && PyDict_CheckExact(mapping)) {
      pin(mapping, {Origin::attribute, container, Ref<>::steal(PyUnicode_FromString("mapping"))});
      return read_dict_item(mapping, key);
    }
  }
  return read_contents(container) && read_contents(key);
}

bool Recording::is_default_dict(PyObject* object) {
  static PyTypeObject* const type = [] {
    Ref<> found = module_attribute("_collections", "defaultdict");
    if (!found) PyErr_Clear();
    return reinterpret_cast<PyTypeObject*>(found.release());
  }();
  return type != nullptr && PyObject_TypeCheck(object, type);
}

}  // namespace stator
