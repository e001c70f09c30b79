// src/core/pass/dead_code.cpp: a backward walk from outputs and effects.
#include "core/pass/dead_code.h"

#include <vector>

#include "core/ir/effects.h"

namespace stator::pass {

void remove_dead_code(ir::Graph& graph) {
  std::vector<bool> live(graph.value_count(), false);
  std::vector<bool> removed(graph.nodes().size(), false);
  for (ir::ValueId id : graph.outputs()) live[index(id)] = true;
  bool any_removed = false;
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const ir::Node& node = graph.nodes()[i];
    bool needed = !ir::effects_of(graph, node).removable();
    for (ir::ValueId output : ir::Graph::outputs(node)) needed = needed || live[index(output)];
    removed[i] = !needed;
    any_removed = any_removed || !needed;
    if (needed) graph.for_each_use(node, [&](ir::ValueId id) { live[index(id)] = true; });
  }
  if (any_removed) graph.remove_nodes(removed);
}

}  // namespace stator::pass
