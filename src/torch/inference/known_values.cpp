// src/torch/inference/known_values.cpp: which tensors are known, and what they hold.
#include "torch/inference/known_values.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>

#include "torch/inference/inference.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/tensors_in.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

constexpr int64_t kMostElements = 4096;
constexpr int kDeepest = 64;

// While it lives operators are executed.
class Paused {
 public:
  explicit Paused(Session& session) : session_(session) { session.pause(); }
  ~Paused() { session_.resume(); }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

 private:
  Session& session_;
  const at::NoGradGuard no_grad_;
};

bool is_symbol(const c10::IValue& value) {
  if (value.isSymInt()) return value.toSymInt().is_symbolic();
  if (value.isSymFloat()) return value.toSymFloat().is_symbolic();
  return value.isSymBool() || value.isGenerator();
}

bool has_symbol(const c10::IValue& value) {
  if (is_symbol(value)) return true;
  if (!value.isList()) return false;
  const auto items = value.toListRef();
  return std::any_of(items.begin(), items.end(), is_symbol);
}

// Nodes that are no operators of torch's run code of the program's, which may write to what it is given.
bool runs_foreign_code(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    const std::string& name = graph.op_of(node).name;
    if (name.starts_with("aten::")) continue;
    bool takes_values = false;
    graph.for_each_use(node, [&](ir::ValueId) { takes_values = true; });
    if (takes_values) return true;
  }
  return false;
}

// The tensors of one call's results, in order.
std::vector<at::Tensor> tensors_of(std::span<const c10::IValue> results) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& result : results)
    for_each_tensor(result, [&](const at::Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

}  // namespace

bool KnownValues::is_known(const c10::IValue& argument) const {
  if (has_symbol(argument)) return false;
  bool known = true;
  for_each_tensor(argument, [&](const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const Tracer* tracer = as_tracer(tensor);
    known = known && tracer != nullptr && tracer->symbolic_meta() == nullptr &&
            known_.count(tracer->identity().value) != 0;
  });
  return known;
}

void KnownValues::note(const OperatorInfo& info, std::span<const c10::IValue> arguments,
                       const Inference& inference, ir::ValueId first) {
  if (info.name == "aten::detach_") {  // torch.tensor ends with it; the contents stay
    const Tracer* tracer = as_tracer(arguments[0].toTensor());
    const auto entry = tracer != nullptr ? known_.find(tracer->identity().value) : known_.end();
    if (entry == known_.end()) return;
    Known same = entry->second;
    known_[index(first)] = std::move(same);
    return;
  }
  if (info.written != 0) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!(info.written >> std::min<size_t>(i, 63) & 1)) continue;
      for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
        const Tracer* tracer = tensor.defined() ? as_tracer(tensor) : nullptr;
        if (tracer != nullptr) written_.insert(tracer->identity().memory);
      });
    }
    return;
  }
  if (info.random || info.name.find("empty") != std::string::npos || !info.name.starts_with("aten::")) return;
  if (at::autocast::is_autocast_enabled(c10::kCPU)) return;  // the modes of then are not those of now
  for (const c10::IValue& argument : arguments) {
    if (!is_known(argument)) return;
  }
  for (size_t i = 0; i < inference.outputs.size(); ++i) {
    known_[index(first) + static_cast<uint32_t>(i)] = {&info, {arguments.begin(), arguments.end()}, i, {}};
  }
}

void KnownValues::note_literal(ir::ValueId value, const at::Tensor& literal) {
  known_[index(value)].real = literal;
}

bool KnownValues::compute_all(Session& session, std::span<const c10::IValue> arguments, int depth,
                              std::vector<c10::IValue>& real) {
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensor() && argument.toTensor().defined()) {
      auto found = compute(session, argument.toTensor(), depth);
      if (!found) return false;
      real.emplace_back(std::move(*found));
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : argument.toTensorVector()) {
        auto found = compute(session, tensor, depth);
        if (!found) return false;
        list.push_back(std::move(*found));
      }
      real.emplace_back(std::move(list));
    } else {
      bool has_tensors = false;
      for_each_tensor(argument, [&](const at::Tensor& tensor) { has_tensors |= tensor.defined(); });
      if (has_tensors) return false;
      real.push_back(argument);
    }
  }
  return true;
}

std::optional<at::Tensor> KnownValues::compute(Session& session, const at::Tensor& tensor, int depth) {
  const Tracer* tracer = as_tracer(tensor);
  if (tracer == nullptr || tracer->symbolic_meta() != nullptr || depth > kDeepest) return std::nullopt;
  if (!tensor.device().is_cpu() || tensor.numel() > kMostElements) return std::nullopt;
  if (written_.count(tracer->identity().memory) != 0) return std::nullopt;
  const auto entry = known_.find(tracer->identity().value);
  if (entry == known_.end()) return std::nullopt;
  if (entry->second.real.defined()) return entry->second.real;
  std::vector<c10::IValue> stack;
  if (!compute_all(session, entry->second.arguments, depth + 1, stack)) return std::nullopt;
  {
    const Paused paused(session);
    entry->second.info->handle.callBoxed(stack);
  }
  const std::vector<at::Tensor> results = tensors_of(stack);
  if (entry->second.output >= results.size()) return std::nullopt;
  const at::Tensor& real = results[entry->second.output];
  if (!real.defined() || real.scalar_type() != tensor.scalar_type() || real.sizes() != tensor.sizes())
    return std::nullopt;  // made in other modes than those of now
  entry->second.real = real;
  return real;
}

std::optional<at::Tensor> KnownValues::find(Session& session, const at::Tensor& tensor) {
  if (session.unrecorded != 0 || known_.empty() || !is_known(tensor)) return std::nullopt;
  if (runs_foreign_code(session.graph)) return std::nullopt;
  try {
    return compute(session, tensor, 0);
  } catch (const std::exception&) {
    drop_caught();
    return std::nullopt;  // the program will be told when it runs
  }
}

std::optional<c10::IValue> KnownValues::answer(Session& session, const OperatorInfo& info,
                                               std::span<const c10::IValue> arguments) {
  std::vector<c10::IValue> stack;
  for (const c10::IValue& argument : arguments) {
    if (!argument.isTensor()) {
      stack.push_back(argument);
      continue;
    }
    auto real = find(session, argument.toTensor());
    if (!real) return std::nullopt;
    stack.emplace_back(std::move(*real));
  }
  try {
    const Paused paused(session);
    info.handle.callBoxed(stack);
  } catch (const std::exception&) {
    drop_caught();
    return std::nullopt;
  }
  if (stack.size() != 1 || !(stack[0].isBool() || stack[0].isScalar())) return std::nullopt;
  return stack[0];
}

}  // namespace stator
