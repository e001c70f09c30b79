// src/torch/domain/compiling_flag.cpp: what captured code is told that asks whether it is captured.
#include "torch/domain/compiling_flag.h"

#include <unordered_set>

#include "capture/cpython/error_scope.h"

namespace stator {
namespace {

Tells tells = Tells::automatic;

PyObject* interned(const char* text) {
  PyObject* string = PyUnicode_InternFromString(text);
  if (string == nullptr) throw py::error_already_set();
  return string;
}

// The keys; see stator/api/compiling.py, which reads the last three.
struct Keys {
  PyObject* torch = interned("_is_compiling_flag");
  PyObject* told = interned("_is_stator_compiling_flag");       // what is_dynamo_compiling gives
  PyObject* capturing = interned("_is_stator_capturing_flag");  // whatever the program is told
  PyObject* setting = interned("_stator_is_compiling_setting");
};
const Keys& keys() {
  static const Keys all;
  return all;
}

bool is(PyObject* key, PyObject* name) {
  return key == name || (PyUnicode_CheckExact(key) && PyUnicode_Compare(key, name) == 0);
}

// Never freed: the code objects are those of functions that torch keeps.
std::unordered_set<PyObject*>& exempt_codes() {
  static auto* const codes = new std::unordered_set<PyObject*>;
  return *codes;
}

py::module_ compiler() { return imported("torch.compiler"); }

}  // namespace

void tell_programs(const py::object& setting) {
  if (setting.ptr() == Py_True) {
    tells = Tells::yes;
  } else if (setting.ptr() == Py_False) {
    tells = Tells::no;
  } else if (PyUnicode_Check(setting.ptr()) && PyUnicode_CompareWithASCIIString(setting.ptr(), "auto") == 0) {
    tells = Tells::automatic;
  } else {
    throw py::value_error("is_compiling is True, False or \"auto\"");
  }
  compiler().attr(py::handle(keys().setting)) = setting;
}

Tells telling() { return tells; }

CompilingFlag::CompilingFlag(bool told)
    : dict_(PyModule_GetDict(compiler().ptr())),
      old_(compiler().attr(py::handle(keys().torch))),
      told_(told),
      says_(false),
      asking_code_(reinterpret_cast<PyCodeObject*>(compiler().attr("is_compiling").attr("__code__").ptr())),
      dynamo_code_(
          reinterpret_cast<PyCodeObject*>(compiler().attr("is_dynamo_compiling").attr("__code__").ptr())) {
  set(true);
}

CompilingFlag::~CompilingFlag() {
  const ErrorScope backends_own;  // a capture may end with the error of its backend set
  set(false);
}

void CompilingFlag::write(PyObject* key, PyObject* value) {
  if (PyDict_SetItem(dict_, key, value) < 0) throw py::error_already_set();
}

void CompilingFlag::set(bool captured) {
  write(keys().capturing, captured ? Py_True : Py_False);
  answer_dynamo_next(false);
  if (!told_) return;
  write(keys().told, captured ? Py_True : Py_False);
  answer_next(captured);
}

void CompilingFlag::answer_next(bool captured) {
  if (!told_ || captured == says_) return;
  says_ = captured;
  write(keys().torch, captured ? Py_True : old_.ptr());
}

void CompilingFlag::answer_dynamo_next(bool compiles) {
  if (compiles == is_wrapper_told_) return;
  is_wrapper_told_ = compiles;
  if (!told_) write(keys().told, compiles ? Py_True : Py_False);
}

bool CompilingFlag::is_read(PyObject* dict, PyObject* key, PyObject** setting) {
  if (dict != dict_) return false;
  if (is(key, keys().capturing)) return true;
  if (is_wrapper_told_ && is(key, keys().told)) return true;
  if (!is(key, keys().torch) && !is(key, keys().told)) return false;
  was_asked_ = true;
  *setting = keys().setting;
  return true;
}

void never_tell(const py::set& codes) {
  for (const py::handle code : codes) exempt_codes().insert(code.inc_ref().ptr());
}

bool is_never_told(PyCodeObject* code) {
  return exempt_codes().count(reinterpret_cast<PyObject*>(code)) != 0;
}

}  // namespace stator
