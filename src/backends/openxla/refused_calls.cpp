// src/backends/openxla/refused_calls.cpp: runs torch's kernels on tensors of zeros, and of ones.
#include "backends/openxla/refused_calls.h"

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Exceptions.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "backends/native/boxing.h"
#include "backends/native/modes.h"
#include "core/ir/effects.h"
#include "core/ir/print.h"
#include "torch/inference/quiet_warnings.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/tracer.h"

namespace stator::openxla {
namespace {

// What stands in the way of trying a call.
struct CannotTry {};

int64_t number_of(const ir::Graph& graph, shape::Dim dim) {
  const std::optional<int64_t> number = graph.shapes().hint(dim);
  if (!number) throw CannotTry{};
  return *number;
}

std::vector<int64_t> numbers_of(const ir::Graph& graph, std::span<const shape::Dim> dims) {
  std::vector<int64_t> numbers;
  for (const shape::Dim& dim : dims) numbers.push_back(number_of(graph, dim));
  return numbers;
}

// The tensors of one call, full of one number.
class Examples {
 public:
  Examples(const ir::Graph& graph, const ir::Node& node, int contents) : graph_(graph), contents_(contents) {
    graph.for_each_use(node, [&](ir::ValueId id) { measure(id); });
    values_.resize(graph.value_count());
    graph.for_each_use(node, [&](ir::ValueId id) { values_[index(id)] = made(id); });
  }

  const std::vector<c10::IValue>& values() const { return values_; }

 private:
  struct Memory {
    int64_t reach = 0;
    at::ScalarType dtype = at::kByte;
    bool mixed = false;  // views as elements of another type: each has memory of its own
    at::Tensor elements;
  };

  int64_t reach_of(ir::ValueId id) const {
    const std::vector<int64_t> sizes = numbers_of(graph_, graph_.sizes(id)),
                               strides = numbers_of(graph_, graph_.strides(id));
    int64_t reach = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0) return 0;
      reach += (sizes[i] - 1) * strides[i];
    }
    return reach;
  }

  void measure(ir::ValueId id) {
    const ir::Value& value = graph_.value(id);
    if (!value.is_tensor()) return;
    if (value.layout != ir::Layout::kStrided || (value.rank > 0 && !value.has_strides)) throw CannotTry{};
    Memory& memory = memory_[index(value.storage)];
    const auto dtype = static_cast<at::ScalarType>(value.dtype);
    memory.mixed = memory.mixed || (memory.reach > 0 && memory.dtype != dtype);
    memory.dtype = dtype;
    memory.reach = std::max(memory.reach, number_of(graph_, value.storage_offset) + reach_of(id));
  }

  at::Tensor elements(int64_t count, const ir::Value& value) const {
    const c10::Device device(static_cast<c10::DeviceType>(value.device.type), value.device.index);
    const auto dtype = static_cast<at::ScalarType>(value.dtype);
    return at::full({count}, contents_, at::TensorOptions(dtype).device(device));
  }

  c10::IValue made(ir::ValueId id) {
    const ir::Value& value = graph_.value(id);
    if (value.kind == ir::ValueKind::kFloat) return static_cast<double>(contents_);
    if (value.kind == ir::ValueKind::kInt) return static_cast<int64_t>(contents_);
    if (value.kind == ir::ValueKind::kBool) return contents_ != 0;
    if (!value.is_tensor()) return {};
    if ((value.flags & ir::kWrappedNumber) != 0) {
      at::Tensor number = elements(1, value).reshape({});
      number.unsafeGetTensorImpl()->set_wrapped_number(true);
      return number;
    }
    Memory& memory = memory_[index(value.storage)];
    const int64_t offset = memory.mixed ? 0 : number_of(graph_, value.storage_offset);
    at::Tensor elements = memory.elements;
    if (memory.mixed || !elements.defined())
      elements = this->elements(memory.mixed ? reach_of(id) : memory.reach, value);
    if (!memory.mixed) memory.elements = elements;
    // No view to autograd, some of whose operators refuse views.
    at::Tensor tensor = at::empty({0}, elements.options());
    tensor.set_(elements.storage(), offset, numbers_of(graph_, graph_.sizes(id)),
                numbers_of(graph_, graph_.strides(id)));
    if ((value.flags & ir::kConjugate) != 0) tensor = tensor.conj();
    if ((value.flags & ir::kNegative) != 0) tensor = tensor._neg_view();
    return tensor;
  }

  const ir::Graph& graph_;
  int contents_;
  std::unordered_map<uint32_t, Memory> memory_;  // by alias set
  std::vector<c10::IValue> values_;
};

c10::IValue argument_of(const ir::Graph& graph, const ir::Operand& operand, const c10::Type* type,
                        const std::vector<c10::IValue>& values) {
  using Kind = ir::OperandKind;
  if (operand.kind == Kind::kSymInt) return number_of(graph, shape::Dim(operand.expr));
  if (operand.kind == Kind::kSymIntList) return numbers_of(graph, graph.dims(operand));
  const auto is_symbolic = [](const ir::Operand& element) { return element.kind == Kind::kSymInt; };
  if (operand.kind == Kind::kList && std::ranges::any_of(graph.elements(operand), is_symbolic))
    throw CannotTry{};
  shape::Postfix expressions;
  return native::make_template(graph, operand, type, expressions).fill(values, expressions, {});
}

torch::jit::Stack stack_of(const ir::Graph& graph, const ir::Node& node, const c10::FunctionSchema* schema,
                           const std::vector<c10::IValue>& values) {
  torch::jit::Stack stack;
  for (const ir::Operand& operand : graph.operands(node)) {
    const c10::Type* type = schema ? schema->arguments()[stack.size()].type().get() : nullptr;
    stack.push_back(argument_of(graph, operand, type, values));
  }
  return stack;
}

// What the kernel says; nothing if it does not raise for its arguments. Memory that runs short says nothing
// of them.
std::optional<std::string> error_of(const OperatorInfo& info, torch::jit::Stack stack) {
  const c10::impl::ExcludeDispatchKeyGuard no_tracers(kTracerKey);
  try {
    info.handle.callBoxed(&stack);
    return {};
  } catch (const c10::OutOfMemoryError&) {
    return {};
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    if (message.find("can't allocate memory") != std::string::npos) return {};
    return message;
  } catch (python_error& error) {
    error.persist();
    drop_caught();
    return std::string("Python raised");
  } catch (const std::bad_alloc&) {
    return {};
  } catch (const std::exception& error) {
    std::string what = error.what();
    drop_caught();
    return what;
  }
}

// Larger tensors, of which XLA may make none where it fuses, are not made to learn of an error.
constexpr int64_t kMostElements = int64_t{1} << 27;

bool is_small(const ir::Graph& graph, ir::ValueId id) {
  int64_t count = 1;
  for (int64_t size : numbers_of(graph, graph.sizes(id))) {
    if (size == 0) return true;
    if (size > kMostElements / count) return false;
    count *= size;
  }
  return true;
}

bool may_be_tried(const ir::Graph& graph, const ir::Node& node, const OperatorInfo& info) {
  bool small = true;
  graph.for_each_use(node, [&](ir::ValueId id) { small = small && is_small(graph, id); });
  for (ir::ValueId id : ir::Graph::outputs(node)) small = small && is_small(graph, id);
  if (!small) return false;
  const ir::Effects effects = ir::effects_of(graph, node);
  return info.kind == OperatorKind::ordinary && info.name.starts_with("aten::") && !effects.random &&
         !effects.unknown && !effects.mode;
}

bool refuses(const ir::Graph& graph, const ir::Node& node, const OperatorInfo& info) {
  const auto try_with = [&](int contents) {
    const Examples examples(graph, node, contents);
    return error_of(info, stack_of(graph, node, &info.handle.schema(), examples.values()));
  };
  const std::optional<std::string> error = try_with(0);
  if (!error) return false;
  // A divisor of 0, a singular matrix: other contents are not refused, or in other words. CUDA's kernels do
  // not raise for what tensors hold, and a place out of range would end the process's use of the device.
  const auto on_cpu = [&] {
    bool all = true;
    graph.for_each_use(node, [&](ir::ValueId id) {
      all = all && (!graph.value(id).is_tensor() || graph.value(id).device.type == ir::DeviceType::kCpu);
    });
    return all;
  };
  return !on_cpu() || try_with(1) == error;
}

// All that a kernel's refusal can depend on: the call with its operands numbered anew, and their types.
std::string key_of(const ir::Graph& graph, const ir::Node& node) {
  std::string key;
  std::vector<std::string> operands;  // their names, and those of their alias sets
  const auto number_of = [&](const std::string& name) {
    const auto found = std::ranges::find(operands, name);
    const auto number = std::to_string(found - operands.begin());
    if (found == operands.end()) operands.push_back(name);
    return number;
  };
  const std::string text = ir::node_text(graph, node);
  for (size_t i = 0; i < text.size();) {
    const size_t end =
        text[i] == '%' ? std::min(text.find_first_not_of("0123456789", i + 1), text.size()) : i + 1;
    key += text[i] == '%' ? '%' + number_of(text.substr(i, end - i)) : std::string(1, text[i]);
    i = end;
  }
  graph.for_each_use(node, [&](ir::ValueId id) {
    const ir::Value& value = graph.value(id);
    key += ';' + ir::type_text(graph, id) + ' ' + std::to_string(value.flags) + ' ' +
           number_of("set " + std::to_string(index(value.storage)));
  });
  return key;
}

// Answers of earlier graphs. Guarded by the GIL.
bool refuses_as_before(const ir::Graph& graph, const ir::Node& node, const OperatorInfo& info, bool in_mode) {
  static std::unordered_map<std::string, bool> known;
  constexpr size_t kMost = 1 << 16;
  // Symbols say nothing outside of their graph, objects nothing as text.
  const auto is_object = [](const ir::Operand& operand) { return operand.kind == ir::OperandKind::kOpaque; };
  if (in_mode || graph.shapes().has_symbols() || std::ranges::any_of(graph.operands(node), is_object))
    return refuses(graph, node, info);
  const std::string key = key_of(graph, node);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  if (known.size() >= kMost) known.clear();
  return known[key] = refuses(graph, node, info);
}

}  // namespace

std::optional<std::string> refused_call(const ir::Graph& graph) {
  const at::NoGradGuard no_gradients;
  const QuietWarnings quiet;
  native::ModeStack modes;
  bool in_mode = false;
  for (const ir::Node& node : graph.nodes()) {
    try {
      if (graph.op_of(node).flags.has(ir::OpFlag::kMode)) {
        modes.apply(node.op, stack_of(graph, node, nullptr, {}));
        in_mode = in_mode || node.op != ir::op::kSetGradEnabled;
        continue;
      }
      const OperatorInfo* info = torch_operator(node.op);
      if (info && may_be_tried(graph, node, *info) && refuses_as_before(graph, node, *info, in_mode))
        return graph.op_of(node).name;
    } catch (const CannotTry&) {
      continue;
    }
  }
  return {};
}

}  // namespace stator::openxla
