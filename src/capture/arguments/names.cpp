// capture/arguments/names.cpp: the arguments of a call as source expressions.
#include "capture/arguments/names.h"

#include "capture/cpython/interrupts.h"

namespace stator {
namespace {

std::string local(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) drop_error();
  return "L[\"" + std::string(text != nullptr ? text : "?") + "\"]";
}

// A class attribute that is a plain function, found without running code of the program's.
PyObject* function_of_class(PyObject* object, const char* name) {
  auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  PyObject* mro = Py_TYPE(object)->tp_mro;
  for (Py_ssize_t i = 0; key && i < PyTuple_GET_SIZE(mro); i++) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    if (PyObject* found = PyDict_GetItemWithError(type->tp_dict, key.get()))
      return PyFunction_Check(found) ? found : nullptr;
  }
  return nullptr;
}

}  // namespace

ArgumentNames::ArgumentNames(PyObject* callable) {
  PyObject* function = callable;
  if (PyMethod_Check(callable)) {
    function = PyMethod_GET_FUNCTION(callable);
    bound_ = 1;
  } else if (!PyFunction_Check(callable) && !PyType_Check(callable)) {
    function = function_of_class(callable, "forward");
    if (function == nullptr) function = function_of_class(callable, "__call__");
    bound_ = 1;
  }
  if (function != nullptr && PyFunction_Check(function))
    code_ = Ref<PyCodeObject>::share(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function)));
}

std::string ArgumentNames::positional(Py_ssize_t position) const {
  std::string unknown = "arg" + std::to_string(position);
  if (!code_) return unknown;
  auto names = Ref<>::steal(PyCode_GetVarnames(code_.get()));
  if (!names) {
    drop_error();
    return unknown;
  }
  const Py_ssize_t index = position + bound_;
  if (index < code_->co_argcount) return local(PyTuple_GET_ITEM(names.get(), index));
  if (!(code_->co_flags & CO_VARARGS)) return unknown;
  const Py_ssize_t rest = code_->co_argcount + code_->co_kwonlyargcount;
  return local(PyTuple_GET_ITEM(names.get(), rest)) + "[" + std::to_string(index - code_->co_argcount) + "]";
}

std::string ArgumentNames::slot(const FramePlace& place, Py_ssize_t argument) {
  size_t slot = 0;
  for (;; slot++) {
    if (place.given[slot] && argument-- == 0) break;
  }
  if (slot >= place.slots) return "cell " + std::to_string(slot - place.slots);
  const PyCodeObject* code = place.frame->code;
  const auto locals = static_cast<size_t>(code->co_nlocalsplus);
  if (slot >= locals) return "stack[" + std::to_string(slot - locals) + "]";
  return local(PyTuple_GET_ITEM(code->co_localsplusnames, static_cast<Py_ssize_t>(slot)));
}

std::string ArgumentNames::keyword(PyObject* name) { return local(name); }

}  // namespace stator
