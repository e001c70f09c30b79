// src/backends/fused/plan/groups.h: which nodes one kernel computes.
//
// A group has an iteration space: the sizes of its elements without those that are 1, the last `reduced` of
// which reductions go over. A node joins the group of an operand if its elements are that group's elements or
// rows, and if the groups can still be run one after the other between torch's operators, which stay in
// order.
#pragma once

#include <vector>

#include "backends/fused/plan/computable.h"
#include "backends/fused/plan/memory.h"
#include "backends/fused/plan/node_terms.h"
#include "core/ir/graph.h"

namespace stator::fused {

// Without those that are 1.
Dims real_dimensions(std::span<const shape::Dim> sizes);

struct Group {
  Dims space;
  size_t reduced = 0;
  std::vector<uint32_t> nodes;  // in the graph's order
  int64_t ready = -1;           // the last of torch's nodes that it waits for
  int64_t needed = INT64_MAX;   // the first of torch's nodes that waits for it
  std::vector<char> waits_for;  // by group, transitively
  bool is_merged = false;       // into another one

  size_t rows() const { return space.size() - reduced; }
};

class Groups {
 public:
  Groups(const ir::Graph& graph, const Memory& memory, Language language);

  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t of_node(uint32_t node) const { return group_of_[node]; }
  const std::vector<Group>& all() const { return groups_; }
  // Computed in the kernels that put it together with others, at the places where they read it.
  bool is_inlined(uint32_t node) const { return inlined_[node] != 0; }
  // Calls visit(ValueId) for what the kernel of the node reads for it.
  template <class Visit>
  void for_each_read(const ir::Node& node, Visit&& visit) const {
    graph_.for_each_use(node, [&](ir::ValueId id) {
      const ir::NodeId maker = graph_.value(id).node;
      if (maker != ir::NodeId::kNone && is_inlined(index(maker))) {
        for_each_read(graph_.node(maker), visit);
      } else {
        visit(id);
      }
    });
  }
  // The group that computes the value, or kNone.
  uint32_t of_value(ir::ValueId id) const;
  // For each dimension of an operand that is not 1, the dimension of the iteration space that it runs along;
  // nothing if it does not fit. `sizes` are the operand's, `against` those that it is broadcast to.
  static bool places_of(std::span<const shape::Dim> sizes, std::span<const shape::Dim> against,
                        std::vector<size_t>& places, RuleKind kind = RuleKind::pointwise);

 private:
  struct Shape {  // of a node in a kernel
    Dims space;
    size_t reduced = 0;
    bool is_row = false;
  };

  void place(uint32_t node);
  bool describe(const ir::Node& node, const Rule& rule, Shape& shape) const;
  void choose_inlined();
  bool is_computed(const ir::Node& node, const Rule& rule) const;
  bool joins(uint32_t group, const Shape& shape, Group& joined) const;
  bool reads_as_computed(uint32_t group, const ir::Node& node, const Shape& shape) const;
  bool schedulable(uint32_t group, int64_t ready, const std::vector<char>& waits_for,
                   uint32_t absorbed) const;
  void take_in(uint32_t group, int64_t ready, const std::vector<char>& waits_for);
  void merge(uint32_t into, uint32_t from);
  bool can_merge(uint32_t into, uint32_t from) const;

  const ir::Graph& graph_;
  const Memory& memory_;
  const Language language_;
  std::vector<char> inlined_;  // by node
  std::vector<Group> groups_;
  std::vector<uint32_t> group_of_;  // by node
  int64_t border_ = -1;             // the last node that entered or left inference mode
};

}  // namespace stator::fused
