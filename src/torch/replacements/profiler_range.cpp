// src/torch/replacements/profiler_range.cpp: the handle of all ranges in captured code.
#include "torch/replacements/profiler_range.h"

#include <torch/csrc/utils/pybind.h>

#include "torch/tracing/imported_module.h"

namespace stator {
namespace {

PyObject* open_operator = nullptr;  // what torch.ops.profiler._record_function_enter_new calls
PyObject* closed_range = nullptr;
PyObject* opener = nullptr;

PyObject* open_range(PyObject*, PyObject*) { return Py_NewRef(closed_range); }

PyMethodDef open_method = {"open_range", open_range, METH_VARARGS, nullptr};

}  // namespace

void prepare_profiler_ranges() {
  const py::object operators = imported("torch").attr("ops").attr("profiler");
  const py::object open = operators.attr("_record_function_enter_new");
  py::object range = open("closed", py::none());
  operators.attr("_record_function_exit").attr("_RecordFunction")(range);
  closed_range = range.release().ptr();
  open_operator = py::object(open.attr("_op")).release().ptr();
  opener = PyCFunction_New(&open_method, nullptr);
}

Ref<> opens_range(PyObject* callable) { return callable == open_operator ? Ref<>::share(opener) : Ref<>(); }

bool is_range_opener(PyObject* callable) { return callable == opener; }

bool is_closed_range(PyObject* object) { return object == closed_range; }

}  // namespace stator
