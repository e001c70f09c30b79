// src/backends/fused/program/constant_evaluator.cpp: one boxed call, its result held by the graph.
#include "backends/fused/program/constant_evaluator.h"

#include <ATen/core/grad_mode.h>

#include "backends/fused/program/layout.h"
#include "backends/native/boxing.h"
#include "core/ir/print.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"
#include "torch/tracing/caught_error.h"

namespace stator::fused {

pass::Folded evaluate_constant(const ir::Graph& graph, const ir::Node& node) {
  const OperatorInfo* info = torch_operator(node.op);
  const ir::Value& output = graph.value(node.first_output);
  if (!info || output.device.type != ir::DeviceType::kCpu || output.layout != ir::Layout::kStrided) return {};
  try {
    std::vector<c10::IValue> values(graph.value_count());
    graph.for_each_use(node, [&](ir::ValueId id) {
      const ir::Node& constant = graph.node(graph.value(id).node);
      const auto& object = graph.constant(graph.operands(constant)[0]).object;
      if (object) values[index(id)] = *static_cast<const c10::IValue*>(object.get());
    });
    shape::Postfix no_symbols;
    const shape::Bindings no_bindings{};
    torch::jit::Stack stack;
    size_t position = 0;
    for (const ir::Operand& operand : graph.operands(node)) {
      const c10::Type* type = info->handle.schema().arguments()[position++].type().get();
      stack.push_back(
          native::make_template(graph, operand, type, no_symbols).fill(values, no_symbols, no_bindings));
    }
    const at::NoGradGuard no_gradients;
    info->handle.callBoxed(&stack);
    if (stack.size() != 1 || !stack[0].isTensor()) return {};
    if (!Layout(graph, node.first_output).fits(stack[0].toTensor(), no_bindings)) return {};
    return {std::make_shared<c10::IValue>(std::move(stack[0])),
            "folded " + ir::type_text(graph, node.first_output)};
  } catch (const std::exception&) {
    drop_caught();
    return {};  // it raises when the program runs
  }
}

}  // namespace stator::fused
