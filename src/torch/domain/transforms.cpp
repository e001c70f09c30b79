// src/torch/domain/transforms.cpp: what transforms of torch.func need beside the dispatcher.
#include "torch/domain/transforms.h"

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

#include "torch/imported_module.h"
#include "torch/own_python.h"

namespace stator {
namespace {

namespace py = pybind11;

// Of the function that registers kernels for vmap; nullptr once they are there.
PyObject* registers_kernels = nullptr;

// Of torch._decomp, with torch's kernels for vmap that are written in Python. Asked for by the hook, which
// must not lead to an import.
std::string folder_of_kernels;

}  // namespace

void prepare_transforms() {
  const py::object function =
      py::getattr(imported("torch._functorch.vmap"), "lazy_load_decompositions", py::none());
  folder_of_kernels = py::list(imported("torch").attr("__path__"))[0].cast<std::string>() + "/_decomp/";
  if (PyFunction_Check(function.ptr())) registers_kernels = Py_NewRef(PyFunction_GET_CODE(function.ptr()));
}

void before_transform(PyObject* function) {
  if (registers_kernels == nullptr || PyFunction_GET_CODE(function) != registers_kernels) return;
  Session* session = Session::current();
  if (session == nullptr) return;
  Py_CLEAR(registers_kernels);
  const OwnPython own(session);
  session->pause();
  if (PyObject* done = PyObject_CallNoArgs(function)) Py_DECREF(done);
  PyErr_Clear();  // the capture meets the error again
  session->resume();
}

bool is_python_kernel(PyCodeObject* code) {
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (file == nullptr) PyErr_Clear();
  return file != nullptr && std::string_view(file).starts_with(folder_of_kernels);
}

}  // namespace stator
