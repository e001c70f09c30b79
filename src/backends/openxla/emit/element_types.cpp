// src/backends/openxla/emit/element_types.cpp: looks calls up in element_types.def.
#include "backends/openxla/emit/element_types.h"

#include <string_view>
#include <unordered_map>

#include "backends/openxla/emit/builder.h"

namespace stator::openxla {

namespace {

enum Kind : unsigned { kBool = 1, kInteger = 2, kComplex = 4, kFloating = 8 };

unsigned kind_of(ir::DType dtype) {
  if (dtype == ir::DType::kBool) return kBool;
  if (is_complex(dtype)) return kComplex;
  return is_integer(dtype) ? kInteger : kFloating;
}

// "aten::relu_" and "aten::max.dim" as they stand in the table.
std::string_view base_name(std::string_view name) {
  if (!name.starts_with("aten::")) return {};
  name.remove_prefix(6);
  name = name.substr(0, name.find('.'));
  if (name.ends_with('_') && !name.ends_with("__")) name.remove_suffix(1);
  return name;
}

unsigned refused_kinds(std::string_view name) {
  static const std::unordered_map<std::string_view, unsigned> table = {
#define STATOR_RAISES_FOR(name, kinds) {name, kinds},
#include "backends/openxla/emit/element_types.def"
  };
  const auto found = table.find(base_name(name));
  return found == table.end() ? 0 : found->second;
}

bool raises(const ir::Graph& graph, const ir::Node& node) {
  const unsigned refused = refused_kinds(graph.op_of(node).name);
  if (refused == 0) return false;
  unsigned given = 0;
  graph.for_each_use(node, [&](ir::ValueId id) {
    if (graph.value(id).is_tensor()) given |= kind_of(graph.value(id).dtype);
  });
  if ((given & refused & (kComplex | kFloating)) != 0) return true;
  if (given == kBool) return (refused & kBool) != 0;
  if (given != kInteger || (refused & kInteger) == 0 || node.output_count == 0) return false;
  const ir::Value& result = graph.value(node.first_output);
  return result.is_tensor() && kind_of(result.dtype) == kInteger;
}

}  // namespace

std::optional<std::string> raising_call(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) {
    if (raises(graph, node)) return graph.op_of(node).name;
  }
  return {};
}

}  // namespace stator::openxla
