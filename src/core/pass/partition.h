// src/core/pass/partition.h: a graph of forward and backward as two graphs, with as little kept between them
// as a few recomputed operators allow.
//
// What is kept is a smallest cut between what forward alone can make (inputs, matrix products, random
// numbers) and what backward uses: a value costs its bytes, and an operator of recomputable.def costs nothing
// to compute again. Eager programs may write to an argument or a result behind the forward where autograd
// did not keep it; so memory that the program sees is read in backward only where the formulas of the
// backward read it themselves, and the keeper can watch its version as torch does.
#pragma once

#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/result.h"

namespace stator::pass {

// Inputs: those of forward, and among them, from `first_gradient` on, the gradients of results. Outputs:
// results, then gradients of inputs.
struct JointGraph {
  ir::Graph graph;
  size_t forward_nodes = 0;  // the first ones; the others are backward's
  size_t first_gradient = 0, gradients = 0;
  size_t results = 0;
};

struct Partition {
  ir::Graph forward;   // inputs: the joint graph's without gradients; outputs: results, then what is kept
  ir::Graph backward;  // inputs: what is kept, then gradients of results; outputs: gradients of inputs
  std::vector<ir::ValueId> kept;  // values of the joint graph
};

// The error says what stands in the way: a backward that writes to what the forward made, a mode.
Result<Partition, std::string> partition(const JointGraph& joint);

// The backward of a joint graph whose forward part ran as one of another joint graph's: the same inputs and
// forward nodes, but gradients of fewer results. `kept` are that partition's.
Result<ir::Graph, std::string> backward_from(const JointGraph& joint, const std::vector<ir::ValueId>& kept);

}  // namespace stator::pass
