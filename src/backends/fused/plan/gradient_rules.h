// src/backends/fused/plan/gradient_rules.h: what kernels compute of torch's formulas for gradients.
#pragma once

#include "backends/fused/plan/node_terms.h"

namespace stator::fused::gradients {

#define STATOR_FUSED(name, kind, function) TermId function(NodeTerms& n);
#include "backends/fused/plan/gradient_rules.def"

}  // namespace stator::fused::gradients
