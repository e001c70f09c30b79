// bindings/capture/stance.cpp: the functions that set how calls of compiled functions are treated.
#include "bindings/capture/stance.h"

#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "bindings/capture/compiled.h"
#include "capture/cpython/ref.h"

namespace stator {

namespace {

constexpr const char* kNames[] = {"normal", "run_only", "force_eager", "fail_on_recompile",
                                  "eager_then_compile"};

// Returns nullopt, with an error set, if there is no stance of this name.
std::optional<Stance> stance_of(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return std::nullopt;
  for (size_t i = 0; i < std::size(kNames); i++) {
    if (std::strcmp(text, kNames[i]) == 0) return static_cast<Stance>(i);
  }
  PyErr_Format(PyExc_ValueError, "no such stance: %s", text);
  return std::nullopt;
}

PyObject* name_of(Stance stance) { return PyUnicode_FromString(kNames[static_cast<size_t>(stance)]); }

PyObject* set_stance(PyObject*, PyObject* name) {
  const std::optional<Stance> stance = stance_of(name);
  if (!stance) return nullptr;
  const Stance before = std::exchange(thread_stance, *stance);
  thread_context.plain = thread_stance != Stance::normal;
  return name_of(before);
}

PyObject* set_process_stance(PyObject*, PyObject* name) {
  const std::optional<Stance> stance = stance_of(name);
  return stance ? name_of(std::exchange(settings.stance, *stance)) : nullptr;
}

PyObject* configure(PyObject*, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"recompile_limit",
                                "disable",
                                "error_on_recompile",
                                "miss_hook",
                                "guard_error_hook",
                                "error_hook",
                                "limit_hook",
                                "capture_hook",
                                "break_hook",
                                "nothing_hook",
                                "backend_hook",
                                "error_region",
                                nullptr};
  PyObject** const hooks[] = {&settings.miss_hook,    &settings.guard_error_hook, &settings.error_hook,
                              &settings.limit_hook,   &settings.capture_hook,     &settings.break_hook,
                              &settings.nothing_hook, &settings.backend_hook,     &settings.error_region};
  int disable = settings.disable, error = settings.error_on_recompile;
  PyObject* given[std::size(hooks)] = {};
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$ippOOOOOOOOO:configure", const_cast<char**>(names),
                                   &settings.recompile_limit, &disable, &error, &given[0], &given[1],
                                   &given[2], &given[3], &given[4], &given[5], &given[6], &given[7],
                                   &given[8])) {
    return nullptr;
  }
  settings.disable = disable != 0;
  settings.error_on_recompile = error != 0;
  for (size_t i = 0; i < std::size(hooks); i++) {
    if (given[i] != nullptr) Py_XSETREF(*hooks[i], Py_NewRef(given[i]));
  }
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"set_stance", set_stance, METH_O,
     "set_stance(name)\n--\n\nHow this thread's calls of compiled functions are treated; returns what was."},
    {"missed_arguments", missed_arguments, METH_NOARGS,
     "missed_arguments()\n--\n\nThe function and arguments of the call of which a guard has just failed."},
    {"set_process_stance", set_process_stance, METH_O,
     "set_process_stance(name)\n--\n\nThe same for all threads that have no stance of their own."},
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
