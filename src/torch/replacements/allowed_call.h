// src/torch/replacements/allowed_call.h: a call of a Python function as one node of the graph.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>

#include "capture/cpython/ref.h"
#include "torch/tracing/session.h"

namespace stator {

// What a node of stator::call holds: takes a list of tensors, returns one (stator/runtime/allowed_call.py).
struct OpaqueFunction {
  explicit OpaqueFunction(py::object call) : call(std::move(call)) {}
  ~OpaqueFunction();
  OpaqueFunction(const OpaqueFunction&) = delete;
  OpaqueFunction& operator=(const OpaqueFunction&) = delete;
  py::object call;
  // Known of a forward that was followed: it changes nothing that existed before it. `draws`: but the state
  // of torch's own generators.
  bool leaves_nothing = false;
  bool draws = false;
};

// What the call returns in the capture, with tracers for its tensors; null, and the reason in `why`, if it
// cannot be recorded.
Ref<> record_opaque_call(Session& session, PyObject* function, PyObject* arguments, PyObject* keywords,
                         std::string& why);

// A node that calls a Python object in each run: with a list of the tensors and then the numbers, for a list
// of what `results` describes.
ir::NodeId record_python_call(Session& session, const std::shared_ptr<OpaqueFunction>& function,
                              const std::string& name, std::span<const at::Tensor> tensors,
                              std::span<const ir::Operand> numbers, std::span<const ir::ValueSpec> results);

// The symbolic numbers among the arguments of an OpaqueCall (stator/runtime/allowed_call.py), which each run
// gives it.
std::vector<ir::Operand> number_operands(Session& session, const py::object& call);

}  // namespace stator
