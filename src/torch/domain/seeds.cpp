// src/torch/domain/seeds.cpp: torch.manual_seed in captured code.
#include "torch/domain/seeds.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include "torch/capture_break.h"
#include "torch/domain/opaque_call.h"
#include "torch/imported_module.h"
#include "torch/own_python.h"

namespace stator {
namespace {

// Of torch.manual_seed.
PyObject* seeding_code = nullptr;

void record(Session& session, PyObject* seed) {
  // A compiler would run it when it traces the graph, and never again.
  if (!session.changes_tensors || session.unrecorded != 0)
    raise_break(BreakCode::kRandomState, "torch.manual_seed: the backend compiles what it is given");
  const OwnPython own(&session);
  const py::object call =
      imported("stator.opaque")
          .attr("OpaqueCall")(imported("stator.seeds").attr("seed"), py::make_tuple(py::handle(seed)),
                              py::dict(), py::arg("symbols") = true);
  session.record_modes();
  std::vector<ir::Operand> operands{
      session.graph.constant(std::make_shared<OpaqueFunction>(call), "manual_seed"),
      session.graph.value_list({})};
  for (const ir::Operand& number : number_operands(session, call)) operands.push_back(number);
  call.attr("returns")(py::tuple());
  call.attr("forget")();
  session.graph.append(ir::op::kCall, operands, {}, session.line());
}

PyObject* seed(PyObject*, PyObject* given) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr) throw std::runtime_error("a seed is recorded outside of a capture");
  try {
    record(*session, given);
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  } catch (const py::error_already_set& error) {  // no number
    session->note_break(BreakCode::kRandomState, error.what());
    throw;
  }
  return module_attribute("torch", "default_generator").release();
  END_HANDLE_TH_ERRORS
}

PyMethodDef method = {"manual_seed", seed, METH_O, nullptr};
PyObject* recorder = nullptr;

}  // namespace

void prepare_seeds() {
  const py::module_ random = imported("torch.random");
  const py::object function = py::getattr(random, "_manual_seed_impl", random.attr("manual_seed"));
  if (PyFunction_Check(function.ptr())) seeding_code = Py_NewRef(PyFunction_GET_CODE(function.ptr()));
  recorder = PyCFunction_New(&method, nullptr);
}

Ref<> records_seed(PyObject* function) {
  return PyFunction_GET_CODE(function) == seeding_code ? Ref<>::share(recorder) : Ref<>();
}

bool is_seed_call(PyObject* callable) { return callable == recorder; }

}  // namespace stator
