// capture/interpreter/statements.cpp: the out-of-line work of imports, `with` and the intrinsic functions.
#include "capture/interpreter/statements.h"

#include "capture/bytecode/arguments.h"
#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"
#include "capture/interpreter/gadget.h"
#include "capture/interpreter/names.h"

namespace stator {

using cpython::Frame;

PyObject* import_name(Frame* frame, PyObject* name, PyObject* from_list, PyObject* level) {
  auto import = Ref<>::steal(load_import(frame));
  if (!import) return nullptr;
  PyObject* locals = frame->locals != nullptr ? frame->locals : Py_None;
  PyObject* arguments[] = {name, frame->globals, locals, from_list, level};
  return PyObject_Vectorcall(import.get(), arguments, 5, nullptr);
}

PyObject* import_from(PyThreadState* thread, PyObject* module, PyObject* name) {
  if (PyObject* value = PyObject_GetAttr(module, name)) return value;
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
  // Circular imports, and errors that tell what is wrong with the module: CPython's own words.
  drop_error();
  return execute_with_name(thread, Opcode::IMPORT_FROM, name, module);
}

bool import_star(PyThreadState* thread, Frame* frame, PyObject* module) {
  if (frame->locals == nullptr) {
    PyErr_SetString(PyExc_SystemError, "no locals found during 'import *'");
    return false;
  }
  return execute_import_star(thread, frame, module);
}

bool enter_context(PyObject* manager, PyObject** exit, PyObject** entered) {
  static PyObject* const enter_name = PyUnicode_InternFromString("__enter__");
  static PyObject* const exit_name = PyUnicode_InternFromString("__exit__");
  auto enter = Ref<>::steal(_PyObject_LookupSpecial(manager, enter_name));
  if (!enter) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError, "'%.200s' object does not support the context manager protocol",
                   Py_TYPE(manager)->tp_name);
    }
    return false;
  }
  auto leave = Ref<>::steal(_PyObject_LookupSpecial(manager, exit_name));
  if (!leave) {
    if (!PyErr_Occurred()) {
      PyErr_Format(PyExc_TypeError,
                   "'%.200s' object does not support the context manager protocol (missed __exit__ method)",
                   Py_TYPE(manager)->tp_name);
    }
    return false;
  }
  *entered = PyObject_CallNoArgs(enter.get());
  if (*entered == nullptr) return false;
  *exit = leave.release();
  return true;
}

namespace {

// A StopIteration that leaves a generator becomes a RuntimeError that names the kind of generator.
PyObject* stop_iteration_error(Frame* frame, PyObject* exception) {
  const int flags = frame->code->co_flags;
  const char* message = nullptr;
  if (PyErr_GivenExceptionMatches(exception, PyExc_StopIteration)) {
    message = flags & CO_ASYNC_GENERATOR ? "async generator raised StopIteration"
              : flags & CO_COROUTINE     ? "coroutine raised StopIteration"
                                         : "generator raised StopIteration";
  } else if (flags & CO_ASYNC_GENERATOR && PyErr_GivenExceptionMatches(exception, PyExc_StopAsyncIteration)) {
    message = "async generator raised StopAsyncIteration";
  }
  if (message == nullptr) return Py_NewRef(exception);
  auto error = Ref<>::steal(PyObject_CallFunction(PyExc_RuntimeError, "s", message));
  if (!error) return nullptr;
  PyException_SetCause(error.get(), Py_NewRef(exception));
  PyException_SetContext(error.get(), Py_NewRef(exception));
  return error.release();
}

}  // namespace

PyObject* call_intrinsic(PyThreadState* thread, Frame* frame, int which, PyObject* value) {
  switch (static_cast<Intrinsic>(which)) {
    case Intrinsic::import_star:
      return import_star(thread, frame, value) ? Py_NewRef(Py_None) : nullptr;
    case Intrinsic::stop_iteration_error:
      return stop_iteration_error(frame, value);
    case Intrinsic::unary_positive:
      return PyNumber_Positive(value);
    case Intrinsic::list_to_tuple:
      return PyList_AsTuple(value);
    default:
      return execute_in_cpython(thread, Opcode::CALL_INTRINSIC_1, which, &value, 1, 1, frame->function);
  }
}

PyObject* prepend(PyObject* first, PyObject* rest) {
  const Py_ssize_t count = PyTuple_GET_SIZE(rest);
  PyObject* tuple = PyTuple_New(count + 1);
  if (tuple == nullptr) return nullptr;
  PyTuple_SET_ITEM(tuple, 0, Py_NewRef(first));
  for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(tuple, i + 1, Py_NewRef(PyTuple_GET_ITEM(rest, i)));
  return tuple;
}

}  // namespace stator
