// capture/recording/attributes.cpp: attribute lookups, each step of which is guarded.
#include "capture/recording/attributes.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/method_wrapper.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/type_alias.h"
#include "capture/cpython/type_dict.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_attributes.h"
#include "capture/recording/contents.h"
#include "capture/recording/context_managers.h"
#include "capture/recording/context_variables.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/places.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/tensor_attributes.h"
#include "capture/recording/type_aliases.h"

namespace stator {

static bool read_super_attribute(Recording& recording, PyObject* super, PyObject* name);
static bool read_through(Recording& recording, PyObject* descriptor, PyObject* owner, PyObject* name);
static bool read_function_attribute(Recording& recording, PyObject* function, PyObject* name);
static bool read_method_attribute(Recording& recording, PyObject* method, PyObject* name);
static bool read_exception_attribute(Recording& recording, PyBaseExceptionObject* exception, PyObject* name);

// By object.__getattribute__, or by Python code, which is captured as it runs; C code of a class's own (that
// of threading.local, say) may look anywhere.
static bool looks_up_plainly(PyTypeObject* type) {
  if (type->tp_getattro == PyObject_GenericGetAttr) return true;
  for (const char* name : {"__getattribute__", "__getattr__"}) {
    auto key = Ref<>::steal(PyUnicode_InternFromString(name));
    PyObject* found = key ? _PyType_Lookup(type, key.get()) : nullptr;
    if (found != nullptr && PyFunction_Check(found)) return true;
  }
  return false;
}

static bool is_of_c(PyObject* descriptor) {
  return Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) || Py_IS_TYPE(descriptor, &PyMemberDescr_Type);
}

// `torch.Tensor.shape.__get__`: all that it leads to is a descriptor of a C class, which lives with that.
static bool is_descriptors_own(PyObject* object) {
  if (!cpython::is_method_wrapper(object)) return false;
  const auto self = Ref<>::steal(PyObject_GetAttrString(object, "__self__"));
  if (!self) drop_error();
  return self && is_of_c(self.get()) && !(PyDescr_TYPE(self.get())->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

// Another class may be assigned to objects of classes that are written in Python, and to modules.
static bool can_get_another_class(PyObject* object) {
  if (PyModule_Check(object)) return true;
  const unsigned long flags = Py_TYPE(object)->tp_flags;
  return flags & Py_TPFLAGS_HEAPTYPE && !(flags & Py_TPFLAGS_IMMUTABLETYPE);
}

void read_class_of(Recording& recording, PyObject* object) {
  if (is_pinned(recording, object) && can_get_another_class(object)) guard_class(recording, object);
}

// A value that was found on a class: what its own class defines makes it a descriptor or not.
static bool read_kind(Recording& recording, PyObject* value) {
  if (!can_get_another_class(value)) return true;
  if (!read_type(recording, Py_TYPE(value))) return false;
  if (!reads_freely(recording, value)) guard_class(recording, value);
  return true;
}

static void pin_classes_of(Recording& recording, PyTypeObject* type, bool in_order) {
  auto* const owner = reinterpret_cast<PyObject*>(type);
  PyObject** const field = in_order ? &type->tp_mro : &type->tp_bases;
  if (*field != nullptr && !is_fresh(recording, owner))
    read_field(recording, owner, field, in_order ? "__mro__" : "__bases__");
}

// A tuple that code keeps (`co_consts`), or makes once and keeps then (`co_varnames`).
static bool read_code_attribute(Recording& recording, PyObject* code, PyObject* name) {
  if (!is_pinned(recording, code)) return true;
  const auto value = Ref<>::steal(PyObject_GetAttr(code, name));
  if (!value) {
    drop_error();
    return true;  // raises
  }
  if (PyTuple_Check(value.get()) && Py_REFCNT(value.get()) > 1)
    pin(recording, value.get(), {Origin::attribute, code, Ref<>::share(name)});
  return true;
}

// The first read makes a dictionary, and puts it among the attributes of the class or module.
static bool makes_annotations(PyTypeObject* type, PyObject* attributes, PyObject* name) {
  if (PyUnicode_CompareWithASCIIString(name, "__annotations__") != 0) return false;
  PyObject* const on_type = _PyType_Lookup(type, name);
  return on_type != nullptr && Py_IS_TYPE(on_type, &PyGetSetDescr_Type) &&
         PyDict_GetItemWithError(attributes, name) == nullptr;
}

static bool stop_at_annotations(Recording& recording) {
  return stop(recording, BreakCode::kOutsideEffect, "annotations that the first read makes");
}

bool read_attribute(Recording& recording, PyObject* owner, PyObject* name) {
  if (PyModule_Check(owner)) {
    PyObject* dict = PyModule_GetDict(owner);
    if (!is_known(recording, owner))
      return stop(recording, BreakCode::kUnguardable, "a module of unknown origin is read");
    pin(recording, dict, {Origin::dict_of, owner, {}});
    read_class_of(recording, owner);  // a module's class may be assigned
    if (Py_TYPE(owner) != &PyModule_Type) {
      if (!read_type(recording, Py_TYPE(owner))) return false;
      PyObject* on_type = _PyType_Lookup(Py_TYPE(owner), name);
      if (on_type != nullptr && !pin_class_attribute(recording, Py_TYPE(owner), on_type, name)) return false;
    }
    if (!read_dict_item(recording, dict, name)) return false;
    if (makes_annotations(Py_TYPE(owner), dict, name)) return stop_at_annotations(recording);
    if (PyDict_GetItemWithError(dict, name) != nullptr || _PyType_Lookup(Py_TYPE(owner), name) != nullptr)
      return true;
    // A function of the module's is asked for what it lacks.
    static PyObject* const fallback = PyUnicode_InternFromString("__getattr__");
    return !PyErr_Occurred() && read_dict_item(recording, dict, fallback);
  }
  if (PyType_Check(owner)) {
    auto* type = reinterpret_cast<PyTypeObject*>(owner);
    if (!read_type(recording, type) || !read_type(recording, Py_TYPE(owner))) return false;
    if (can_get_another_class(owner)) read_class_of(recording, owner);
    if (!is_fresh(recording, owner) &&
        makes_annotations(Py_TYPE(owner), cpython::type_dict(type).get(), name))
      return !PyErr_Occurred() && stop_at_annotations(recording);
    if (PyUnicode_CompareWithASCIIString(name, "__dict__") == 0) recording.classes.give_out(type);
    PyObject* const value = _PyType_Lookup(type, name);
    PyObject* const on_metaclass = _PyType_Lookup(Py_TYPE(owner), name);
    if (on_metaclass != nullptr && !read_kind(recording, on_metaclass)) return false;
    const bool is_types_own = on_metaclass != nullptr && Py_IS_TYPE(on_metaclass, &PyGetSetDescr_Type);
    const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
    if (is_types_own && (is("__name__") || is("__qualname__")) && !read_class_names(recording, type))
      return false;
    // The same tuple until the class gets other bases.
    if (on_metaclass != nullptr && Py_TYPE(owner) == &PyType_Type && (is("__mro__") || is("__bases__")))
      pin_classes_of(recording, type, is("__mro__"));
    PyObject* const found = value != nullptr ? value : on_metaclass;
    return found == nullptr || pin_class_attribute(recording, type, found, name);
  }
  if (recording.domain.is_tensor(owner)) return read_tensor_attribute(recording, owner, name);
  if (PyCode_Check(owner)) return read_code_attribute(recording, owner, name);
  if (recording.domain.is_ragged_size(owner)) {
    return !is_pinned(recording, owner) ||
           stop(recording, BreakCode::kUnguardable, "a ragged size that existed before");
  }
  if (never_changes(recording, owner)) {
    return !Py_IS_TYPE(owner, &PyMethod_Type) || read_method_attribute(recording, owner, name);
  }
  if (is_descriptors_own(owner)) return true;
  if (PyFunction_Check(owner)) return read_function_attribute(recording, owner, name);
  if (Py_IS_TYPE(owner, &PySuper_Type)) return read_super_attribute(recording, owner, name);
  if (PyExceptionInstance_Check(owner) && is_fresh(recording, owner) &&
      !read_exception_attribute(recording, reinterpret_cast<PyBaseExceptionObject*>(owner), name))
    return false;
  if (cpython::is_type_alias(owner)) return read_alias_attribute(recording, owner, name);
  return read_instance_attribute(recording, owner, name);
}

// Of an exception that was made here: the tuple that it was called with, and what was handled when it was
// raised, which may be the caller's.
static bool read_exception_attribute(Recording& recording, PyBaseExceptionObject* exception, PyObject* name) {
  const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  PyObject* const arguments = exception->args;
  if (is("args") && arguments != nullptr && !is_pinned(recording, arguments) &&
      !is_of_call(recording, arguments))
    make_fresh(recording, arguments);
  if (!is("__context__")) return true;
  const bool is_of_run = exception->context != nullptr && is_fresh(recording, exception->context);
  return is_of_run || read_handled_exception(recording);
}

// Bound methods lead to a function and an object. What a method lacks is the function's, and so is its
// __doc__.
static bool read_method_attribute(Recording& recording, PyObject* method, PyObject* name) {
  PyObject* const function = PyMethod_GET_FUNCTION(method);
  if (is_pinned(recording, method)) {
    pin(recording, function, {Origin::attribute, method, Ref<>::steal(PyUnicode_FromString("__func__"))});
    pin(recording, PyMethod_GET_SELF(method),
        {Origin::attribute, method, Ref<>::steal(PyUnicode_FromString("__self__"))});
  }
  const bool is_methods_own = _PyType_Lookup(&PyMethod_Type, name) != nullptr &&
                              PyUnicode_CompareWithASCIIString(name, "__doc__") != 0;
  return is_methods_own || read_attribute(recording, function, name);
}

// Names of classes can be assigned to without a change of the class's version.
bool read_class_names(Recording& recording, PyTypeObject* type) {
  auto* const object = reinterpret_cast<PyObject*>(type);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE ||
      is_fresh(recording, object))
    return true;
  if (!read_type(recording, type)) return false;
  auto* const heap = reinterpret_cast<PyHeapTypeObject*>(type);
  read_field(recording, object, &heap->ht_name, "__name__");
  read_field(recording, object, &heap->ht_qualname, "__qualname__");
  return true;
}

// Attributes of functions that can be assigned to and stand in no dictionary.
static bool read_function_attribute(Recording& recording, PyObject* object, PyObject* name) {
  auto* function = reinterpret_cast<PyFunctionObject*>(object);
  if (!require_no_stand_in(recording, object)) return false;
  if (function == recording.known.proven_function)
    return stop(recording, BreakCode::kUnguardable,
                "an attribute of a function that may be made anew on every call");
  if (!entering(recording, function, nullptr)) return false;
  const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  if (is("__annotations__")) {
    // The first read may make a dictionary of what the compiler left.
    auto made = Ref<>::steal(PyObject_GetAttr(object, name));
    if (!made) return false;
    if (is_fresh(recording, object)) {
      make_fresh(recording, made.get());
    } else {
      read_field(recording, object, &function->func_annotations, "__annotations__");
    }
    return true;
  }
  if (is("__dict__") && is_fresh(recording, object)) {
    auto dict = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
    if (!dict) return false;
    make_fresh(recording, dict.get());
    return true;
  }
  if (is_fresh(recording, object)) {
    // Taken over from the globals when it was made.
    static PyObject* const name_of_module = PyUnicode_InternFromString("__name__");
    return !is("__module__") || read_dict_item(recording, function->func_globals, name_of_module);
  }
  if (is("__name__")) read_field(recording, object, &function->func_name, "__name__");
  if (is("__qualname__")) read_field(recording, object, &function->func_qualname, "__qualname__");
  if (is("__module__")) read_field(recording, object, &function->func_module, "__module__");
  if (is("__doc__")) read_field(recording, object, &function->func_doc, "__doc__");
  for (PyObject* part : {is("__closure__") ? function->func_closure : nullptr,
                         is("__defaults__") ? function->func_defaults : nullptr,
                         is("__code__") ? function->func_code : nullptr}) {
    if (part != nullptr) pin(recording, part, {Origin::attribute, object, Ref<>::share(name)});
  }
  return read_instance_attribute(recording, object, name);
}

// The descriptor of a named tuple's field.
static bool is_named_field(PyObject* descriptor) {
  static TypeInModule type("_collections", "_tuplegetter");
  return Py_TYPE(descriptor) == type.get();
}

// An attribute of an object made here is written or deleted: what its class has under that name may have code
// of its own.
bool read_setter(Recording& recording, PyObject* owner, PyObject* name) {
  if (!read_behaviour(recording, owner)) return false;
  if (recording.domain.is_tensor(owner) || PyModule_Check(owner) || PyType_Check(owner)) return true;
  PyObject* on_type = _PyType_Lookup(Py_TYPE(owner), name);
  if (on_type == nullptr) return true;
  if (!pin_class_attribute(recording, Py_TYPE(owner), on_type, name)) return false;
  return Py_TYPE(on_type)->tp_descr_set == nullptr || read_behaviour(recording, on_type);
}

// The lookup of super(): the classes behind one of them in the order of the object's class.
static bool read_super_attribute(Recording& recording, PyObject* super, PyObject* name) {
  auto after = Ref<>::steal(PyObject_GetAttrString(super, "__thisclass__"));
  auto of = Ref<>::steal(PyObject_GetAttrString(super, "__self_class__"));
  if (!after || !of) return false;
  if (!PyType_Check(of.get())) return stop(recording, BreakCode::kUnguardable, "super() without an object");
  auto object = Ref<>::steal(PyObject_GetAttrString(super, "__self__"));
  if (!object) return false;
  PyObject* owner = object.get() == of.get() ? nullptr : object.get();
  return read_attribute_behind(recording, after.get(), reinterpret_cast<PyTypeObject*>(of.get()), owner,
                               name);
}

bool read_attribute_behind(Recording& recording, PyObject* after, PyTypeObject* type, PyObject* owner,
                           PyObject* name) {
  if (!read_type(recording, type)) return false;
  bool behind = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    PyObject* base = PyTuple_GET_ITEM(type->tp_mro, i);
    PyObject* value = behind ? cpython::own_attribute(reinterpret_cast<PyTypeObject*>(base), name) : nullptr;
    if (value != nullptr) {
      if (!pin_class_attribute(recording, reinterpret_cast<PyTypeObject*>(base), value, name)) return false;
      if (owner == nullptr || !is_of_c(value)) return true;
      if (recording.domain.is_tensor(owner)) return read_tensor_attribute(recording, owner, name);
      return (is_fresh(recording, owner) || read_object(recording, owner)) &&
             read_through(recording, value, owner, name);
    }
    behind = behind || base == after;
  }
  return true;
}

// A property, or an instance of a subclass that leaves it to property how it is read.
static bool is_property(PyObject* object) {
  return PyObject_TypeCheck(object, &PyProperty_Type) &&
         Py_TYPE(object)->tp_descr_get == PyProperty_Type.tp_descr_get;
}

// The getter of a property is called with its owner: one in C is looked at like any call.
static bool before_property(Recording& recording, PyObject* property, PyObject* owner) {
  const auto getter = Ref<>::steal(PyObject_GetAttrString(property, "fget"));
  if (!getter) return false;
  return getter.get() == Py_None || PyFunction_Check(getter.get()) ||
         before_call_with(recording, getter.get(), &owner, 1);
}

// A value found on a class that is guarded, and the functions that it leads to.
bool pin_class_attribute(Recording& recording, PyTypeObject* type, PyObject* value, PyObject* name) {
  const auto owner = reinterpret_cast<PyObject*>(type);
  if (const Placed placed = stands_apart(recording, type, name, value); placed != Placed::no)
    return placed == Placed::yes;
  pin(recording, value, {Origin::attribute, owner, Ref<>::share(name)});
  if (!read_kind(recording, value)) return false;
  const auto pin_part = [&](const char* part) {
    auto function = Ref<>::steal(PyObject_GetAttrString(value, part));
    if (!function) return false;
    pin(recording, function.get(), {Origin::attribute, owner, Ref<>::share(name)});
    return true;
  };
  if (is_property(value)) {
    return read_type(recording, Py_TYPE(value)) && pin_part("fget") && pin_part("fset") && pin_part("fdel");
  }
  if (Py_IS_TYPE(value, &PyClassMethod_Type) || Py_IS_TYPE(value, &PyStaticMethod_Type))
    return pin_part("__func__");
  return true;
}

// What a descriptor of C code gives for an object whose class and place of attributes are guarded.
static bool read_through(Recording& recording, PyObject* descriptor, PyObject* owner, PyObject* name) {
  const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) && !cpython::is_reference(descriptor)) {
    if (is_fresh(recording, owner)) return true;
    const Ref<> value = read_getter(owner, descriptor);
    if (!value) return false;
    recording.guards.add(GetterGuard(owner, descriptor, value.get()), owner);
    return is_constant(value.get()) || stop(recording, BreakCode::kUnguardable, "a field of a C struct");
  }
  if (Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) {
    if (is_fresh(recording, owner) || recording.journal.wrote_slot(owner, descriptor)) return true;
    Ref<> value = read_slot(owner, descriptor);
    const bool is_place = value && !PyDict_Check(owner) && !PyList_Check(owner) &&
                          _PyType_Lookup(Py_TYPE(owner), name) == descriptor;
    const Placed placed = is_place ? see_place(recording, owner, name, value.get()) : Placed::no;
    if (placed != Placed::no) return placed == Placed::yes;
    recording.guards.add(SlotGuard{owner, descriptor, expect(value.get())}, owner);
    if (value) pin(recording, value.get(), {Origin::attribute, owner, Ref<>::share(name)});
    return true;
  }
  if (PyContextToken_CheckExact(owner) && is_fresh(recording, owner) && is("old_value"))
    return read_old_value(recording, owner);
  // __dict__ and __class__ are what the guard on the object covers.
  if (is_fresh(recording, owner) && is("__dict__")) {
    auto dict = Ref<>::steal(PyObject_GenericGetDict(owner, nullptr));
    if (!dict) return false;
    make_fresh(recording, dict.get());
  }
  if (is("__dict__") && !is_fresh(recording, owner)) {
    PyObject* const* const slot = _PyObject_GetDictPtr(owner);
    if (slot != nullptr && *slot == nullptr) return make_instance_dict(recording, owner);
  }
  if (is("__dict__") || is("__class__") || is_fresh(recording, owner) || PyFunction_Check(owner)) return true;
  return stop(recording, BreakCode::kUnguardable,
              std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a " + Py_TYPE(owner)->tp_name);
}

// staticmethod, classmethod and property take over what the function that they are made of says of itself.
static bool read_taken_over(Recording& recording, PyObject* wrapper, PyObject* name) {
  const bool is_property = Py_IS_TYPE(wrapper, &PyProperty_Type);
  if (!is_property && !Py_IS_TYPE(wrapper, &PyStaticMethod_Type) && !Py_IS_TYPE(wrapper, &PyClassMethod_Type))
    return true;
  const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(name, text) == 0; };
  const auto function = Ref<>::steal(PyObject_GetAttrString(wrapper, is_property ? "fget" : "__func__"));
  if (!function) return false;
  if (function.get() == Py_None) return true;
  for (const char* taken : {"__name__", "__qualname__", "__module__", "__doc__"}) {
    const auto key = Ref<>::steal(PyUnicode_InternFromString(taken));
    if (!key) return false;
    if ((is(taken) || is("__dict__")) && !read_attribute(recording, function.get(), key.get())) return false;
  }
  return true;
}

// The lookup of object.__getattribute__, each step guarded. Class attributes are covered by the version of
// the class.
bool read_instance_attribute(Recording& recording, PyObject* owner, PyObject* name) {
  PyTypeObject* type = Py_TYPE(owner);
  if (!read_object(recording, owner)) return false;
  if (!looks_up_plainly(type)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a " + type->tp_name);
  }
  if (is_fresh(recording, owner) && !read_taken_over(recording, owner, name)) return false;
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type != nullptr) {
    if (!pin_class_attribute(recording, type, on_type, name)) return false;
    if (is_property(on_type)) return before_property(recording, on_type, owner);
    if (is_of_c(on_type)) return read_through(recording, on_type, owner, name);
    // The fields of named tuples.
    if (PyTuple_Check(owner) && !pin_items(recording, owner)) return false;
    // A descriptor of the program's: its code is captured. One in C may look anywhere.
    if (Py_TYPE(on_type)->tp_descr_set != nullptr) {
      return is_fresh(recording, owner) || cpython::is_python_class(Py_TYPE(on_type)) ||
             is_named_field(on_type) ||
             stop(recording, BreakCode::kUnguardable,
                  std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a " + type->tp_name);
    }
  }
  if (is_fresh(recording, owner)) return true;
  PyObject** slot = _PyObject_GetDictPtr(owner);
  if (slot == nullptr || *slot == nullptr) return true;
  return read_dict_item(recording, *slot, name);
}

}  // namespace stator
