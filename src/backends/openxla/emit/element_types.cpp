// src/backends/openxla/emit/element_types.cpp: looks calls up in element_types.def.
#include "backends/openxla/emit/element_types.h"

#include <string_view>
#include <unordered_map>

#include "backends/openxla/emit/builder.h"

namespace stator::openxla {

namespace {

enum Kind : unsigned {
  kBool = 1,
  kInteger = 2,
  kComplex = 4,
  kFloating = 8,
  kWhole = 16,
  kAnyBool = 32,
  kUnequal = 64,
  kUnequalWide = 128,
  kIndex = 256,
  kLongIndex = 512,
  kMask = 1024,
};

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

// What the element types of a call are.
struct Given {
  unsigned kinds = 0;  // of its tensors; indices and masks apart
  std::optional<ir::DType> first;
  bool unequal = false, has_truth = false;
  std::optional<ir::DType> index, mask;
};

Given given_to(const ir::Graph& graph, const ir::Node& node) {
  Given given;
  const auto operands = graph.operands(node);
  const auto& names = graph.op_of(node).arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string_view name = i < names.size() ? std::string_view(names[i]) : std::string_view();
    given.has_truth = given.has_truth || operands[i].kind == ir::OperandKind::kBool;
    graph.for_each_value(operands[i], [&](ir::ValueId id) {
      if (!graph.value(id).is_tensor()) return;
      const ir::DType dtype = graph.value(id).dtype;
      if (name == "index" || name == "indices") {
        given.index = dtype;
      } else if (name == "mask") {
        given.mask = dtype;
      } else {
        given.kinds |= kind_of(dtype);
        given.unequal = given.unequal || (given.first && *given.first != dtype);
        if (!given.first) given.first = dtype;
      }
    });
  }
  return given;
}

bool raises(const ir::Graph& graph, const ir::Node& node) {
  const unsigned refused = refused_kinds(graph.op_of(node).name);
  if (refused == 0) return false;
  const Given given = given_to(graph, node);
  const auto refuses = [refused](unsigned kind) { return (refused & kind) != 0; };
  if ((given.kinds & refused & (kComplex | kFloating)) != 0) return true;
  if (refuses(kAnyBool) && (given.has_truth || (given.kinds & kBool) != 0)) return true;
  if (given.unequal && refuses(kUnequal)) return true;
  if (given.unequal && refuses(kUnequalWide) && accumulation_type(*given.first) == *given.first) return true;
  if (refuses(kIndex) && given.index && !is_integer(*given.index)) return true;
  if (refuses(kLongIndex) && given.index && *given.index != ir::DType::kI64) return true;
  if (refuses(kMask) && given.mask && *given.mask != ir::DType::kBool) return true;
  if (given.kinds == kBool && refuses(kBool)) return true;
  const bool whole = given.kinds != 0 && (given.kinds & ~(kBool | kInteger)) == 0;
  if (whole && refuses(kWhole)) return true;
  if (!whole || !refuses(kInteger) || node.output_count == 0) return false;
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
