// src/backends/fused/kernel/stages.cpp: one walk over the terms, operands first.
#include "backends/fused/kernel/stages.h"

#include <algorithm>

namespace stator::fused {

bool is_whole(const Kernel& kernel, const Access& access) {
  bool whole = kernel.reduced == 0;
  for (size_t d = kernel.rows(); d < kernel.sizes.size(); ++d) whole = whole || !access.strides[d].is(0);
  return whole;
}

Stages::Stages(const Kernel& kernel) : full(kernel.terms.size()), of(kernel.terms.size()) {
  for (TermId id = 0; id < kernel.terms.size(); ++id) {
    const Term& term = kernel.terms[id];
    if (term.op == Op::load) {
      full[id] = is_whole(kernel, kernel.loads[static_cast<size_t>(term.integer)]);
      continue;
    }
    if (term.op == Op::index) {
      full[id] = kernel.reduced == 0 || static_cast<size_t>(term.integer) >= kernel.rows();
      continue;
    }
    for (TermId operand : {term.a, term.b, term.c}) {
      if (operand == kNoTerm) continue;
      full[id] = full[id] || full[operand];
      of[id] = std::max(of[id], of[operand]);
    }
    if (is_reduction(term.op)) {
      full[id] = false;
      last = std::max(last, ++of[id]);
    }
  }
}

Stages::Pass Stages::pass(const Kernel& kernel, int stage) const {
  Pass pass;
  for (TermId id = 0; id < kernel.terms.size(); ++id) {
    if (is_reduction(kernel.terms[id].op) && of[id] == stage + 1) pass.reductions.push_back(id);
  }
  for (size_t i = 0; i < kernel.stores.size(); ++i) {
    if (is_whole(kernel, kernel.stores[i].access) && of[kernel.stores[i].term] == stage)
      pass.stores.push_back(i);
  }
  return pass;
}

}  // namespace stator::fused
