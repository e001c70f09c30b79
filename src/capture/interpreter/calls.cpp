// capture/interpreter/calls.cpp: binding by CPython itself: its vectorcall builds the frame, the hook keeps
// it.
//
// Functions of plain positional parameters are bound here directly. Everything else goes through the
// function's own vectorcall with a Binding set, so that defaults, keyword-only parameters, *args, **kwargs
// and every TypeError are CPython's.
#include "capture/interpreter/calls.h"

#include <new>
#include <vector>

#include "capture/cpython/exported.h"
#include "capture/cpython/ref.h"
#include "capture/cpython/traits.h"
#include "capture/engine/engine.h"
#include "capture/engine/other_engine.h"
#include "capture/interpreter/interpreter.h"

namespace stator {
namespace {

using cpython::Frame;

vectorcallfunc python_vectorcall() {
  static const vectorcallfunc function = [] {
    auto globals = Ref<>::steal(PyDict_New());
    auto code = Ref<>::steal(reinterpret_cast<PyObject*>(PyCode_NewEmpty("stator", "probe", 1)));
    auto probe = Ref<>::steal(PyFunction_New(code.get(), globals.get()));
    return reinterpret_cast<PyFunctionObject*>(probe.get())->vectorcall;
  }();
  return function;
}

// False with MemoryError set.
bool make_room(std::vector<PyObject*>& values, Py_ssize_t count) {
  try {
    values.reserve(static_cast<size_t>(count));
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
    return false;
  }
  return true;
}

// Positional arguments, and defaults for those missing at the end. nullptr: not so simple.
Frame* bind_positional(PyThreadState* thread, PyFunctionObject* function, PyCodeObject* code,
                       PyObject* const* arguments, Py_ssize_t count) {
  const Py_ssize_t missing = code->co_argcount - count;
  Py_ssize_t first_default = 0;
  if (missing != 0) {
    if (missing < 0 || function->func_defaults == nullptr) return nullptr;
    first_default = PyTuple_GET_SIZE(function->func_defaults) - missing;
    if (first_default < 0) return nullptr;
  }
  Frame* frame = cpython::reserve(thread, code);
  if (frame == nullptr) return nullptr;
  Py_INCREF(function);
  cpython::initialise(frame, function, code, code->co_argcount);
  for (Py_ssize_t i = 0; i < count; i++) frame->localsplus[i] = Py_NewRef(arguments[i]);
  for (Py_ssize_t i = 0; i < missing; i++) {
    frame->localsplus[count + i] = Py_NewRef(PyTuple_GET_ITEM(function->func_defaults, first_default + i));
  }
  return frame;
}

}  // namespace

bool is_python_function(PyObject* callable) {
  return PyFunction_Check(callable) &&
         reinterpret_cast<PyFunctionObject*>(callable)->vectorcall == python_vectorcall();
}

PyFunctionObject* called_method(PyObject* callable) {
  static PyObject* const name = PyUnicode_InternFromString("__call__");
  PyTypeObject* const type = Py_TYPE(callable);
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_call == nullptr) return nullptr;
  PyObject* const method = _PyType_Lookup(type, name);
  return method != nullptr && is_python_function(method) ? reinterpret_cast<PyFunctionObject*>(method)
                                                         : nullptr;
}

bool only_positional(const PyCodeObject* code) {
  return (code->co_flags & (CO_VARARGS | CO_VARKEYWORDS | CO_OPTIMIZED)) == CO_OPTIMIZED &&
         code->co_kwonlyargcount == 0;
}

PyObject* keep_bound_frame(Binding& binding, Frame* frame) noexcept {
  if constexpr (cpython::kEvaluatorClearsFrame) {
    binding.frame = frame;
  } else {
    // CPython clears and pops this frame when we return, so its contents move to the place that it will leave
    // free: the top of the stack. They wait in the binding's buffer, which has room for them, until then.
    binding.locals.assign(frame->localsplus, frame->localsplus + frame->stacktop);
    for (int i = 0; i < frame->stacktop; i++) frame->localsplus[i] = nullptr;
    frame->stacktop = 0;
    binding.name_space = std::exchange(frame->locals, nullptr);
    binding.frame = frame;
  }
  return nullptr;
}

PushedCall push_call(PyThreadState* thread, PyFunctionObject* function, PyObject* const* arguments,
                     Py_ssize_t count, PyObject* keywords) {
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  if (other_engine_takes_frames()) return {nullptr, true};
  if (keywords == nullptr && only_positional(code)) {
    if (Frame* frame = bind_positional(thread, function, code, arguments, count)) return {frame, false};
  }
  if (!Engine::get().hook_installed()) return {nullptr, true};
  if constexpr (!cpython::kEvaluatorClearsFrame) {
    const int words = cpython::frame_words(code);
    if (thread->datastack_top == nullptr || words >= thread->datastack_limit - thread->datastack_top)
      return {nullptr, true};
  }
  Binding binding{reinterpret_cast<PyObject*>(function), nullptr, {}, nullptr};
  if (!cpython::kEvaluatorClearsFrame && !make_room(binding.locals, code->co_nlocalsplus)) return {};
  Binding* outer = std::exchange(thread_context.binding, &binding);
  auto code_kept = Ref<PyCodeObject>::share(code);
  PyObject* result = function->vectorcall(reinterpret_cast<PyObject*>(function), arguments,
                                          static_cast<size_t>(count), keywords);
  thread_context.binding = outer;
  if (binding.frame == nullptr) {
    Py_XDECREF(result);  // never a result: a binding that fails has raised
    return {nullptr, false};
  }
  if constexpr (!cpython::kEvaluatorClearsFrame) {
    Frame* frame = cpython::reserve(thread, code);  // there was room for it before, and it was popped
    Py_INCREF(function);
    const int bound = static_cast<int>(binding.locals.size());
    cpython::initialise(frame, function, code, bound);
    for (int i = 0; i < bound; i++) frame->localsplus[i] = binding.locals[static_cast<size_t>(i)];
    frame->locals = binding.name_space;
    return {frame, false};
  }
  return {binding.frame, false};
}

PushedCall push_call(PyThreadState* thread, PyFunctionObject* function, PyObject* arguments,
                     PyObject* keywords) {
  const Py_ssize_t count = PyTuple_GET_SIZE(arguments);
  PyObject* const* items = reinterpret_cast<PyTupleObject*>(arguments)->ob_item;
  if (keywords == nullptr || PyDict_GET_SIZE(keywords) == 0)
    return push_call(thread, function, items, count, nullptr);
  std::vector<PyObject*> values;
  if (!make_room(values, count + PyDict_GET_SIZE(keywords))) return {};
  values.assign(items, items + count);
  auto names = Ref<>::steal(PyTuple_New(PyDict_GET_SIZE(keywords)));
  if (!names) return {};
  PyObject *key, *value;
  Py_ssize_t position = 0, index = 0;
  while (PyDict_Next(keywords, &position, &key, &value)) {
    if (!PyUnicode_Check(key)) {
      PyErr_SetString(PyExc_TypeError, "keywords must be strings");
      return {};
    }
    PyTuple_SET_ITEM(names.get(), index++, Py_NewRef(key));
    values.push_back(value);
  }
  return push_call(thread, function, values.data(), count, names.get());
}

bool is_resumed_here(PyThreadState* thread, PyObject* receiver) {
  if (!cpython::is_resumable(receiver) || cpython::python_recursion(thread) <= 0) return false;
  Frame* const frame = cpython::generator_frame(receiver);
  CodeState* const state = Engine::get().code_state(frame->code);
  return state != nullptr && !state->skip && decoded(*state, frame->code) != nullptr &&
         !cpython::tracing(thread, frame);
}

}  // namespace stator
