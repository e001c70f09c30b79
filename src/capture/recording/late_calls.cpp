// capture/recording/late_calls.cpp: the slot that holds the late calls of a capture.
#include "capture/recording/late_calls.h"

#include "capture/cpython/exported.h"
#include "capture/engine/engine.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

struct LateCalls {
  PyObject_HEAD PyObject*
      calls;  // a list of tuples (function, *arguments), while a capture asks for them; else None
};

PyObject* the_calls = nullptr;   // of all captures: one is made at a time
PyObject* descriptor = nullptr;  // of its slot

LateCalls* late(PyObject* object) { return reinterpret_cast<LateCalls*>(object); }

PyObject* get_calls(PyObject* object, void*) { return Py_NewRef(late(object)->calls); }

bool make_call(PyObject* call) {
  PyObject* const* items = reinterpret_cast<PyTupleObject*>(call)->ob_item;
  const auto count = static_cast<size_t>(PyTuple_GET_SIZE(call));
  return static_cast<bool>(Ref<>::steal(PyObject_Vectorcall(items[0], items + 1, count - 1, nullptr)));
}

// A list is written by a run, None where a capture takes back what it has asked for.
int set_calls(PyObject* object, PyObject* value, void*) {
  if (value == nullptr || !PyList_CheckExact(value)) {
    Py_SETREF(late(object)->calls, Py_NewRef(Py_None));
    return 0;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++) {
    if (!make_call(PyList_GET_ITEM(value, i))) return -1;
  }
  return 0;
}

// In captured code before_late_call has done what is to be done.
PyObject* call_later(PyObject*, PyObject* arguments) {
  if (thread_context.recording != nullptr) Py_RETURN_NONE;
  if (PyTuple_GET_SIZE(arguments) == 0) {
    PyErr_SetString(PyExc_TypeError, "call_later: a function is needed");
    return nullptr;
  }
  return make_call(arguments) ? Py_NewRef(Py_None) : nullptr;
}

PyMethodDef function = {"call_later", call_later, METH_VARARGS,
                        "call_later(function, *arguments)\n--\n\n"
                        "Has every run of a capture make this call, when its graph has run."};

PyGetSetDef properties[] = {{"calls", get_calls, set_calls, "What a capture has asked for.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_getset, properties}, {0, nullptr}};
PyType_Spec spec = {"stator._capture.LateCalls", sizeof(LateCalls), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

bool add_late_calls(PyObject* module) {
  auto type = Ref<>::steal(PyType_FromSpec(&spec));
  const auto name = Ref<>::steal(PyUnicode_InternFromString("calls"));
  if (!type || !name) return false;
  auto* const made = reinterpret_cast<PyTypeObject*>(type.get());
  the_calls = made->tp_alloc(made, 0);
  if (the_calls == nullptr) return false;
  late(the_calls)->calls = Py_NewRef(Py_None);
  descriptor = Py_XNewRef(_PyType_Lookup(made, name.get()));
  const auto call = Ref<>::steal(PyCFunction_New(&function, nullptr));
  return call && PyModule_AddObjectRef(module, function.ml_name, call.get()) == 0;
}

bool is_late_call(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &function;
}

bool before_late_call(Recording& recording, PyObject* const* arguments, Py_ssize_t count) {
  if (count == 0 || recording.following != 0)
    return stop(recording, BreakCode::kOutsideEffect, "a late call in a forward");
  if (!recording.journal.wrote_slot(the_calls, descriptor)) {
    pin(recording, the_calls, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("late calls"))});
    if (!note_slot(recording, the_calls, descriptor)) return false;
    auto list = Ref<>::steal(PyList_New(0));
    if (!list) return false;
    make_fresh(recording, list.get());
    Py_SETREF(late(the_calls)->calls, list.release());
  } else if (!note_slot(recording, the_calls, descriptor)) {  // one more write
    return false;
  }
  auto call = Ref<>::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; call && i < count; i++) PyTuple_SET_ITEM(call.get(), i, Py_NewRef(arguments[i]));
  if (!call) return false;
  make_fresh(recording, call.get());
  return PyList_Append(late(the_calls)->calls, call.get()) == 0;
}

}  // namespace stator
