// bindings/capture/interpreted.cpp: a callable that runs another one with every Python frame below it
// interpreted.
#include "bindings/capture/interpreted.h"

#include "bindings/capture/function_wrapper.h"
#include "capture/cpython/ref.h"
#include "capture/engine/engine.h"
#include "capture/engine/other_engine.h"

namespace stator {
namespace {

struct Interpreted : FunctionWrapper {
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

PyObject* get_instructions(PyObject* object, void*) {
  return PyLong_FromLong(reinterpret_cast<Interpreted*>(object)->instruction_limit);
}

PyMemberDef members[] = {STATOR_WRAPPER_OFFSETS, {nullptr, 0, 0, 0, nullptr}};
PyGetSetDef properties[] = {
    {"instructions", get_instructions, nullptr, "Interpreted of each frame; negative: all.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_wrapper)},
                       {Py_tp_clear, reinterpret_cast<void*>(clear_wrapper)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(free_wrapper)},
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
  auto* type = reinterpret_cast<PyTypeObject*>(interpreted_type);
  Ref<> object = wrap_function(type, function, &call, "stator.interpret");
  if (object) reinterpret_cast<Interpreted*>(object.get())->instruction_limit = limit;
  return object.release();
}

PyMethodDef functions[] = {
    {"interpret", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(interpret_function)),
     METH_VARARGS | METH_KEYWORDS,
     "interpret(fn, instructions=-1)\n--\n\nA callable that runs fn with every Python frame below it "
     "interpreted by Stator."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_interpreted(PyObject* module) {
  interpreted_type = derived_wrapper(&spec);
  return interpreted_type != nullptr && PyModule_AddObjectRef(module, "Interpreted", interpreted_type) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace stator
