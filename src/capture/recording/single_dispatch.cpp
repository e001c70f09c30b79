// capture/recording/single_dispatch.cpp: functools.singledispatch finds a function by the class of an
// argument.
//
// Its `dispatch` keeps what it found in a dictionary of weak keys, which a capture can neither guard nor
// write. So captured code looks into the registry itself, as `dispatch` does for a class that is new to it:
// what decides is then guarded as anywhere, and a function that is registered later is noticed.
#include "capture/recording/single_dispatch.h"

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

// The first code object of this name among the constants of another one; borrowed.
PyObject* code_inside(PyObject* code, const char* name) {
  PyObject* constants = reinterpret_cast<PyCodeObject*>(code)->co_consts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants); i++) {
    PyObject* constant = PyTuple_GET_ITEM(constants, i);
    if (PyCode_Check(constant) &&
        PyUnicode_CompareWithASCIIString(reinterpret_cast<PyCodeObject*>(constant)->co_name, name) == 0)
      return constant;
  }
  return nullptr;
}

// `dispatch`, as functools defines it inside of singledispatch. Kept; nullptr: there is none.
PyObject* dispatch_of_functools() {
  const Ref<> outer = module_attribute("functools", "singledispatch");
  drop_error();
  return outer && PyFunction_Check(outer.get())
             ? Py_XNewRef(code_inside(PyFunction_GET_CODE(outer.get()), "dispatch"))
             : nullptr;
}

// What captured code runs in its place, in functools' own globals. Only compiled: executing it would be a
// frame of the program's.
PyObject* dispatch_without_cache() {
  static const char* const text =
      "def outer(registry):\n"
      "    def dispatch(cls):\n"
      "        return registry[cls] if cls in registry else _find_impl(cls, registry)\n";
  const Ref<> module =
      Ref<>::steal(Py_CompileString(text, "<stator: functools.singledispatch>", Py_file_input));
  PyObject* outer = module ? code_inside(module.get(), "outer") : nullptr;
  drop_error();
  return outer != nullptr ? Py_XNewRef(code_inside(outer, "dispatch")) : nullptr;
}

}  // namespace

bool look_through_dispatch(Recording& recording, PyObject*& callable) {
  static PyObject* const theirs = dispatch_of_functools();
  auto* function = reinterpret_cast<PyFunctionObject*>(callable);
  if (theirs == nullptr || function->func_code != theirs) return true;
  static PyObject* const ours = dispatch_without_cache();
  if (ours == nullptr || function->func_closure == nullptr) return true;
  if (!entering(recording, function, nullptr)) return false;
  auto* code = reinterpret_cast<PyCodeObject*>(theirs);
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  for (int i = 0; i < code->co_nfreevars; i++) {
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, first + i);
    if (PyUnicode_CompareWithASCIIString(name, "registry") != 0) continue;
    const Ref<> cells = Ref<>::steal(PyTuple_Pack(1, PyTuple_GET_ITEM(function->func_closure, i)));
    const Ref<> made = Ref<>::steal(PyFunction_New(ours, function->func_globals));
    if (!cells || !made || PyFunction_SetClosure(made.get(), cells.get()) < 0) return false;
    make_fresh(recording, made.get());
    Py_SETREF(callable, Py_NewRef(made.get()));
    break;
  }
  return true;
}

}  // namespace stator
