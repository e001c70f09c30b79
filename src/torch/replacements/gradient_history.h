// src/torch/replacements/gradient_history.h: the history that torch's autograd will have in a run, read off
// the graph of a capture.
#pragma once

#include <optional>
#include <unordered_set>
#include <vector>

#include "torch/tracing/session.h"

namespace stator {

// A node that computes gradients: backward() or autograd.grad().
struct GradientNode {
  std::vector<ir::ValueId> roots, gradients, inputs;
  bool keeps_graph = false;
  bool creates_graph = false;
};
std::optional<GradientNode> gradient_node(const ir::Graph& graph, const ir::Node& node);

// Walks the graph from results to what they were computed of. Raises a break where that is not known for
// sure, or where code of the program's would run when a gradient arrives.
class GradientHistory {
 public:
  explicit GradientHistory(Session& session);

  // The leaves that get a gradient by backward(): inputs in their order, then tensors that the function made
  // leaves itself.
  struct Leaf {
    at::Tensor tensor;
    ir::ValueId value;  // now, after in-place operators
  };
  std::vector<Leaf> behind(const std::vector<ir::ValueId>& roots);
  // The gradients of `inputs` depend on this graph alone.
  void check(const std::vector<ir::ValueId>& roots, const std::vector<ir::ValueId>& inputs);
  // Whether a gradient that has a history was among them: not all behind it need get one.
  bool passed_gradients() const { return passed_gradients_; }

 private:
  void walk(const std::vector<ir::ValueId>& roots);
  void reach(ir::ValueId value);
  void find_without_history();
  void find_rewritten();
  void note_freed(const ir::Node& node);
  void pass(const ir::Node& node, ir::ValueId from);
  void find_made(ir::ValueId value);
  uint32_t storage_of(ir::ValueId id) const;

  Session& session_;
  const ir::Graph& graph_;
  bool follows_views_ = false;  // what is learnt from a trace knows them
  bool passed_gradients_ = false;
  std::vector<const ir::Node*> producers_;
  std::unordered_set<uint32_t> seen_;
  std::unordered_set<uint32_t> rewritten_;  // storages
  std::unordered_set<const ir::Node*> without_history_;
  std::unordered_set<const ir::Node*> freed_;
  std::vector<at::Tensor> made_;  // leaves that the function made
  std::vector<ir::ValueId> left_;
};

}  // namespace stator
