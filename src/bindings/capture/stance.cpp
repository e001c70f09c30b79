// bindings/capture/stance.cpp: how a thread's calls of compiled functions are treated, and the settings of
// all.
#include "bindings/capture/stance.h"

#include <cstring>
#include <iterator>

#include "capture/cpython/ref.h"

namespace stator {

thread_local Stance thread_stance = Stance::normal;
CallSettings settings;
PyObject* capture_error = nullptr;

namespace {

constexpr const char* kNames[] = {"normal", "run_only", "force_eager"};

PyObject* set_stance(PyObject*, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  for (size_t i = 0; i < std::size(kNames); i++) {
    if (std::strcmp(text, kNames[i]) != 0) continue;
    const Stance before = thread_stance;
    thread_stance = static_cast<Stance>(i);
    thread_context.plain = thread_stance != Stance::normal;
    return PyUnicode_FromString(kNames[static_cast<size_t>(before)]);
  }
  return PyErr_Format(PyExc_ValueError, "no such stance: %s", text);
}

PyObject* configure(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"recompile_limit", "disable",          "error_on_recompile",
                                "miss_hook",       "guard_error_hook", nullptr};
  int disable = settings.disable, error = settings.error_on_recompile;
  PyObject *hook = nullptr, *error_hook = nullptr;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$ippOO:configure", const_cast<char**>(names),
                                   &settings.recompile_limit, &disable, &error, &hook, &error_hook)) {
    return nullptr;
  }
  settings.disable = disable != 0;
  settings.error_on_recompile = error != 0;
  if (hook != nullptr) Py_XSETREF(settings.miss_hook, Py_NewRef(hook));
  if (error_hook != nullptr) Py_XSETREF(settings.guard_error_hook, Py_NewRef(error_hook));
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_stance", set_stance, METH_O,
     "set_stance(name)\n--\n\nHow this thread's calls of compiled functions are treated; returns what was."},
    {"configure", reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(configure)),
     METH_VARARGS | METH_KEYWORDS, "configure(**settings)\n--\n\nSettings of all compiled functions."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

bool add_stance(PyObject* module) {
  capture_error = PyErr_NewExceptionWithDoc("stator.CaptureError", "A function could not be captured whole.",
                                            PyExc_RuntimeError, nullptr);
  return capture_error != nullptr && PyModule_AddObjectRef(module, "CaptureError", capture_error) == 0 &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace stator
