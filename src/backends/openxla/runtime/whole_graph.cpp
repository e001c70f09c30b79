// src/backends/openxla/runtime/whole_graph.cpp: picks arguments, runs the program, puts results in their
// places.
#include "backends/openxla/runtime/whole_graph.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>
#include <unistd.h>

namespace stator::openxla {

static Ref<> checked(PyObject* result) {
  if (!result) throw py::error_already_set();
  return Ref<>::steal(result);
}

WholeGraph::WholeGraph(ByPrecision executables, std::vector<size_t> arguments,
                       std::vector<at::Tensor> constants, std::vector<GraphResult> results, Ref<> by_torch)
    : executables_(std::move(executables)),
      arguments_(std::move(arguments)),
      constants_(std::move(constants)),
      results_(std::move(results)),
      by_torch_(std::move(by_torch)),
      process_(getpid()) {}

std::vector<at::Tensor> WholeGraph::computed(PyObject* inputs) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(arguments_.size() + constants_.size());
  for (size_t position : arguments_) {
    PyObject* const input = PyList_GetItem(inputs, static_cast<Py_ssize_t>(position));
    if (!input) throw py::error_already_set();
    if (!THPVariable_Check(input)) throw py::type_error("an input of an XLA program is no tensor");
    tensors.push_back(THPVariable_Unpack(input));
  }
  tensors.insert(tensors.end(), constants_.begin(), constants_.end());
  if (getpid() == process_) {
    const std::shared_ptr<Executable> executable = executables_.current();
    if (!executable) throw std::runtime_error("XLA cannot be called");
    if (auto results = executable->run(tensors)) return std::move(*results);
  }
  py::tuple arguments(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) arguments[i] = py::cast(tensors[i]);
  return py::cast<std::vector<at::Tensor>>(py::handle(by_torch_.get())(*arguments));
}

Ref<> WholeGraph::call(PyObject* inputs) {
  if (!PyList_CheckExact(inputs)) throw py::type_error("an XLA program is called with a list of its inputs");
  std::vector<at::Tensor> made = computed(inputs);
  Ref<> results = checked(PyList_New(static_cast<Py_ssize_t>(results_.size())));
  for (size_t i = 0; i < results_.size(); ++i) {
    const GraphResult& result = results_[i];
    PyObject* object = nullptr;
    if (result.kind == GraphResult::Kind::kMade) {
      object = THPVariable_Wrap(made[result.index]);
    } else if (result.kind == GraphResult::Kind::kInput) {
      object = Py_XNewRef(PyList_GetItem(inputs, static_cast<Py_ssize_t>(result.index)));
    } else {
      object = Py_NewRef(result.constant.get());
    }
    PyList_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), checked(object).release());
  }
  if (PyList_SetSlice(inputs, 0, PY_SSIZE_T_MAX, nullptr) != 0) throw py::error_already_set();
  return results;
}

}  // namespace stator::openxla
