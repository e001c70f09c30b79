// capture/recording/contents.cpp: what C code may see of an object that it is given.
#include "capture/recording/contents.h"

#include <structmember.h>

#include <iterator>

#include "capture/cpython/exported.h"
#include "capture/cpython/method_wrapper.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/referents.h"
#include "capture/cpython/type_alias.h"
#include "capture/policy/hidden_contents.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/operands.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/type_aliases.h"
#include "capture/recording/unread_holders.h"
#include "capture/recording/unread_value.h"

namespace stator {
namespace {

PyTypeObject* type_in(const char* module, const char* name) {
  Ref<> found = module_attribute(module, name);
  if (!found) PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(found.release());
}

Ref<> text(const char* name) { return Ref<>::steal(PyUnicode_FromString(name)); }

// Views show a mapping as it is now.
bool read_view(Recording& recording, PyObject* view) {
  if (!is_pinned(recording, view) && !is_fresh(recording, view)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(view)->tp_name + " of unknown origin is read");
  }
  PyObject* mapping = cpython::mapping_of_view(view);
  if (mapping == nullptr) return stop(recording, BreakCode::kUnguardable, "a view of nothing");
  if (shows_class(recording, view)) return true;
  if (is_pinned(recording, view)) pin(recording, mapping, {Origin::attribute, view, text("mapping")});
  return read_contents(recording, mapping);
}

// A special method that is no Python function of the class, nor one that C code gave it: whoever calls it is
// not seen.
const char* foreign_special_method(PyTypeObject* type) {
  static constexpr const char* kNames[] = {
      "__bool__",   "__len__",      "__eq__",      "__ne__",    "__lt__",     "__le__",
      "__gt__",     "__ge__",       "__hash__",    "__repr__",  "__str__",    "__iter__",
      "__next__",   "__contains__", "__getitem__", "__index__", "__int__",    "__float__",
      "__format__", "__add__",      "__radd__",    "__mul__",   "__setitem__"};
  static PyObject* const* const names = [] {
    static PyObject* made[std::size(kNames)];
    for (size_t i = 0; i < std::size(kNames); i++) made[i] = PyUnicode_InternFromString(kNames[i]);
    return made;
  }();
  for (size_t i = 0; i < std::size(kNames); i++) {
    PyObject* method = _PyType_Lookup(type, names[i]);
    if (method == nullptr || method == Py_None || PyFunction_Check(method) ||
        Py_IS_TYPE(method, &PyWrapperDescr_Type) || Py_IS_TYPE(method, &PyMethodDescr_Type))
      continue;
    return kNames[i];
  }
  return nullptr;
}

// Fields that a class in C lets the program assign to (the factory of a defaultdict, the errno of an
// OSError): C code reads them without a lookup.
bool read_fields_of_c(Recording& recording, PyObject* object) {
  PyObject* const mro = Py_TYPE(object)->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); i++) {
    auto* const type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (cpython::is_python_class(type)) continue;
    for (const PyMemberDef* field = type->tp_members; field != nullptr && field->name != nullptr; field++) {
      if ((field->flags & READONLY) != 0) continue;
      const auto name = Ref<>::steal(PyUnicode_InternFromString(field->name));
      if (!name || !read_attribute(recording, object, name.get())) return false;
    }
  }
  return true;
}

// An instance of a class that is no container. Special methods that are Python functions of the class guard
// what they read as they run.
bool read_instance(Recording& recording, PyObject* object) {
  if (hides_contents(Py_TYPE(object))) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("the contents of a ") + Py_TYPE(object)->tp_name + " that existed before");
  }
  if (!read_object(recording, object)) return false;
  if (recording.walked.insert(Py_TYPE(object)) && !is_pybind_enum(Py_TYPE(object))) {
    if (const char* method = foreign_special_method(Py_TYPE(object)))
      return stop(recording, BreakCode::kUnknownFunction,
                  std::string(method) + " of a " + Py_TYPE(object)->tp_name + " is no function");
  }
  if (PyExceptionInstance_Check(object))
    read_field(recording, object, &reinterpret_cast<PyBaseExceptionObject*>(object)->args, "args");
  return read_fields_of_c(recording, object);
}

bool read_partial(Recording& recording, PyObject* partial) {
  if (!read_object(recording, partial)) return false;
  for (const char* name : {"func", "args", "keywords"}) {
    if (read_member(recording, partial, name) == nullptr)
      return stop(recording, BreakCode::kUnguardable, "a partial of another make");
  }
  return true;
}

}  // namespace

bool is_deque(PyObject* object) {
  static PyTypeObject* const type = type_in("_collections", "deque");
  return type != nullptr && PyObject_TypeCheck(object, type);
}

bool is_default_dict(PyObject* object) {
  static PyTypeObject* const type = type_in("_collections", "defaultdict");
  return type != nullptr && PyObject_TypeCheck(object, type);
}

bool is_view(PyObject* object) {
  return PyDictKeys_Check(object) || PyDictItems_Check(object) || PyDictValues_Check(object) ||
         Py_IS_TYPE(object, &PyDictProxy_Type);
}

bool shows_class(const Recording& recording, PyObject* view) {
  if (!Py_IS_TYPE(view, &PyDictProxy_Type) || !is_fresh(recording, view)) return false;
  PyObject* mapping = cpython::mapping_of_view(view);
  return mapping != nullptr &&
         (!is_known(recording, mapping) || recording.classes.class_with(mapping) != nullptr);
}

bool is_partial(PyObject* object) {
  static PyTypeObject* const type = type_in("_functools", "partial");
  return type != nullptr && PyObject_TypeCheck(object, type);
}

bool read_behaviour(Recording& recording, PyObject* object) {
  if (recording.domain.is_tensor(object) || never_changes(recording, object)) return true;
  return read_type(recording, Py_TYPE(object));
}

// The class alone: a list stays one whatever it holds.
static bool read_kind_of(Recording& recording, PyObject* object) {
  if (is_constant(object) || never_changes(recording, object)) return true;
  const bool may_change = Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE &&
                          !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
  if (PyType_Check(object) || PyModule_Check(object) || recording.domain.is_tensor(object) ||
      cpython::is_type_alias(object))
    return read_contents(recording, object);
  if (!may_change) return true;
  return reads_freely(recording, object) ? read_type(recording, Py_TYPE(object))
                                         : read_object(recording, object);
}

static bool read_outer(Recording& recording, PyObject* object);

bool read_argument(Recording& recording, PyObject* object, Sight sight) {
  switch (sight) {
    case Sight::nothing:
      return true;
    case Sight::kind:
      return read_kind_of(recording, object);
    case Sight::pairs:
      if (object == nullptr || !(PyDict_Check(object) || Py_IS_TYPE(object, &PyDictProxy_Type)))
        return read_deep(recording, object);
      [[fallthrough]];
    case Sight::items:
      return read_contents(recording, object);
    case Sight::keys:
      return object != nullptr && PyDict_Check(object) ? read_moved(recording, object)
                                                       : read_contents(recording, object);
    case Sight::size:
      return object == nullptr || read_size(recording, object);
    case Sight::truth:
      return object == nullptr || read_truth(recording, object);
    case Sight::everything:
      return read_deep(recording, object);
  }
  return false;
}

bool read_contents(Recording& recording, PyObject* object) {
  if (object == nullptr || is_constant(object)) return true;
  if (is_unread(object))
    return stop(recording, BreakCode::kUnguardable, "C code looks at an argument that was not read before");
  Argument* const argument = find_argument(recording, object);
  if (argument != nullptr && !read_argument_whole(recording, *argument)) return false;
  if (is_holder(recording, object) && !read_holder(recording, object)) return false;
  return argument != nullptr ? read_type(recording, Py_TYPE(object)) : read_outer(recording, object);
}

bool read_moved(Recording& recording, PyObject* object) {
  if (object == nullptr || is_constant(object)) return true;
  if (Argument* argument = find_argument(recording, object))
    return read_type(recording, Py_TYPE(object)) && reach_argument_items(recording, *argument);
  return read_outer(recording, object);
}

static bool read_outer(Recording& recording, PyObject* object) {
  if (is_view(object)) return read_view(recording, object);
  if (never_changes(recording, object) || reads_freely(recording, object) ||
      recording.domain.is_tensor(object)) {
    if (PyTuple_Check(object)) pin_items(recording, object);
    if (PyMethod_Check(object) && is_pinned(recording, object))
      pin(recording, PyMethod_GET_SELF(object), {Origin::attribute, object, text("__self__")});
    look_at(recording, object);
    if (!is_fresh(recording, object)) return true;
    bool looks = false;
    return read_type(recording, Py_TYPE(object)) && read_iterator(recording, object, looks);
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
  if (PyODict_Check(object)) {
    return (PyODict_CheckExact(object) || read_object(recording, object)) && read_dict(recording, object) &&
           read_order(recording, object);
  }
  if (PyDict_Check(object)) {
    const bool is_python_class = Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE;
    return (!is_python_class || read_object(recording, object)) && read_dict(recording, object) &&
           read_fields_of_c(recording, object);
  }
  if (PyList_Check(object)) return read_object(recording, object) && read_list(recording, object);
  if (is_partial(object)) return read_partial(recording, object);
  return read_instance(recording, object);
}

bool pin_items(Recording& recording, PyObject* tuple) {
  if (Argument* argument = find_argument(recording, tuple)) return reach_argument_items(recording, *argument);
  if (!is_pinned(recording, tuple)) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (!is_constant(item)) pin(recording, item, {Origin::item, tuple, Ref<>::steal(PyLong_FromSsize_t(i))});
  }
  return true;
}

bool read_subscript(Recording& recording, PyObject* container, PyObject* key) {
  if (recording.domain.is_tensor(container)) {
    look_at(recording, container);
    return read_index(recording, key);
  }
  // A key of the program's own class is hashed and compared.
  const auto read_key = PyDict_Check(container) ? &read_hashed : &read_deep;
  if (!is_constant(key) && !read_key(recording, key)) return false;
  if (Argument* argument = find_argument(recording, container)) {
    if (!read_type(recording, Py_TYPE(container))) return false;
    return PyDict_Check(container) || PyAnySet_Check(container)
               ? read_argument_member(recording, *argument, key)
               : read_argument_item(recording, *argument, key);
  }
  if (PyDict_CheckExact(container)) return read_dict_item(recording, container, key);
  if (PyODict_CheckExact(container)) return read_dict_item(recording, container, key);
  if (is_default_dict(container) && !is_fresh(recording, container)) {
    PyObject* found = PyDict_GetItemWithError(container, key);
    if (found == nullptr && PyErr_Occurred()) return false;
    return read_dict_item(recording, container, key);
  }
  if (Py_IS_TYPE(container, &PyDictProxy_Type) && !shows_class(recording, container) &&
      (is_pinned(recording, container) || is_fresh(recording, container))) {
    PyObject* mapping = cpython::mapping_of_view(container);
    if (mapping != nullptr && PyDict_CheckExact(mapping)) {
      if (is_pinned(recording, container))
        pin(recording, mapping, {Origin::attribute, container, text("mapping")});
      return read_dict_item(recording, mapping, key);
    }
  }
  if (shows_class(recording, container)) {
    // The guard on the class knows its attributes by address.
    PyObject* const found = PyDict_GetItemWithError(cpython::mapping_of_view(container), key);
    if (found == nullptr && PyErr_Occurred()) return false;
    if (found != nullptr) pin(recording, found, {Origin::root, nullptr, Ref<>::share(key)});
  }
  // One item is taken out, and looked at where it is used.
  return PyLong_CheckExact(key) ? read_moved(recording, container) : read_contents(recording, container);
}

// Sequences inside of an index become tensors by their values, also by those of tensors in them, which the
// graph does not see.
static bool holds_tensor(const Recording& recording, PyObject* sequence) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence, i);
    if (recording.domain.is_tensor(item)) return true;
    if ((PyList_Check(item) || PyTuple_Check(item)) && holds_tensor(recording, item)) return true;
  }
  return false;
}

bool read_index(Recording& recording, PyObject* key) {
  if (is_constant(key) || recording.domain.is_tensor(key)) return read_contents(recording, key);
  if (!read_deep(recording, key)) return false;
  if (!PyTuple_Check(key) && !PyList_Check(key)) return true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(key); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(key, i);
    if ((PyList_Check(item) || PyTuple_Check(item)) && holds_tensor(recording, item))
      return stop(recording, BreakCode::kReadsMemory, "tensors in a sequence inside of an index");
  }
  return true;
}

}  // namespace stator
