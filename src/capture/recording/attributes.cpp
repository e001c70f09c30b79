// capture/recording/attributes.cpp: attribute lookups, each step of which is guarded.
#include "capture/cpython/exported.h"
#include "capture/cpython/type_dict.h"
#include "capture/recording/recording.h"

namespace stator {

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
  const auto pin_inner = [&](const char* inner) {
    auto function = Ref<>::steal(PyObject_GetAttrString(value, inner));
    if (function) pin(function.get(), {Origin::attribute, owner, Ref<>::share(name)});
    return static_cast<bool>(function);
  };
  if (Py_IS_TYPE(value, &PyProperty_Type)) return pin_inner("fget") && pin_inner("fset");
  const bool is_bound = Py_IS_TYPE(value, &PyClassMethod_Type) || Py_IS_TYPE(value, &PyStaticMethod_Type);
  return !is_bound || pin_inner("__func__");
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
      if (is_fresh(owner) || journal_.wrote_slot(owner, on_type)) return true;
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
