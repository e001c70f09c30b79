// src/torch/replacements/checkpoint_region.cpp: records where a checkpointed region begins and ends.
#include "torch/replacements/checkpoint_region.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <array>

#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/session.h"

namespace stator {

void Session::enter_region(bool preserves_random_state, bool stops_early,
                           const std::vector<at::Tensor>& given) {
  if (region_modes_ || unrecorded != 0)
    raise_break(BreakCode::kHigherOrderOperator, "torch.utils.checkpoint inside of another");
  // AOT autograd has an operator of its own for it, with the code as a graph inside of the graph.
  if (!runs_python)
    raise_break(BreakCode::kHigherOrderOperator, "torch.utils.checkpoint: only the native backend has it");
  record_modes();
  std::vector<ir::ValueId> values;
  for (const at::Tensor& tensor : given) values.push_back(value_of(tensor));
  region_start_ = graph.nodes().size();
  region_modes_ = modes_;
  const std::array operands{ir::Operand::of(preserves_random_state), ir::Operand::of(stops_early),
                            graph.value_list(values)};
  graph.append(ir::op::kRegionEnter, operands, {}, line());
}

void Session::leave_region() {
  record_modes();
  bool changes_modes = modes_ != *region_modes_;
  for (const ir::Node& node : graph.nodes().subspan(region_start_ + 1))
    changes_modes |= graph.op_of(node).flags.has(ir::OpFlag::kMode) && node.op != ir::op::kSetGradEnabled;
  // Backward enters those modes again that were on when the region began, and no others.
  if (changes_modes)
    raise_break(BreakCode::kHigherOrderOperator, "torch.utils.checkpoint of code that changes modes");
  graph.append(ir::op::kRegionExit, {}, {}, line());
  region_modes_.reset();
}

namespace {

PyObject* begin(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr || count != 3 || !PyTuple_Check(arguments[2]))
    throw std::runtime_error("a region begins outside of a capture");
  std::vector<at::Tensor> given;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments[2]); i++) {
    PyObject* object = PyTuple_GET_ITEM(arguments[2], i);
    if (PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass)))
      given.push_back(THPVariable_Unpack(object));
  }
  try {
    session->enter_region(PyObject_IsTrue(arguments[0]) == 1, PyObject_IsTrue(arguments[1]) == 1, given);
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* end(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr) throw std::runtime_error("a region ends outside of a capture");
  try {
    session->leave_region();
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyMethodDef begin_method = {"begin", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(begin)),
                            METH_FASTCALL, nullptr};
PyMethodDef end_method = {"end", end, METH_NOARGS, nullptr};

PyObject* torch_code = nullptr;
PyObject* instead = nullptr;

}  // namespace

void prepare_checkpoint_regions() {
  const py::module_ own = imported("stator.runtime.checkpointing");
  own.attr("begin") = py::reinterpret_steal<py::object>(PyCFunction_New(&begin_method, nullptr));
  own.attr("end") = py::reinterpret_steal<py::object>(PyCFunction_New(&end_method, nullptr));
  instead = py::object(own.attr("region")).release().ptr();
  const py::object generator =
      imported("torch.utils.checkpoint").attr("_checkpoint_without_reentrant_generator");
  torch_code = py::object(generator.attr("__code__")).release().ptr();
}

Ref<> makes_region(PyObject* callable) {
  return PyFunction_Check(callable) && PyFunction_GET_CODE(callable) == torch_code ? Ref<>::share(instead)
                                                                                   : Ref<>();
}

bool marks_region(PyObject* callable) {
  if (!PyCFunction_Check(callable)) return false;
  const PyMethodDef* method = reinterpret_cast<PyCFunctionObject*>(callable)->m_ml;
  return method == &begin_method || method == &end_method;
}

}  // namespace stator
