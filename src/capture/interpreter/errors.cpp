// capture/interpreter/errors.cpp: the errors that the evaluator itself raises, in CPython's words.
#include "capture/interpreter/errors.h"

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"
#include "capture/cpython/traits.h"

namespace stator {

void raise_name_error(PyObject* name) {
  PyErr_Format(PyExc_NameError, "name '%.200s' is not defined", PyUnicode_AsUTF8(name));
  auto error = Ref<>::steal(stator_take_error());
  // The attribute feeds CPython's "did you mean" suggestions.
  if (error && Py_IS_TYPE(error.get(), reinterpret_cast<PyTypeObject*>(PyExc_NameError))) {
    if (PyObject_SetAttrString(error.get(), "name", name) < 0) drop_error();
  }
  if (error) stator_give_error(error.release());
}

void raise_unbound_local(PyCodeObject* code, int index) {
  PyObject* name = PyTuple_GetItem(code->co_localsplusnames, index);
  if (name == nullptr) return;
  PyErr_Format(PyExc_UnboundLocalError,
               "cannot access local variable '%.200s' where it is not associated with a value",
               PyUnicode_AsUTF8(name));
}

void raise_unbound_cell(PyCodeObject* code, int index) {
  if (index < code->co_nlocalsplus - code->co_nfreevars) {
    raise_unbound_local(code, index);
    return;
  }
  PyErr_Format(
      PyExc_NameError,
      "cannot access free variable '%.200s' where it is not associated with a value in enclosing scope",
      PyUnicode_AsUTF8(PyTuple_GET_ITEM(code->co_localsplusnames, index)));
  auto error = Ref<>::steal(stator_take_error());
  if (error &&
      PyObject_SetAttrString(error.get(), "name", PyTuple_GET_ITEM(code->co_localsplusnames, index)) < 0) {
    drop_error();
  }
  if (error) stator_give_error(error.release());
}

void add_traceback(PyThreadState* thread, cpython::Frame* frame) {
  if (cpython::is_incomplete(frame)) return;
  PyFrameObject* object = nullptr;
  {
    ErrorScope scope;  // making the frame object may collect garbage
    object = PyThreadState_GetFrame(thread);
  }
  if (object == nullptr) return;
  PyTraceBack_Here(object);
  Py_DECREF(object);
}

// The exception that `raise X` names: an instance as it is, a class called without arguments.
static Ref<> as_instance(Ref<> exception, bool is_cause) {
  if (PyExceptionInstance_Check(exception.get())) return exception;
  if (!PyExceptionClass_Check(exception.get())) {
    PyErr_SetString(PyExc_TypeError, is_cause ? "exception causes must derive from BaseException"
                                              : "exceptions must derive from BaseException");
    return {};
  }
  auto instance = Ref<>::steal(PyObject_CallNoArgs(exception.get()));
  if (!instance) return {};
  if ((!is_cause || cpython::kChecksCause) && !PyExceptionInstance_Check(instance.get())) {
    PyErr_Format(PyExc_TypeError, "calling %R should have returned an instance of BaseException, not %R",
                 exception.get(), Py_TYPE(instance.get()));
    return {};
  }
  return instance;
}

static PyObject* handled_exception(PyThreadState* thread) {
  for (_PyErr_StackItem* item = thread->exc_info; item != nullptr; item = item->previous_item) {
    if (item->exc_value != nullptr && item->exc_value != Py_None) return item->exc_value;
    if (item->previous_item == nullptr) break;
  }
  return nullptr;
}

bool raise(PyThreadState* thread, PyObject* stolen_exception, PyObject* stolen_cause) {
  auto exception = Ref<>::steal(stolen_exception);
  auto cause = Ref<>::steal(stolen_cause);
  if (!exception) {
    PyObject* handled = handled_exception(thread);
    if (handled == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "No active exception to reraise");
      return false;
    }
    stator_give_error(Py_NewRef(handled));
    return true;
  }
  exception = as_instance(std::move(exception), false);
  if (!exception) return false;
  if (cause) {
    if (cause.get() == Py_None) {
      PyException_SetCause(exception.get(), nullptr);
    } else {
      auto instance = as_instance(std::move(cause), true);
      if (!instance) return false;
      PyException_SetCause(exception.get(), instance.release());
    }
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.get())), exception.get());
  return false;
}

static bool each_class(PyObject* type, bool (*accept)(PyObject*)) {
  if (!PyTuple_Check(type)) return accept(type);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); i++) {
    if (!accept(PyTuple_GET_ITEM(type, i))) return false;
  }
  return true;
}

bool check_except_type(PyObject* type) {
  if (each_class(type, [](PyObject* item) { return PyExceptionClass_Check(item) != 0; })) return true;
  PyErr_SetString(PyExc_TypeError, "catching classes that do not inherit from BaseException is not allowed");
  return false;
}

}  // namespace stator
