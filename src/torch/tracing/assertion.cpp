// src/torch/tracing/assertion.cpp: finds the statement by the instruction at which the program stands.
#include "torch/tracing/assertion.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/utils/pybind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "torch/operators/operator_info.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/recorder.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

// The numbers of these instructions; -1: this Python has none of the name.
struct Instructions {
  int jump, jump_forward, to_bool, assertion_error, load_constant, cache;

  Instructions() {
    const py::dict all = imported("opcode").attr("opmap");
    const auto number = [&](const char* name) { return all.contains(name) ? all[name].cast<int>() : -1; };
    jump = number("POP_JUMP_IF_TRUE");
    jump_forward = number("POP_JUMP_FORWARD_IF_TRUE");
    to_bool = number("TO_BOOL");
    assertion_error = number("LOAD_ASSERTION_ERROR");
    load_constant = number("LOAD_CONST");
    cache = number("CACHE");
  }
};

// What is said where the assertion fails. Nothing: the program does not stand at `assert`: a jump over what
// loads AssertionError.
std::optional<std::string> message_of_assert() {
  static const Instructions* const of = new Instructions;
  PyFrameObject* frame = PyEval_GetFrame();
  if (frame == nullptr) return std::nullopt;
  const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const auto bytes =
      py::reinterpret_steal<py::bytes>(PyCode_GetCode(reinterpret_cast<PyCodeObject*>(code.ptr())));
  const auto text = static_cast<std::string_view>(bytes);
  const auto opcode = [&](size_t unit) {
    return 2 * unit < text.size() ? static_cast<int>(static_cast<uint8_t>(text[2 * unit])) : -1;
  };
  const auto next = [&](size_t unit) {
    do unit++;
    while (opcode(unit) == of->cache);
    return unit;
  };
  const int last = PyFrame_GetLasti(frame);
  if (last < 0) return std::nullopt;
  size_t unit = static_cast<size_t>(last) / 2;
  if (opcode(unit) == of->to_bool && of->to_bool >= 0) unit = next(unit);
  const int jump = opcode(unit);
  if (jump < 0 || (jump != of->jump && jump != of->jump_forward)) return std::nullopt;
  unit = next(unit);
  if (opcode(unit) != of->assertion_error) return std::nullopt;
  unit = next(unit);
  if (opcode(unit) == of->load_constant) {
    const py::tuple constants = code.attr("co_consts");
    const size_t number = static_cast<uint8_t>(text[2 * unit + 1]);
    if (number < constants.size() && py::isinstance<py::str>(constants[number]))
      return constants[number].cast<std::string>();
  }
  return "assertion error";
}

}  // namespace

bool record_assertion(Session& session, const at::Tensor& tensor) {
  if (session.runs_python || session.unrecorded != 0 || session.following != 0) return false;
  if (tensor.numel() != 1 || is_wrapper(tensor)) return false;
  std::optional<std::string> message;
  {
    const py::gil_scoped_acquire locked;
    message = message_of_assert();
  }
  // Handlers of the program's see no error of a run.
  if (!message || !session.passes_errors_on || !session.passes_errors_on(session.line())) return false;
  static const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_assert_async", "msg");
  const OperatorInfo& info = operator_info(handle);
  session.before_refusal(info.name);
  session.record_modes();
  const std::vector<c10::IValue> arguments = {tensor, *message};
  std::vector<ir::Operand> operands;
  for (size_t i = 0; i < arguments.size(); i++)
    operands.push_back(operand_of(session, info, i, arguments[i]));
  session.graph.append(info.id, operands, {}, session.line());
  return true;
}

}  // namespace stator
