// src/torch/replacements/hooks.cpp: which tensors captured code may register a hook with.
#include "torch/replacements/hooks.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <vector>

#include "torch/replacements/allowed_call.h"
#include "torch/replacements/tensor_method.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/session.h"

namespace stator {
namespace {

PyObject* check_code = nullptr;  // of the function in stator/runtime/hooks.py
PyObject* parameter_class = nullptr;

// Tensors of the last capture that hooks were registered with, as values of its graph.
struct Hooked {
  uint64_t session = 0;
  std::vector<ir::ValueId> values;
};

Hooked& hooked() {
  static Hooked of_last_capture;
  return of_last_capture;
}

[[noreturn]] void refuse(const char* why) { raise_break(BreakCode::kBackward, why); }

// Compilers trace the call of the hook into the backward, so it must be the same in each run.
void register_in_graph(Session& session, const at::Tensor& tensor, PyObject* hook) {
  py::object call;
  {
    const OwnPython own(&session);
    const py::object stands = py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor));
    call = imported("stator.runtime.hooks").attr("call_in_graph")(stands, py::handle(hook));
  }
  if (call.is_none())
    refuse(
        "a hook that reads more than its argument, on a tensor that is made in the function, and the backend "
        "compiles what it is given");
  record_python_call(session, std::make_shared<OpaqueFunction>(call), "register_hook", {&tensor, 1}, {}, {});
}

// A compiler keeps no tensor between the operators of its graph, so there only inputs can have hooks that are
// registered when the graph has run. False: a node of the graph is to register this one, which is given next.
bool check_tensor(Session& session, PyObject* object, bool must_be_leaf, PyObject* hook) {
  const auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (!is_tensor(object) || (type != THPVariableClass && type != parameter_class))
    refuse("a hook on a tensor of another class");
  const at::Tensor& tensor = THPVariable_Unpack(object);
  if (session.unrecorded != 0 || session.following != 0 || is_wrapper(tensor))
    refuse("a hook is registered inside of a transform or a custom gradient");
  if (!tensor.requires_grad()) refuse("a hook on a tensor that requires no gradient");
  if (must_be_leaf && !tensor.is_leaf()) refuse("a hook on accumulation for a tensor that is no leaf");
  const ir::ValueId value = session.value_of(tensor);
  const bool is_input = std::any_of(session.inputs.begin(), session.inputs.end(),
                                    [&](const Session::Lifted& input) { return input.input == value; });
  const bool in_graph = !is_input && !session.changes_tensors;
  if (in_graph && hook == Py_None) return false;
  if (in_graph) register_in_graph(session, tensor, hook);
  Hooked& known = hooked();
  if (known.session != session.id()) known = {session.id(), {}};
  known.values.push_back(value);
  return !in_graph;
}

PyObject* check(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr || count != 3) throw std::runtime_error("a hook is checked outside of a capture");
  try {
    return PyBool_FromLong(check_tensor(*session, arguments[0], arguments[1] == Py_True, arguments[2]));
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  }
  END_HANDLE_TH_ERRORS
}

PyMethodDef check_method = {"check_tensor",
                            reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(check)), METH_FASTCALL,
                            nullptr};

uint32_t storage_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  return value.storage == ir::ValueId::kNone ? index(id) : index(value.storage);
}

}  // namespace

void prepare_hooks() {
  const py::object function = imported("stator.runtime.hooks").attr("check_tensor");
  check_code = Py_NewRef(PyFunction_GET_CODE(function.ptr()));
  parameter_class = py::object(imported("torch.nn").attr("Parameter")).release().ptr();
}

Ref<> checks_hooked(PyObject* callable) {
  return PyFunction_Check(callable) && PyFunction_GET_CODE(callable) == check_code
             ? Ref<>::steal(PyCFunction_New(&check_method, nullptr))
             : Ref<>();
}

bool is_hook_check(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &check_method;
}

bool has_late_hooks(const Session& session) {
  return hooked().session == session.id() && !hooked().values.empty();
}

void check_late_hooks(Session& session) {
  if (!has_late_hooks(session)) return;
  const ir::Graph& graph = session.graph;
  for (const ir::ValueId value : hooked().values) {
    for (uint32_t i = index(value) + 1; i < graph.value_count(); i++) {
      const ir::Value& later = graph.value(ir::ValueId{i});
      if (later.kind == ir::ValueKind::kTensor && later.alias == ir::AliasKind::kSame &&
          storage_of(graph, ir::ValueId{i}) == storage_of(graph, value))
        session.note_break(BreakCode::kBackward, "a tensor is written to behind register_hook");
    }
  }
}

}  // namespace stator
