// bindings/capture/interpreted.cpp: a callable that runs another one with every Python frame below it
// interpreted.
#include "bindings/capture/interpreted.h"

#include <structmember.h>

#include <cstddef>

#include "bindings/capture/identity.h"
#include "capture/cpython/ref.h"
#include "capture/hook/engine.h"
#include "capture/hook/other_engine.h"

namespace stator {
namespace {

struct Interpreted {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weak_references;
  int instruction_limit;
};

// Puts the thread into interpreting mode for one call.
class InterpretScope {
 public:
  explicit InterpretScope(int instruction_limit)
      : context_(thread_context),
        mode_(context_.change_mode(Mode::interpret)),
        limit_(context_.instruction_limit) {
    context_.instruction_limit = instruction_limit;
    Engine::get().acquire_hook();
  }
  ~InterpretScope() {
    Engine::get().release_hook();
    context_.change_mode(mode_);
    context_.instruction_limit = limit_;
  }
  InterpretScope(const InterpretScope&) = delete;
  InterpretScope& operator=(const InterpretScope&) = delete;

 private:
  ThreadContext& context_;
  Mode mode_;
  int limit_;
  OtherEnginePause other_engine_off_;
};

PyObject* call(PyObject* self, PyObject* const* arguments, size_t count, PyObject* keywords) {
  auto* interpreted = reinterpret_cast<Interpreted*>(self);
  InterpretScope scope(interpreted->instruction_limit);
  // Called plainly, a Python function would need no native activation of its own.
  PyThreadState* const thread = PyThreadState_Get();
  const bool python = PyFunction_Check(interpreted->function);
  if (python) cpython::leave_native(thread);
  PyObject* const result = PyObject_Vectorcall(interpreted->function, arguments, count, keywords);
  if (python) cpython::enter_native(thread);
  return result;
}

PyObject* bind(PyObject* self, PyObject* owner, PyObject*) {
  return owner == nullptr || owner == Py_None ? Py_NewRef(self) : PyMethod_New(self, owner);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  auto* interpreted = reinterpret_cast<Interpreted*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(interpreted->function);
  Py_VISIT(interpreted->dict);
  return 0;
}

int clear(PyObject* self) {
  auto* interpreted = reinterpret_cast<Interpreted*>(self);
  Py_CLEAR(interpreted->function);
  Py_CLEAR(interpreted->dict);
  return 0;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<Interpreted*>(self)->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<interpreted %R>", reinterpret_cast<Interpreted*>(self)->function);
}

PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Interpreted, function), READONLY, "The callable that is interpreted."},
    {"__dictoffset__", T_PYSSIZET, offsetof(Interpreted, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Interpreted, weak_references), READONLY, nullptr},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Interpreted, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef properties[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                       {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                       {Py_tp_repr, reinterpret_cast<void*>(represent)},
                       {Py_tp_members, members},
                       {Py_tp_getset, properties},
                       {0, nullptr}};

PyType_Spec spec = {
    "stator._capture.Interpreted", sizeof(Interpreted), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    slots};

PyObject* interpreted_type = nullptr;  // kept for the life of the process

PyObject* interpret_function(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"fn", "instructions", nullptr};
  PyObject* function;
  int limit = -1;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|i:interpret", const_cast<char**>(names), &function,
                                   &limit)) {
    return nullptr;
  }
  if (!PyCallable_Check(function)) {
    PyErr_Format(PyExc_TypeError, "stator.interpret: a callable is needed, not %.200s",
                 Py_TYPE(function)->tp_name);
    return nullptr;
  }
  auto* type = reinterpret_cast<PyTypeObject*>(interpreted_type);
  auto object = Ref<>::steal(type->tp_alloc(type, 0));
  if (!object) return nullptr;
  auto* interpreted = reinterpret_cast<Interpreted*>(object.get());
  interpreted->vectorcall = &call;
  interpreted->function = Py_NewRef(function);
  interpreted->instruction_limit = limit;
  return copy_identity(object.get(), function) ? object.release() : nullptr;
}

PyMethodDef functions[] = {
    {"interpret", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(interpret_function)),
     METH_VARARGS | METH_KEYWORDS,
     "interpret(fn, instructions=-1)\n--\n\nA callable that runs fn with every Python frame below it "
     "interpreted by Stator."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_interpreted(PyObject* module) {
  interpreted_type = PyType_FromSpec(&spec);
  return interpreted_type != nullptr && PyModule_AddObjectRef(module, "Interpreted", interpreted_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace stator
