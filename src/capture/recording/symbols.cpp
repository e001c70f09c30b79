// capture/recording/symbols.cpp: numbers that are symbols of the capture: where C code made one, and where
// only the number will do.
#include "capture/recording/symbols.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/recording/cached_calls.h"
#include "capture/recording/calls.h"
#include "capture/recording/contents.h"
#include "capture/recording/recording.h"

namespace stator {

void see_symbols(Recording& recording, PyObject*& result) {
  Ref<> other = recording.domain.in_place_of(result);
  drop_error();
  if (!other) return;
  PyObject* old = result;
  result = other.release();
  Py_DECREF(old);
}

// A symbol has been asked for its number by then: it was hashed.
Ref<> key_of(const Recording& recording, PyObject* key) {
  if (PyTuple_CheckExact(key)) {
    // The same one, unless a symbol is in it.
    const Py_ssize_t count = PyTuple_GET_SIZE(key);
    auto plain = Ref<>::steal(PyTuple_New(count));
    bool differs = false;
    for (Py_ssize_t i = 0; plain && i < count; i++) {
      Ref<> item = key_of(recording, PyTuple_GET_ITEM(key, i));
      if (!item) return {};
      differs = differs || item.get() != PyTuple_GET_ITEM(key, i);
      PyTuple_SET_ITEM(plain.get(), i, item.release());
    }
    return differs || !plain ? std::move(plain) : Ref<>::share(key);
  }
  if (!recording.domain.is_symbolic(key)) return Ref<>::share(key);
  if (PyIndex_Check(key)) return Ref<>::steal(PyNumber_Index(key));
  if (PyNumber_Check(key)) return Ref<>::steal(PyNumber_Float(key));
  return Ref<>::share(PyObject_IsTrue(key) == 1 ? Py_True : Py_False);
}

// Puts a number in the place of a symbol. False: an error is set.
static bool use_number(Recording& recording, PyObject*& operand) {
  if (!recording.domain.is_symbolic(operand)) return true;
  PyObject* number = key_of(recording, operand).release();
  if (number == nullptr) return false;
  Py_SETREF(operand, number);
  return true;
}

// The keys of a small dictionary or set; null if it is larger, or if comparing with a key would run code of
// the program.
static Ref<> plain_keys(PyObject* container) {
  constexpr Py_ssize_t kMost = 16;
  const bool is_set = PyAnySet_CheckExact(container);
  static PyObject* const name = PyUnicode_InternFromString("__contains__");
  const auto looks_up = [](PyTypeObject* type) { return _PyType_Lookup(type, name); };
  if (!is_set && (!PyDict_Check(container) || looks_up(Py_TYPE(container)) != looks_up(&PyDict_Type)))
    return {};
  if ((is_set ? PySet_GET_SIZE(container) : PyDict_GET_SIZE(container)) > kMost) return {};
  auto keys = Ref<>::steal(is_set ? PySequence_List(container) : PyDict_Keys(container));
  for (Py_ssize_t i = 0; keys && i < PyList_GET_SIZE(keys.get()); i++) {
    PyObject* key = PyList_GET_ITEM(keys.get(), i);
    if (!PyLong_CheckExact(key) && !PyUnicode_CheckExact(key) && key != Py_None) return {};
  }
  return keys;
}

// `n in {4, 8}` is asked of each key, since a hash is that of a number: a guard says that it is none of them.
// Where it is one, the number is known, and only that key counts.
static bool look_among_keys(Recording& recording, PyObject*& container, PyObject* symbol) {
  if (!recording.domain.is_symbolic(symbol) || !PyIndex_Check(symbol)) return true;
  const Ref<> keys = plain_keys(container);
  if (!keys) return !PyErr_Occurred();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); i++) {
    const int is_same = PyObject_RichCompareBool(symbol, PyList_GET_ITEM(keys.get(), i), Py_EQ);
    if (is_same != 0) return is_same == 1;
  }
  PyObject* const none = PyTuple_New(0);
  if (none == nullptr || !read_contents(recording, container)) {
    Py_XDECREF(none);
    return false;
  }
  Py_SETREF(container, none);
  return true;
}

// Before an instruction for which symbols are not made: attributes of int and float, keys, and ~.
bool use_numbers(Recording& recording, const Instruction& instruction, cpython::Frame* frame, PyObject** sp) {
  if (instruction.opcode == Opcode::UNARY_INVERT) return use_number(recording, sp[-1]);
  if (instruction.opcode == Opcode::CONTAINS_OP) return look_among_keys(recording, sp[-1], sp[-2]);
  if (instruction.opcode != Opcode::LOAD_ATTR && instruction.opcode != Opcode::LOAD_METHOD) return true;
  PyObject* name = PyTuple_GET_ITEM(frame->code->co_names, instruction.argument);
  return PyUnicode_CompareWithASCIIString(name, "__class__") == 0 || use_number(recording, sp[-1]);
}

namespace {

PyObject* builtin(const char* name) { return module_attribute("builtins", name).release(); }

// C code that takes int or float and nothing that only behaves so. `object`'s own methods pass over those of
// a symbol's class.
bool wants_numbers(PyObject* callable, Py_ssize_t count) {
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
    const PyTypeObject* of = PyDescr_TYPE(callable);
    return of == &PyLong_Type || of == &PyFloat_Type || of == &PyBaseObject_Type;
  }
  if (std::string_view(Py_TYPE(callable)->tp_name) == "numpy.ufunc") return true;
  static PyObject* const power = builtin("pow");
  static PyObject* const others[] = {builtin("getattr"), builtin("hasattr"), builtin("vars"),
                                     module_attribute("math", "ldexp").release()};
  return (callable == power && count == 3) ||
         std::find(std::begin(others), std::end(others), callable) != std::end(others);
}

// The call will give this result: as many arguments as there are stay on the stack.
bool give_instead(PyObject*& callable, PyObject** arguments, Py_ssize_t count, Ref<> result) {
  static PyObject* const identity = module_attribute("_operator", "pos").release();
  static PyObject* const item = module_attribute("_operator", "getitem").release();
  if (count == 2) {
    result = Ref<>::steal(PyTuple_Pack(1, result.get()));
    PyObject* const first = PyLong_FromLong(0);
    if (!result || first == nullptr) return false;
    Py_SETREF(arguments[1], first);
  }
  PyObject* const itself = PyBool_Check(result.get()) ? reinterpret_cast<PyObject*>(&PyBool_Type) : identity;
  Py_SETREF(arguments[0], result.release());
  Py_SETREF(callable, Py_NewRef(count == 1 ? itself : item));
  return true;
}

// No Python code of its own answers isinstance.
bool is_plain_class(PyObject* type) {
  if (!PyTuple_CheckExact(type)) return Py_IS_TYPE(type, &PyType_Type);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type); i++) {
    if (!is_plain_class(PyTuple_GET_ITEM(type, i))) return false;
  }
  return true;
}

}  // namespace

// What a call is to see of the symbols among its arguments.
bool before_symbols_are_given(Recording& recording, PyObject*& callable, PyObject** arguments,
                              PyObject** end) {
  const auto count = end - arguments;
  static PyObject* const identity = module_attribute("_operator", "pos").release();
  if (count > 0 && count <= 2 && recording.domain.is_symbolic(arguments[0])) {
    const bool is_int = PyIndex_Check(arguments[0]);
    // int(n) is n itself, and so is float(f): the classes would ask for the number.
    if (count == 1 && callable == reinterpret_cast<PyObject*>(is_int ? &PyLong_Type : &PyFloat_Type))
      Py_SETREF(callable, Py_NewRef(identity));
    // Any number of its kind has the class that is asked for.
    static PyObject* const asks_class = builtin("isinstance");
    if (count == 2 && callable == asks_class && is_plain_class(arguments[1])) {
      PyObject* alike = is_int ? PyLong_FromLong(0) : PyFloat_FromDouble(0);
      if (alike == nullptr) return false;
      Py_SETREF(arguments[0], alike);
    }
  }
  // len(x) is x.size(0), which may be a symbol, and math.sqrt(n) is one: the function would ask for the
  // number.
  if ((count == 1 || count == 2) &&
      (PyCFunction_Check(callable) || PyType_Check(callable) || Py_IS_TYPE(callable, &PyMethodDescr_Type))) {
    Ref<> result = recording.domain.symbol_from(callable, arguments, count);
    if (!result && PyErr_Occurred()) return false;
    if (result && !give_instead(callable, arguments, count, std::move(result))) return false;
  }
  if (is_cached_function(callable) && !follow_cached(recording, callable, arguments, end)) return false;
  // What a cache keeps outlives the symbols of this capture, those in tuples too.
  const bool is_cached = is_cached_function(callable);
  if (!is_cached && !wants_numbers(callable, count)) return true;
  for (PyObject** argument = arguments; argument != end; argument++) {
    if (!is_cached && !recording.domain.is_symbolic(*argument)) continue;
    PyObject* plain = key_of(recording, *argument).release();
    if (plain == nullptr) return false;
    Py_SETREF(*argument, plain);
  }
  return true;
}

}  // namespace stator
