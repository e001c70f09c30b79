// bindings/capture/function_wrapper.cpp: what the callables of ours that wrap another one have in common.
#include "bindings/capture/function_wrapper.h"

#include <cstring>
#include <utility>

#include "capture/cpython/interrupts.h"

namespace stator {
namespace {

PyObject* wrapper_type = nullptr;  // kept for the life of the process

FunctionWrapper* wrapper(PyObject* object) { return reinterpret_cast<FunctionWrapper*>(object); }

// nullptr without an error: the object has no such attribute.
Ref<> attribute(PyObject* object, const char* name) {
  auto value = Ref<>::steal(PyObject_GetAttrString(object, name));
  if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) drop_error();
  return value;
}

// As functools.update_wrapper does it. Attributes of other callables than functions are looked up in these,
// where they may change (stator/api/function_like.py).
bool copy_identity(PyObject* to, PyObject* from) {
  const auto dict = Ref<>::steal(PyObject_GenericGetDict(to, nullptr));
  if (!dict) return false;
  if (PyFunction_Check(from)) {
    const Ref<> own = attribute(from, "__dict__");
    if (!own || PyDict_Update(dict.get(), own.get()) < 0) return false;
    // Of a function that wraps another one.
    if (PyDict_DelItemString(dict.get(), "__wrapped__") < 0) drop_error();
  }
  for (const char* name :
       {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__", "__type_params__"}) {
    const Ref<> value = attribute(from, name);
    if (PyErr_Occurred() || (value && PyDict_SetItemString(dict.get(), name, value.get()) < 0)) return false;
  }
  return true;
}

// As a class attribute it behaves as the wrapped callable would: functions are bound, partials and callable
// objects are not.
PyObject* bind(PyObject* self, PyObject* owner, PyObject*) {
  PyObject* const function = wrapper(self)->function;
  const bool binds = Py_TYPE(function)->tp_descr_get != nullptr && !PyMethod_Check(function);
  return owner == nullptr || owner == Py_None || !binds ? Py_NewRef(self) : PyMethod_New(self, owner);
}

PyObject* represent(PyObject* self) {
  const char* type = Py_TYPE(self)->tp_name;
  const char* dot = std::strrchr(type, '.');
  const auto name = Ref<>::steal(PyUnicode_FromString(dot != nullptr ? dot + 1 : type));
  const auto lower = Ref<>::steal(name ? PyObject_CallMethod(name.get(), "lower", nullptr) : nullptr);
  return lower ? PyUnicode_FromFormat("<%U %R>", lower.get(), wrapper(self)->function) : nullptr;
}

// Python's own kinds of functions and methods.
bool is_function_or_method(PyObject* object) {
  return PyFunction_Check(object) || PyMethod_Check(object) || PyCFunction_Check(object) ||
         Py_IS_TYPE(object, &PyMethodDescr_Type) || Py_IS_TYPE(object, &PyWrapperDescr_Type) ||
         Py_IS_TYPE(object, &_PyMethodWrapper_Type);
}

// Around those, a wrapper answers isinstance, and so inspect.isfunction and its kin, as what it wraps.
PyObject* get_class(PyObject* self, void*) {
  PyObject* const function = wrapper(self)->function;
  const bool as_wrapped = function != nullptr && is_function_or_method(function);
  return Py_NewRef(reinterpret_cast<PyObject*>(as_wrapped ? Py_TYPE(function) : Py_TYPE(self)));
}

PyMemberDef members[] = {
    {"wrapped_function", T_OBJECT, offsetof(FunctionWrapper, function), READONLY, "The callable behind it."},
    STATOR_WRAPPER_OFFSETS,
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {"__class__", get_class, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse_wrapper)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_wrapper)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(free_wrapper)},
                       {Py_tp_repr, reinterpret_cast<void*>(represent)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"stator._capture.Wrapper", sizeof(FunctionWrapper), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};

}  // namespace

Ref<> wrap_function(PyTypeObject* type, PyObject* function, vectorcallfunc call, const char* user) {
  if (!PyCallable_Check(function)) {
    PyErr_Format(PyExc_TypeError, "%s: a callable is needed, not %.200s", user, Py_TYPE(function)->tp_name);
    return {};
  }
  auto object = Ref<>::steal(type->tp_alloc(type, 0));
  if (!object) return {};
  wrapper(object.get())->vectorcall = call;
  wrapper(object.get())->function = Py_NewRef(function);
  return copy_identity(object.get(), function) ? std::move(object) : Ref<>();
}

int traverse_wrapper(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(wrapper(object)->function);
  Py_VISIT(wrapper(object)->dict);
  return 0;
}

int clear_wrapper(PyObject* object) {
  renounce(wrapper(object)->function);
  Py_CLEAR(wrapper(object)->dict);
  return 0;
}

void free_wrapper(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (wrapper(object)->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  Py_CLEAR(wrapper(object)->function);
  type->tp_clear(object);
  type->tp_free(object);
  Py_DECREF(type);
}

bool add_function_wrapper(PyObject* module) {
  wrapper_type = PyType_FromSpec(&spec);
  return wrapper_type != nullptr && PyModule_AddObjectRef(module, "Wrapper", wrapper_type) == 0;
}

PyObject* derived_wrapper(PyType_Spec* spec) { return PyType_FromSpecWithBases(spec, wrapper_type); }

}  // namespace stator
