// src/backends/fused/rewrite/rewrite.cpp: the passes in order.
#include "backends/fused/rewrite/rewrite.h"

namespace stator::fused {

ir::Graph rewritten(const ir::Graph& graph, Language language) {
  ir::Graph made = with_shared_masks(without_own_writes(graph));
  if (language == Language::cuda) {
    made = with_separate_bias(made);
    made = with_padded_rows(made);
    made = with_norms_of_rows(with_channels_last(made));
  }
  return made;
}

}  // namespace stator::fused
