// capture/recording/symbols.cpp: numbers that are symbols of the capture: where C code made one, and where
// only the number will do.
#include "capture/cpython/exported.h"
#include "capture/recording/recording.h"

namespace stator {

void Recording::see_symbols(PyObject*& result) {
  Ref<> other = domain_.in_place_of(result);
  PyErr_Clear();
  if (!other) return;
  PyObject* old = result;
  result = other.release();
  Py_DECREF(old);
}

// A symbol has been asked for its number by then: it was hashed.
Ref<> Recording::key_of(PyObject* key) const {
  if (PyTuple_CheckExact(key)) {
    // The same one, unless a symbol is in it.
    const Py_ssize_t count = PyTuple_GET_SIZE(key);
    auto plain = Ref<>::steal(PyTuple_New(count));
    bool differs = false;
    for (Py_ssize_t i = 0; plain && i < count; i++) {
      Ref<> item = key_of(PyTuple_GET_ITEM(key, i));
      if (!item) return {};
      differs = differs || item.get() != PyTuple_GET_ITEM(key, i);
      PyTuple_SET_ITEM(plain.get(), i, item.release());
    }
    return differs || !plain ? std::move(plain) : Ref<>::share(key);
  }
  if (!domain_.is_symbolic(key)) return Ref<>::share(key);
  if (PyIndex_Check(key)) return Ref<>::steal(PyNumber_Index(key));
  if (PyNumber_Check(key)) return Ref<>::steal(PyNumber_Float(key));
  return Ref<>::share(PyObject_IsTrue(key) == 1 ? Py_True : Py_False);
}

// Puts a number in the place of a symbol. False: an error is set.
bool Recording::use_number(PyObject*& operand) {
  if (!domain_.is_symbolic(operand)) return true;
  PyObject* number = key_of(operand).release();
  if (number == nullptr) return false;
  Py_SETREF(operand, number);
  return true;
}

// Before an instruction for which symbols are not made: methods of int and float, and ~.
bool Recording::use_numbers(const Instruction& instruction, cpython::Frame* frame, PyObject** sp) {
  if (instruction.opcode == Opcode::UNARY_INVERT) return use_number(sp[-1]);
  if (instruction.opcode != Opcode::LOAD_ATTR && instruction.opcode != Opcode::LOAD_METHOD) return true;
  if (!domain_.is_symbolic(sp[-1])) return true;
  PyObject* name = PyTuple_GET_ITEM(frame->code->co_names, instruction.argument);
  PyTypeObject* type = PyIndex_Check(sp[-1]) ? &PyLong_Type : &PyFloat_Type;
  if (PyUnicode_READ_CHAR(name, 0) == '_' || _PyType_Lookup(type, name) == nullptr) return true;
  return use_number(sp[-1]);
}

}  // namespace stator
