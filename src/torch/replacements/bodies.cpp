// src/torch/replacements/bodies.cpp: records where the function of an operator begins and ends, and the
// operator.
#include "torch/replacements/bodies.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/ir/effects.h"
#include "torch/replacements/allowed_call.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

struct Begin {
  size_t nodes, values;  // that the graph had by then
};

PyObject* wrapper_codes = nullptr;  // a set, which stator/runtime/bodies.py fills

// Of one session: those that began, innermost last.
struct OpenBodies {
  uint64_t session = 0;
  std::vector<Begin> begins;
};
thread_local OpenBodies open_bodies;

std::vector<Begin>& begins_of(const Session& session) {
  if (open_bodies.session != session.id()) open_bodies = {session.id(), {}};
  return open_bodies.begins;
}

// What stator/backends/fx hands to the builder of the torch.fx graph.
ir::Operand object_operand(Session& session, PyObject* object) {
  auto function = std::make_shared<OpaqueFunction>(py::reinterpret_borrow<py::object>(object));
  function->leaves_nothing = true;
  return session.graph.constant(std::move(function), "body");
}

std::vector<at::Tensor> tensors_in(PyObject* tuple) {
  std::vector<at::Tensor> tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* object = PyTuple_GET_ITEM(tuple, i);
    if (!PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass)))
      raise_break(BreakCode::kHigherOrderOperator,
                  std::string("a function gives a ") + Py_TYPE(object)->tp_name);
    tensors.push_back(THPVariable_Unpack(object));
  }
  return tensors;
}

ir::Operand value_list(Session& session, const std::vector<at::Tensor>& tensors) {
  std::vector<ir::ValueId> values;
  for (const at::Tensor& tensor : tensors) values.push_back(session.value_of(tensor));
  return session.graph.value_list(values);
}

void begin_body(Session& session, PyObject* body) {
  // Replay has no graphs inside of graphs.
  if (session.runs_python || session.unrecorded != 0)
    raise_break(BreakCode::kHigherOrderOperator,
                "only backends in Python have operators that take functions");
  session.record_modes();
  begins_of(session).push_back({session.graph.nodes().size(), session.graph.value_count()});
  const ir::Operand operands[] = {object_operand(session, body), session.graph.value_list({})};
  session.graph.append(ir::op::kCall, operands, {}, session.line());
}

uint32_t storage_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::Value& value = graph.value(id);
  return value.storage == ir::ValueId::kNone ? index(id) : index(value.storage);
}

bool is_older(const ir::Graph& graph, const Begin& begin, uint32_t value) {
  return value < begin.values || std::ranges::any_of(graph.inputs(), [&](const ir::Input& each) {
           return index(each.value) == value;
         });
}

// Which function runs, and how often, is known to the operator alone.
void refuse_writes(Session& session, const Begin& begin) {
  const ir::Graph& graph = session.graph;
  for (const ir::Node& node : graph.nodes().subspan(begin.nodes)) {
    if (node.op == ir::op::kCall) continue;
    const ir::Effects effects = effects_of(graph, node);
    const auto operands = graph.operands(node);
    for (size_t i = 0; i < operands.size(); i++) {
      if (!effects.writes_argument(i)) continue;
      graph.for_each_value(operands[i], [&](ir::ValueId id) {
        if (is_older(graph, begin, storage_of(graph, id)))
          raise_break(BreakCode::kHigherOrderOperator,
                      "a function that an operator is given writes to a tensor that was there before");
      });
    }
  }
}

// The operator's results are taken for tensors with memory of their own.
void refuse_aliases(Session& session, const Begin& begin, PyObject* outputs) {
  std::unordered_set<uint32_t> seen;
  for (const at::Tensor& tensor : tensors_in(outputs)) {
    const uint32_t storage = storage_of(session.graph, session.value_of(tensor));
    if (is_older(session.graph, begin, storage) || !seen.insert(storage).second)
      raise_break(BreakCode::kHigherOrderOperator,
                  "a function that an operator is given returns a tensor that shares memory with an input or "
                  "another result: return a clone()");
  }
}

// `may_alias`: the operator computes its results of what the function returns, or does what calling it would
// do.
void end_body(Session& session, PyObject* body, PyObject* outputs, bool may_alias) {
  std::vector<Begin>& begins = begins_of(session);
  if (begins.empty()) throw std::runtime_error("a body ends that did not begin");
  session.record_modes();
  refuse_writes(session, begins.back());
  if (!may_alias) refuse_aliases(session, begins.back(), outputs);
  begins.pop_back();
  const ir::Operand operands[] = {object_operand(session, body), value_list(session, tensors_in(outputs))};
  session.graph.append(ir::op::kCall, operands, {}, session.line());
}

// So many of them, one behind the other.
TensorMeta stacked(TensorMeta meta, const Size& count) {
  meta.sizes.insert(meta.sizes.begin(), count);
  meta.strides.assign(meta.sizes.size(), Size(1));
  for (size_t i = meta.sizes.size() - 1; i > 0; i--) meta.strides[i - 1] = meta.strides[i] * meta.sizes[i];
  return meta;
}

// The operator; its results look like the tensors `like`, those from `stacked_from` on like as many of each
// as the tensor that is given at the place `counted` has rows.
py::tuple record_operator(Session& session, PyObject* call, PyObject* given, PyObject* like,
                          size_t stacked_from, size_t counted) {
  session.record_modes();
  const std::vector<at::Tensor> patterns = tensors_in(like);
  const std::vector<at::Tensor> operands_given = tensors_in(given);
  std::vector<TensorMeta> metas;
  std::vector<std::vector<shape::Dim>> dims(patterns.size());
  std::vector<ir::ValueSpec> specs;
  for (const at::Tensor& pattern : patterns) {
    metas.push_back(meta_of(pattern));
    if (metas.size() > stacked_from)
      metas.back() = stacked(metas.back(), meta_of(operands_given.at(counted)).sizes.at(0));
    metas.back().offset = Size(0);
    metas.back().wrapped_number = false;
    specs.push_back(value_spec(metas.back(), pattern.requires_grad(), dims[metas.size() - 1]));
  }
  const ir::Operand operands[] = {object_operand(session, call), value_list(session, operands_given)};
  const ir::NodeId node = session.graph.append(ir::op::kCall, operands, specs, session.line());
  py::tuple results(metas.size());
  for (size_t i = 0; i < metas.size(); i++) {
    const uint32_t value = index(session.graph.outputs(node)[static_cast<uint32_t>(i)]);
    results[i] = py::reinterpret_steal<py::object>(THPVariable_Wrap(
        make_tracer(metas[i], {session.id(), new_memory(), value}, patterns[i].requires_grad(), false)));
  }
  return results;
}

template <class Do>
PyObject* in_session(Do&& act) {
  HANDLE_TH_ERRORS
  Session* session = Session::current();
  if (session == nullptr) throw std::runtime_error("a body is recorded outside of a capture");
  try {
    return act(*session);
  } catch (const CaptureBreak& error) {
    session->note_break(error.code, error.msg);
    throw;
  }
  END_HANDLE_TH_ERRORS
}

PyObject* begin(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return in_session([&](Session& session) {
    begin_body(session, arguments[0]);
    return Py_NewRef(Py_None);
  });
}

PyObject* end(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return in_session([&](Session& session) {
    end_body(session, arguments[0], arguments[1], arguments[2] == Py_True);
    return Py_NewRef(Py_None);
  });
}

PyObject* call(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return in_session([&](Session& session) {
    return record_operator(session, arguments[0], arguments[1], arguments[2],
                           py::handle(arguments[3]).cast<size_t>(), py::handle(arguments[4]).cast<size_t>())
        .release()
        .ptr();
  });
}

PyObject* refuse(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return in_session([&](Session&) -> PyObject* {
    const char* text = PyUnicode_AsUTF8(arguments[0]);
    raise_break(BreakCode::kHigherOrderOperator, text != nullptr ? text : "");
  });
}

// Whether the innermost body that is open gives a tensor which is older than itself.
PyObject* is_older_tensor(PyObject*, PyObject* const* arguments, Py_ssize_t) {
  return in_session([&](Session& session) {
    const std::vector<Begin>& begins = begins_of(session);
    const uint32_t value = index(session.value_of(THPVariable_Unpack(arguments[0])));
    return PyBool_FromLong(!begins.empty() && is_older(session.graph, begins.back(), value));
  });
}

PyObject* takes_bodies(PyObject*, PyObject* const*, Py_ssize_t) {
  return in_session([&](Session& session) { return PyBool_FromLong(!session.runs_python); });
}

using Fast = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t);
PyCFunction as_function(Fast function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef methods[] = {
    {"begin_body", as_function(begin), METH_FASTCALL, nullptr},
    {"end_body", as_function(end), METH_FASTCALL, nullptr},
    {"call", as_function(call), METH_FASTCALL, nullptr},
    {"refuse", as_function(refuse), METH_FASTCALL, nullptr},
    {"is_older", as_function(is_older_tensor), METH_FASTCALL, nullptr},
    {"takes_bodies", as_function(takes_bodies), METH_FASTCALL, nullptr},
};

const PyMethodDef* definition_of(PyObject* callable) {
  return PyCFunction_Check(callable) ? reinterpret_cast<PyCFunctionObject*>(callable)->m_ml : nullptr;
}

}  // namespace

void prepare_bodies() {
  const py::module_ own = imported("stator.runtime.bodies");
  for (PyMethodDef& method : methods)
    own.attr(method.ml_name) = py::reinterpret_steal<py::object>(PyCFunction_New(&method, nullptr));
  wrapper_codes = py::object(own.attr("WRAPPER_CODES")).release().ptr();
}

bool is_body_call(PyObject* callable) {
  const PyMethodDef* found = definition_of(callable);
  return found >= std::begin(methods) && found < std::end(methods);
}

bool marks_outermost_body(PyObject* callable) {
  const PyMethodDef* found = definition_of(callable);
  const Session* session = Session::current();
  if (session == nullptr || (found != &methods[0] && found != &methods[1])) return false;
  return begins_of(*session).size() == (found == &methods[0] ? 0 : 1);
}

bool is_followed_wrapper(PyCodeObject* code) {
  return wrapper_codes != nullptr && PySet_Contains(wrapper_codes, reinterpret_cast<PyObject*>(code)) == 1;
}

bool has_open_body(const Session& session) { return !begins_of(session).empty(); }

}  // namespace stator
