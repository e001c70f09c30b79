// bindings/capture/marked.cpp: a callable that stands for another one and carries what the user said about
// it.
#include "bindings/capture/marked.h"

#include <utility>

#include "bindings/capture/function_wrapper.h"
#include "bindings/capture/stance.h"
#include "capture/cpython/ref.h"
#include "capture/engine/engine.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/late_calls.h"
#include "capture/recording/mark.h"
#include "capture/recording/marked_calls.h"
#include "capture/recording/recording.h"
#include "capture/recording/substitutes.h"

namespace stator {
namespace {

struct MarkedObject : FunctionWrapper {
  Mark mark;
};

MarkedObject* marked(PyObject* object) { return reinterpret_cast<MarkedObject*>(object); }

PyObject* call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  PyObject* function = marked(object)->function;
  // What the domain runs by itself is no part of the program.
  if (Recording* recording = thread_context.recording; recording && !recording->capture.runs_own_code()) {
    if (marked(object)->mark == Mark::constant)
      return constant_result(*recording, function, arguments, flags, keywords);
    if (marked(object)->mark == Mark::opaque)
      return opaque_result(*recording, function, arguments, flags, keywords);
    stop(*recording, BreakCode::kDisabled);  // called by C code: a call by an instruction has stopped before
    return nullptr;
  }
  if (marked(object)->mark == Mark::skipped && thread_context.callees() != nullptr) {
    const bool outer = std::exchange(thread_context.own_frame, true);
    PyObject* result = PyObject_Vectorcall(function, arguments, flags, keywords);
    thread_context.own_frame = outer;
    return result;
  }
  if (marked(object)->mark != Mark::disabled)
    return PyObject_Vectorcall(function, arguments, flags, keywords);
  const StanceScope eager(Stance::force_eager);
  return PyObject_Vectorcall(function, arguments, flags, keywords);
}

PyObject* make(PyTypeObject* type, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"fn", "mark", nullptr};
  PyObject* function;
  const char* text;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "Os:Marked", const_cast<char**>(names), &function,
                                   &text))
    return nullptr;
  const Mark mark = mark_from_name(text);
  if (mark == Mark::none) return PyErr_Format(PyExc_ValueError, "no such mark: %s", text);
  Ref<> object = wrap_function(type, function, &call, "stator");
  if (object) marked(object.get())->mark = mark;
  return object.release();
}

PyObject* get_mark(PyObject* object, void*) { return PyUnicode_FromString(name(marked(object)->mark)); }

PyObject* mark_in_place(PyObject*, PyObject* arguments) {
  PyObject* function;
  const char* text;
  if (!PyArg_ParseTuple(arguments, "O!s:mark_function", &PyFunction_Type, &function, &text)) return nullptr;
  const Mark mark = mark_from_name(text);
  if (mark != Mark::constant && mark != Mark::opaque && mark != Mark::skipped)
    return PyErr_Format(PyExc_ValueError, "no mark of functions: %s", text);
  return mark_function(function, mark) ? Py_NewRef(function) : nullptr;
}

PyObject* substitute_function(PyObject*, PyObject* arguments) {
  PyObject *original, *function, *type = Py_None;
  if (!PyArg_ParseTuple(arguments, "OO!|O:substitute", &original, &PyFunction_Type, &function, &type))
    return nullptr;
  if (type == Py_None) {
    substitute(original, function);
  } else if (PyType_Check(type)) {
    substitute_for(original, type, function);
  } else {
    return PyErr_Format(PyExc_TypeError, "a class is needed, not %R", type);
  }
  Py_RETURN_NONE;
}

PyObject* take_back(PyObject*, PyObject* original) {
  forget_substitute(original);
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"substitute", substitute_function, METH_VARARGS,
     "substitute(original, fn, type=None)\n--\n\nCaptures call the Python function `fn` where `original` is "
     "called; with `type`, where an argument is exactly of that class."},
    {"forget_substitute", take_back, METH_O,
     "forget_substitute(original)\n--\n\nTakes back what `substitute` said of it."},
    {"mark_function", mark_in_place, METH_VARARGS,
     "mark_function(fn, mark)\n--\n\nMarks a Python function in place and returns it."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {STATOR_WRAPPER_OFFSETS, {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {{"mark", get_mark, nullptr, "What was said about the callable.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse_wrapper)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_wrapper)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(free_wrapper)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"stator._capture.Marked", sizeof(MarkedObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

bool add_marked(PyObject* module) {
  auto type = Ref<>::steal(derived_wrapper(&spec));
  if (!type || PyModule_AddObjectRef(module, "Marked", type.get()) < 0 ||
      PyModule_AddFunctions(module, functions) < 0 || !add_late_calls(module))
    return false;
  recognise_mark(reinterpret_cast<PyTypeObject*>(type.get()), [](PyObject* object) {
    return Marked{marked(object)->mark, marked(object)->function};
  });
  return true;
}

}  // namespace stator
