// src/backends/fused/training/returned_views.cpp: follows views to their roots.
#include "backends/fused/training/returned_views.h"

#include <algorithm>

#include "core/ir/effects.h"
#include "core/pass/alias_facts.h"

namespace stator::fused {
namespace {

// Views of one type, by nodes that do nothing else; kNone where there is something in between.
ir::ValueId root_of(const ir::Graph& graph, ir::ValueId id) {
  const ir::DType dtype = graph.value(id).dtype;
  for (;;) {
    const ir::Value& value = graph.value(id);
    if (!value.is_tensor() || value.dtype != dtype || value.layout != ir::Layout::kStrided ||
        (value.flags & (ir::kConjugate | ir::kNegative)) != 0 || value.storage_offset.is_expr())
      return ir::ValueId::kNone;
    if (value.node == ir::NodeId::kNone || value.alias == ir::AliasKind::kFresh) return id;
    if (!ir::effects_of(graph, graph.node(value.node)).removable()) return ir::ValueId::kNone;
    id = value.base;
  }
}

}  // namespace

ReturnedViews::ReturnedViews(ir::Graph& graph) {
  const pass::AliasFacts facts(graph);
  std::vector<ir::ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ir::ValueId id = outputs[i];
    if (graph.value(id).alias == ir::AliasKind::kFresh || facts.is_written(id)) continue;
    const ir::ValueId root = root_of(graph, id);
    if (root == ir::ValueId::kNone || root == id) continue;
    const int64_t offset =
        graph.value(id).storage_offset.number() - graph.value(root).storage_offset.number();
    const bool is_root = offset == 0 && std::ranges::equal(graph.sizes(id), graph.sizes(root)) &&
                         std::ranges::equal(graph.strides(id), graph.strides(root));
    views_.push_back({i, Layout(graph, id), Layout(graph, root), offset, is_root});
    outputs[i] = root;
  }
  graph.set_outputs(outputs);
}

void ReturnedViews::apply(std::vector<c10::IValue>& results) const {
  const shape::Bindings no_symbols{};
  for (const View& view : views_) {
    const at::Tensor root = view.root.arranged(results[view.result].toTensor(), no_symbols);
    if (!view.is_root) {
      results[view.result] = view.layout.view(root, view.offset, no_symbols);
    } else {
      results[view.result] = root;
    }
  }
}

}  // namespace stator::fused
