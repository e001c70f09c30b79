// src/backends/openxla/emit/emit.cpp: walks a graph, asks each operator's rule, writes the module around it.
#include "backends/openxla/emit/emit.h"

#include "backends/openxla/emit/border.h"
#include "backends/openxla/emit/call.h"

namespace stator::openxla {

namespace {

void run_rule(const ir::Graph& graph, const ir::Node& node, std::vector<Tensor>& values, Builder& builder) {
  const std::string& name = graph.op_of(node).name;
  const Rule rule = find_rule(name);
  if (!rule) throw Unsupported{"there is no rule"};
  const Call call(graph, node, values, builder);
  const Outputs outputs = rule(call);
  if (outputs.size() < call.outputs()) throw Unsupported{"the rule gives too few results"};
  for (size_t i = 0; i < call.outputs(); ++i) {
    if (!call.wanted(i)) continue;
    Tensor result = builder.convert(outputs[i], call.result_dtype(i));
    if (result.dims != call.result_dims(i)) throw Unsupported{"the rule gives another shape than torch"};
    values[index(ir::Graph::outputs(node)[static_cast<uint32_t>(i)])] = std::move(result);
  }
}

}  // namespace

Result<Emitted, Refusal> emit(const ir::Graph& graph, const EmitOptions& options) {
  size_t at = 0;
  try {
    Builder builder(options.precision);
    std::vector<Tensor> values(graph.value_count());
    std::string arguments, results, names;
    std::vector<Tensor> declared;
    for (const ir::Input& input : graph.inputs()) {
      const Dims order = border_order(graph, input.value);
      declared.push_back(
          builder.declare(graph.value(input.value).dtype, permuted(sizes_of(graph, input.value), order)));
      arguments += (arguments.empty() ? "" : ", ") + Builder::name(declared.back()) + ": " +
                   Builder::type_text(declared.back());
    }
    for (size_t i = 0; i < declared.size(); ++i) {
      const ir::ValueId id = graph.inputs()[i].value;
      values[index(id)] = builder.transpose(declared[i], inverse(border_order(graph, id)));
    }
    for (const ir::Node& node : graph.nodes()) {
      run_rule(graph, node, values, builder);
      ++at;
    }
    const auto returned = [&](const Tensor& out) {
      names += (names.empty() ? "" : ", ") + Builder::name(out);
      results += (results.empty() ? "" : ", ") + Builder::type_text(out);
    };
    for (ir::ValueId id : graph.outputs())
      returned(builder.transpose(values[index(id)], border_order(graph, id)));
    const std::optional<Tensor> required = options.checked ? builder.required() : std::nullopt;
    if (required) returned(*required);
    return Emitted{"module @stator {\n  func.func public @main(" + arguments + ") -> (" + results + ") {\n" +
                       builder.take() + "    \"func.return\"(" + names + ") : (" + results +
                       ") -> ()\n  }\n}\n",
                   required.has_value()};
  } catch (const Unsupported& unsupported) {
    return Refusal{at, unsupported.reason};
  }
}

std::vector<Refusal> refusals(const ir::Graph& graph, const EmitOptions& options) {
  std::vector<Refusal> result;
  std::vector<Tensor> values(graph.value_count());
  for (size_t at = 0; at < graph.nodes().size(); ++at) {
    const ir::Node& node = graph.nodes()[at];
    try {
      Builder builder(options.precision);
      graph.for_each_use(node, [&](ir::ValueId id) {
        if (graph.value(id).kind != ir::ValueKind::kTensor) return;
        element_text(graph.value(id).dtype);
        values[index(id)] = builder.declare(graph.value(id).dtype, sizes_of(graph, id));
      });
      run_rule(graph, node, values, builder);
    } catch (const Unsupported& unsupported) {
      result.push_back({at, unsupported.reason});
    }
  }
  return result;
}

}  // namespace stator::openxla
