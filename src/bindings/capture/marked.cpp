// bindings/capture/marked.cpp: a callable that stands for another one and carries what the user said about
// it.
#include "bindings/capture/marked.h"

#include <structmember.h>

#include <cstddef>

#include "bindings/capture/identity.h"
#include "bindings/capture/stance.h"
#include "capture/cpython/ref.h"
#include "capture/hook/engine.h"
#include "capture/marks/mark.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/marked_calls.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

struct MarkedObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weak_references;
  Mark mark;
};

MarkedObject* marked(PyObject* object) { return reinterpret_cast<MarkedObject*>(object); }

PyObject* call(PyObject* object, PyObject* const* arguments, size_t flags, PyObject* keywords) {
  PyObject* function = marked(object)->function;
  if (Recording* recording = thread_context.recording) {
    if (marked(object)->mark == Mark::constant)
      return constant_result(*recording, function, arguments, flags, keywords);
    if (marked(object)->mark == Mark::opaque)
      return opaque_result(*recording, function, arguments, flags, keywords);
    stop(*recording, BreakCode::kDisabled);  // called by C code: a call by an instruction has stopped before
    return nullptr;
  }
  if (marked(object)->mark != Mark::disabled)
    return PyObject_Vectorcall(function, arguments, flags, keywords);
  const StanceScope eager(Stance::force_eager);
  return PyObject_Vectorcall(function, arguments, flags, keywords);
}

PyObject* bind(PyObject* self, PyObject* owner, PyObject*) {
  return owner == nullptr || owner == Py_None ? Py_NewRef(self) : PyMethod_New(self, owner);
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(marked(object)->function);
  Py_VISIT(marked(object)->dict);
  return 0;
}

int clear(PyObject* object) {
  Py_CLEAR(marked(object)->function);
  Py_CLEAR(marked(object)->dict);
  return 0;
}

void deallocate(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (marked(object)->weak_references != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  type->tp_free(object);
  Py_DECREF(type);
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
  if (!PyCallable_Check(function))
    return PyErr_Format(PyExc_TypeError, "stator: a callable is needed, not %.200s",
                        Py_TYPE(function)->tp_name);
  auto object = Ref<>::steal(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  marked(object.get())->vectorcall = &call;
  marked(object.get())->function = Py_NewRef(function);
  marked(object.get())->mark = mark;
  return copy_identity(object.get(), function) ? object.release() : nullptr;
}

PyObject* mark_in_place(PyObject*, PyObject* arguments) {
  PyObject* function;
  const char* text;
  if (!PyArg_ParseTuple(arguments, "O!s:mark_function", &PyFunction_Type, &function, &text)) return nullptr;
  const Mark mark = mark_from_name(text);
  if (mark != Mark::constant && mark != Mark::opaque)
    return PyErr_Format(PyExc_ValueError, "no mark of functions: %s", text);
  return mark_function(function, mark) ? Py_NewRef(function) : nullptr;
}

PyMethodDef functions[] = {
    {"mark_function", mark_in_place, METH_VARARGS,
     "mark_function(fn, mark)\n--\n\nMarks a Python function in place and returns it."},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(MarkedObject, function), READONLY, "The callable that is marked."},
    {"__dictoffset__", T_PYSSIZET, offsetof(MarkedObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(MarkedObject, weak_references), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(MarkedObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};
PyType_Spec spec = {"stator._capture.Marked", sizeof(MarkedObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};

}  // namespace

bool add_marked(PyObject* module) {
  auto type = Ref<>::steal(PyType_FromSpec(&spec));
  if (!type || PyModule_AddObjectRef(module, "Marked", type.get()) < 0 ||
      PyModule_AddFunctions(module, functions) < 0)
    return false;
  recognise_mark(reinterpret_cast<PyTypeObject*>(type.get()), [](PyObject* object) {
    return Marked{marked(object)->mark, marked(object)->function};
  });
  return true;
}

}  // namespace stator
