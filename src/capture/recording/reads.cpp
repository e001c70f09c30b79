// capture/recording/reads.cpp: reads of objects that existed before the capture, and the guards that make
// them valid.
#include "capture/cpython/exported.h"
#include "capture/cpython/instance_dict.h"
#include "capture/cpython/type_dict.h"
#include "capture/recording/recording.h"

namespace stator {

// Keys whose hashing and comparing run no code of the user's.
static bool is_plain_key(PyObject* key) {
  if (is_constant(key) || PyType_Check(key) || PyFunction_Check(key) || PyCFunction_Check(key)) return true;
  if (!PyTuple_CheckExact(key)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
    if (!is_plain_key(PyTuple_GET_ITEM(key, i))) return false;
  }
  return true;
}

bool Recording::read_dict_item(PyObject* dict, PyObject* key) {
  if (reads_freely(dict)) return true;
  if (!is_pinned(dict)) return stop(BreakCode::kUnguardable, "a dictionary of unknown origin is read");
  if (!is_plain_key(key) && !domain_.is_immutable(key))
    return stop(BreakCode::kUnguardable, "a dictionary is read with a key of the program's own type");
  if (domain_.is_capture_flag(key) || (!journal_.empty() && is_written(dict, key))) return true;
  DictGuard& guard = guards_.dict(dict);
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (value == nullptr && PyErr_Occurred()) return false;
  if (!guard.whole) guard.reads.push_back({Ref<>::share(key), expect(value)});
  if (value != nullptr) pin(value, {Origin::item, dict, Ref<>::share(key)});
  return true;
}

bool Recording::read_dict(PyObject* dict) {
  if (reads_freely(dict)) return true;
  if (!is_pinned(dict)) return stop(BreakCode::kUnguardable, "a dictionary of unknown origin is read");
  for (const Write& write : journal_) {
    if (write.dict.get() == dict)
      return stop(BreakCode::kUnguardable, "a dictionary is looked through after a write to it");
  }
  DictGuard& guard = guards_.dict(dict);
  if (guard.whole) return true;
  guard.whole = true;
  guard.reads.clear();
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    guard.reads.push_back({Ref<>::share(key), expect(value)});
    pin(value, {Origin::item, dict, Ref<>::share(key)});
  }
  return true;
}

bool Recording::read_list(PyObject* list) {
  if (reads_freely(list)) return true;
  if (!is_pinned(list)) return stop(BreakCode::kUnguardable, "a list of unknown origin is read");
  if (!guards_.once(list)) return true;
  ListGuard guard{list, {}};
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    PyObject* item = PyList_GET_ITEM(list, i);
    guard.items.push_back(expect(item));
    pin(item, {Origin::item, list, Ref<>::steal(PyLong_FromSsize_t(i))});
  }
  guards_.add(std::move(guard), list);
  return true;
}

bool Recording::read_type(PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!guards_.once(type)) return true;
  if (is_fresh(object)) return true;
  // A lookup gives the type a version if it has none.
  static PyObject* const probe = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, probe);
  if (type->tp_version_tag == 0)
    return stop(BreakCode::kUnguardable, std::string("class ") + type->tp_name + " changes too often");
  guards_.add(TypeGuard{type, type->tp_version_tag}, object);
  return true;
}

bool Recording::read_object(PyObject* object) {
  if (!read_type(Py_TYPE(object))) return false;
  if (is_fresh(object)) return true;
  if (!is_pinned(object)) {
    return stop(BreakCode::kUnguardable,
                std::string("an object of unknown origin is read (") + Py_TYPE(object)->tp_name + ")");
  }
  // Keyed beside the object itself: a dictionary subclass has guards of both kinds.
  if (!guards_.once(reinterpret_cast<const char*>(object) + 1)) return true;
  ObjectGuard guard{object, Py_TYPE(object), nullptr, nullptr};
  if (PyObject** slot = cpython::noticing_dict(object)) {
    guard.dict_slot = slot;
    guard.dict = *slot;
    pin(*slot, {Origin::dict_of, object, {}});
  } else if (PyErr_Occurred()) {
    return false;
  }
  guards_.add(guard, object);
  return true;
}

bool Recording::read_cell(PyObject* cell, PyCodeObject* code, int index) {
  if (is_fresh(cell) || !is_pinned(cell))
    return true;  // cells of functions that this capture entered are made by it
  PyObject* content = PyCell_GET(cell);
  if (guards_.once(cell)) guards_.add(CellGuard{cell, expect(content)}, cell);
  if (content != nullptr) {
    pin(content, {Origin::attribute, cell, Ref<>::share(PyTuple_GET_ITEM(code->co_localsplusnames, index))});
  }
  return true;
}

// A special method that C code found on the class of its first argument (or on that argument, a class) is as
// good as the class.
bool Recording::pin_method(PyFunctionObject* function, PyObject* first_argument) {
  if (first_argument == nullptr) return false;
  auto* object = reinterpret_cast<PyObject*>(function);
  for (PyObject* holder : {reinterpret_cast<PyObject*>(Py_TYPE(first_argument)), first_argument}) {
    if (!PyType_Check(holder)) continue;
    auto* type = reinterpret_cast<PyTypeObject*>(holder);
    auto found = Ref<>::share(_PyType_Lookup(type, function->func_name));
    if (found &&
        (Py_IS_TYPE(found.get(), &PyClassMethod_Type) || Py_IS_TYPE(found.get(), &PyStaticMethod_Type))) {
      found = Ref<>::steal(PyObject_GetAttrString(found.get(), "__func__"));
    }
    if (found.get() != object) continue;
    if (!read_type(type)) return false;
    pin(object, {Origin::attribute, holder, Ref<>::share(function->func_name)});
    return true;
  }
  return false;
}

bool Recording::entering(PyFunctionObject* function, PyObject* first_argument) {
  // The instance that a class called in this capture has just made.
  if (first_argument != nullptr && constructed_.count(Py_TYPE(first_argument)) != 0 &&
      !is_known(first_argument) && PyUnicode_CompareWithASCIIString(function->func_name, "__init__") == 0) {
    make_fresh(first_argument);
  }
  auto* object = reinterpret_cast<PyObject*>(function);
  const bool fresh = is_fresh(object);
  if (!fresh && !is_pinned(object) && !pin_method(function, first_argument)) {
    if (stop_.happened()) return false;
    return stop(BreakCode::kUnguardable, std::string("a function of unknown origin is called (") +
                                             PyUnicode_AsUTF8(function->func_qualname) + ")");
  }
  if (fresh) {
    // Its globals are those of the function that made it, and its cells are known by themselves.
    return true;
  }
  if (!guards_.once(function)) return true;
  guards_.add(
      FunctionGuard{function, function->func_code, function->func_defaults, function->func_kwdefaults},
      object);
  pin(function->func_globals, {Origin::attribute, object, Ref<>::steal(PyUnicode_FromString("__globals__"))});
  pin(function->func_builtins,
      {Origin::attribute, object, Ref<>::steal(PyUnicode_FromString("__builtins__"))});
  if (function->func_defaults != nullptr) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(function->func_defaults); i++) {
      pin(PyTuple_GET_ITEM(function->func_defaults, i),
          {Origin::attribute, object, Ref<>::steal(PyUnicode_FromFormat("__defaults__[%zd]", i))});
    }
  }
  if (function->func_kwdefaults != nullptr) {
    pin(function->func_kwdefaults,
        {Origin::attribute, object, Ref<>::steal(PyUnicode_FromString("__kwdefaults__"))});
    if (!read_dict(function->func_kwdefaults)) return false;
  }
  if (function->func_closure != nullptr) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(function->func_closure); i++) {
      pin(PyTuple_GET_ITEM(function->func_closure, i),
          {Origin::cell_of, object, Ref<>::steal(PyLong_FromSsize_t(i))});
    }
  }
  return true;
}

bool Recording::read_behaviour(PyObject* object) {
  if (domain_.is_tensor(object) || never_changes(object)) return true;
  return read_type(Py_TYPE(object));
}

bool Recording::read_contents(PyObject* object) {
  if (object == nullptr || never_changes(object) || reads_freely(object) || domain_.is_tensor(object)) {
    if (object != nullptr && PyTuple_CheckExact(object)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
        PyObject* item = PyTuple_GET_ITEM(object, i);
        if (is_pinned(object)) pin(item, {Origin::item, object, Ref<>::steal(PyLong_FromSsize_t(i))});
      }
    }
    return object == nullptr || !is_fresh(object) || read_type(Py_TYPE(object));
  }
  if (PyType_Check(object))
    return read_type(reinterpret_cast<PyTypeObject*>(object)) && read_type(Py_TYPE(object));
  if (PyDict_CheckExact(object)) return read_dict(object);
  if (PyList_CheckExact(object)) return read_list(object);
  if (PyFunction_Check(object) || PyModule_Check(object))
    return true;  // compared and called, not looked into
  if (PyAnySet_Check(object) || Py_IS_TYPE(object, &PyDictProxy_Type)) {
    return stop(BreakCode::kUnguardable,
                std::string("the contents of a ") + Py_TYPE(object)->tp_name + " that existed before");
  }
  if (PyODict_Check(object) && PyDict_GET_SIZE(object) > 1) {
    // Its order can change without a write that the dictionary's version tells.
    return stop(BreakCode::kUnguardable, "the order of an OrderedDict that existed before");
  }
  if (PyDict_Check(object)) return (PyODict_CheckExact(object) || read_object(object)) && read_dict(object);
  if (PyList_Check(object)) return read_object(object) && read_list(object);
  // Instances: their special methods are Python functions of their class, whose own reads are guarded as they
  // happen.
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) return read_object(object);
  return stop(BreakCode::kUnguardable,
              std::string("the contents of a ") + Py_TYPE(object)->tp_name + " that existed before");
}

bool Recording::read_attribute(PyObject* owner, PyObject* name) {
  if (PyModule_Check(owner)) {
    PyObject* dict = PyModule_GetDict(owner);
    if (!is_known(owner)) return stop(BreakCode::kUnguardable, "a module of unknown origin is read");
    pin(dict, {Origin::dict_of, owner, {}});
    if (Py_TYPE(owner) != &PyModule_Type) {
      if (!read_type(Py_TYPE(owner))) return false;
      PyObject* on_type = _PyType_Lookup(Py_TYPE(owner), name);
      if (on_type != nullptr && !pin_class_attribute(Py_TYPE(owner), on_type, name)) return false;
    }
    return read_dict_item(dict, name);
  }
  if (PyType_Check(owner)) {
    auto* type = reinterpret_cast<PyTypeObject*>(owner);
    if (!read_type(type) || !read_type(Py_TYPE(owner))) return false;
    PyObject* value = _PyType_Lookup(type, name);
    if (value == nullptr) value = _PyType_Lookup(Py_TYPE(owner), name);
    return value == nullptr || pin_class_attribute(type, value, name);
  }
  if (domain_.is_tensor(owner)) return read_tensor_attribute(owner, name);
  if (never_changes(owner)) {
    // Bound methods lead to a function and an object.
    if (Py_IS_TYPE(owner, &PyMethod_Type) && is_pinned(owner)) {
      pin(PyMethod_GET_FUNCTION(owner),
          {Origin::attribute, owner, Ref<>::steal(PyUnicode_FromString("__func__"))});
      pin(PyMethod_GET_SELF(owner),
          {Origin::attribute, owner, Ref<>::steal(PyUnicode_FromString("__self__"))});
    }
    return true;
  }
  if (PyFunction_Check(owner)) {
    if (!entering(reinterpret_cast<PyFunctionObject*>(owner), nullptr)) return false;
    return is_fresh(owner) || read_instance_attribute(owner, name);
  }
  if (Py_IS_TYPE(owner, &PySuper_Type)) return read_super_attribute(owner, name);
  return read_instance_attribute(owner, name);
}

// The lookup of super(): the classes behind one of them in the order of the object's class.
bool Recording::read_super_attribute(PyObject* super, PyObject* name) {
  auto after = Ref<>::steal(PyObject_GetAttrString(super, "__thisclass__"));
  auto of = Ref<>::steal(PyObject_GetAttrString(super, "__self_class__"));
  if (!after || !of) return false;
  if (!PyType_Check(of.get())) return stop(BreakCode::kUnguardable, "super() without an object");
  auto* type = reinterpret_cast<PyTypeObject*>(of.get());
  if (!read_type(type)) return false;
  bool behind = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    PyObject* base = PyTuple_GET_ITEM(type->tp_mro, i);
    PyObject* value = behind ? cpython::own_attribute(reinterpret_cast<PyTypeObject*>(base), name) : nullptr;
    if (value != nullptr) return pin_class_attribute(reinterpret_cast<PyTypeObject*>(base), value, name);
    behind = behind || base == after.get();
  }
  return true;
}

bool Recording::read_tensor_attribute(PyObject* tensor, PyObject* name) {
  PyTypeObject* type = Py_TYPE(tensor);
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type == nullptr) return reads_freely(tensor) || read_instance_attribute(tensor, name);
  if (domain_.attribute_is_captured(tensor, name)) return true;
  if (Py_IS_TYPE(on_type, &PyGetSetDescr_Type) || Py_IS_TYPE(on_type, &PyMemberDescr_Type)) {
    return stop(BreakCode::kReadsMemory, std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
  }
  return read_type(type) && pin_class_attribute(type, on_type, name);
}

// A value found on a class that is guarded, and the functions that it leads to.
bool Recording::pin_class_attribute(PyTypeObject* type, PyObject* value, PyObject* name) {
  const auto owner = reinterpret_cast<PyObject*>(type);
  pin(value, {Origin::attribute, owner, Ref<>::share(name)});
  const char* inner = Py_IS_TYPE(value, &PyProperty_Type) ? "fget"
                      : Py_IS_TYPE(value, &PyClassMethod_Type) || Py_IS_TYPE(value, &PyStaticMethod_Type)
                          ? "__func__"
                          : nullptr;
  if (inner == nullptr) return true;
  auto function = Ref<>::steal(PyObject_GetAttrString(value, inner));
  if (!function) return false;
  pin(function.get(), {Origin::attribute, owner, Ref<>::share(name)});
  return true;
}

// The lookup of object.__getattribute__, each step guarded. Class attributes are covered by the version of
// the class.
bool Recording::read_instance_attribute(PyObject* owner, PyObject* name) {
  PyTypeObject* type = Py_TYPE(owner);
  if (!read_object(owner)) return false;
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type != nullptr) {
    if (!pin_class_attribute(type, on_type, name)) return false;
    if (Py_IS_TYPE(on_type, &PyProperty_Type)) return true;
    if (Py_IS_TYPE(on_type, &PyGetSetDescr_Type)) {
      // __dict__ and __class__ are what the guard on the object covers.
      if (is_fresh(owner) && PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) {
        auto dict = Ref<>::steal(PyObject_GenericGetDict(owner, nullptr));
        if (!dict) return false;
        make_fresh(dict.get());
      }
      if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0 ||
          PyUnicode_CompareWithASCIIString(name, "__class__") == 0) {
        return true;
      }
      if (is_fresh(owner) || PyFunction_Check(owner)) return true;
      return stop(BreakCode::kUnguardable,
                  std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a " + type->tp_name);
    }
    if (Py_IS_TYPE(on_type, &PyMemberDescr_Type)) {
      if (is_fresh(owner)) return true;
      Ref<> value = read_slot(owner, on_type);
      guards_.add(SlotGuard{owner, on_type, expect(value.get())}, owner);
      if (value) pin(value.get(), {Origin::attribute, owner, Ref<>::share(name)});
      return true;
    }
    if (Py_TYPE(on_type)->tp_descr_set != nullptr)
      return true;  // a descriptor of the program's: its code is captured
  }
  if (is_fresh(owner)) return true;
  PyObject** slot = _PyObject_GetDictPtr(owner);
  if (slot == nullptr || *slot == nullptr) return true;
  return read_dict_item(*slot, name);
}

}  // namespace stator
