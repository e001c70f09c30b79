// src/backends/fused/plan/groups.cpp: one walk over the graph that puts each node into a group or leaves it.
#include "backends/fused/plan/groups.h"

#include <algorithm>
#include <optional>

#include "backends/fused/kernel/llvm_text.h"
#include "core/ir/effects.h"
#include "core/shape/context.h"

namespace stator::fused {

using ir::ValueId;

namespace {

constexpr size_t kMaxNodes = 64;

bool holds(const std::vector<char>& set, uint32_t i) { return i < set.size() && set[i] != 0; }

void add_all(std::vector<char>& to, const std::vector<char>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i) to[i] = static_cast<char>(to[i] | from[i]);
}

void add_one(std::vector<char>& to, uint32_t i) {
  if (to.size() <= i) to.resize(i + 1);
  to[i] = 1;
}

}  // namespace

Dims real_dimensions(std::span<const shape::Dim> sizes) {
  Dims result;
  for (shape::Dim size : sizes) {
    if (!(size == shape::Dim(1))) result.push_back(size);
  }
  return result;
}

Groups::Groups(const ir::Graph& graph, const Memory& memory, Language language)
    : graph_(graph),
      memory_(memory),
      language_(language),
      inlined_(graph.nodes().size()),
      group_of_(graph.nodes().size(), kNone) {
  choose_inlined();
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) place(i);
}

uint32_t Groups::of_value(ValueId id) const {
  const ir::NodeId node = graph_.value(memory_.root(id)).node;
  return node == ir::NodeId::kNone ? kNone : group_of_[index(node)];
}

bool Groups::places_of(std::span<const shape::Dim> sizes, std::span<const shape::Dim> against,
                       std::vector<size_t>& places, RuleKind kind) {
  places.clear();
  if (sizes.size() > against.size()) return false;
  const bool is_channels = kind == RuleKind::by_channel && sizes.size() == 1 && against.size() > 1;
  const size_t shift = is_channels ? 1 : against.size() - sizes.size();
  const size_t behind = shift + sizes.size();
  size_t place = 0;
  for (size_t d = 0; d < against.size(); ++d) {
    const bool is_one = against[d] == shape::Dim(1);
    if (d >= shift && d < behind && !(sizes[d - shift] == shape::Dim(1))) {
      if (!(sizes[d - shift] == against[d])) return false;
      places.push_back(place);
    }
    if (!is_one) ++place;
  }
  return true;
}

bool Groups::describe(const ir::Node& node, const Rule& rule, Shape& shape) const {
  const auto sizes = has_result_space(rule.kind) ? graph_.sizes(node.first_output)
                                                 : graph_.sizes(graph_.operands(node)[0].value);
  shape.space = real_dimensions(sizes);
  if (has_result_space(rule.kind)) return true;
  if (rule.kind == RuleKind::copied) {
    shape.space = real_dimensions(repeats_of(graph_, graph_.operands(node)[0].value).rest);
    return true;
  }
  std::vector<char> is_reduced(sizes.size());
  for (size_t d : reduced_dimensions(graph_, node)) is_reduced[d] = 1;
  bool inside = false;
  int64_t row = 1;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == shape::Dim(1)) continue;
    if (is_reduced[d]) {
      inside = true;
      ++shape.reduced;
      if (!sizes[d].is_expr()) row *= sizes[d].number();
    } else if (inside) {
      return false;  // not the last ones
    }
  }
  return shape.reduced > 0 && row <= max_row(language_);
}

// LLVM makes slow code of reads that depend on a coordinate; its kernels put nothing together
// and look at no windows.
bool Groups::is_computed(const ir::Node& node, const Rule& rule) const {
  const bool depends = rule.kind == RuleKind::joined || rule.kind == RuleKind::windowed;
  if (depends && language_ != Language::cuda) return false;
  return computes(graph_, memory_, node, rule);
}

// Cheap nodes that are read by nothing but what puts them together with others.
void Groups::choose_inlined() {
  if (language_ != Language::cuda) return;
  std::vector<char> read_elsewhere(graph_.value_count());
  std::vector<char> is_read(graph_.value_count());
  for (ValueId id : graph_.outputs()) read_elsewhere[index(id)] = 1;
  for (uint32_t i = static_cast<uint32_t>(graph_.nodes().size()); i-- > 0;) {
    const ir::Node& node = graph_.nodes()[i];
    const Rule* rule = find_rule(graph_.op_of(node).name);
    bool joins = false;
    if (rule && rule->kind == RuleKind::joined) {
      joins = is_computed(node, *rule);
    } else if (rule && rule->kind == RuleKind::pointwise && node.output_count == 1 &&
               is_read[index(node.first_output)] != 0 && read_elsewhere[index(node.first_output)] == 0) {
      joins = is_computed(node, *rule);
      inlined_[i] = joins ? 1 : 0;
    }
    graph_.for_each_use(node, [&](ValueId id) { (joins ? is_read : read_elsewhere)[index(id)] = 1; });
  }
}

void Groups::place(uint32_t number) {
  const ir::Node& node = graph_.nodes()[number];
  const auto outputs = ir::Graph::outputs(node);
  bool is_folded = outputs.count > 0;
  for (ValueId id : outputs) is_folded = is_folded && memory_.is_folded(id);
  if (is_folded || is_inlined(number)) return;
  // What is made in inference mode is made of it: groups stay on their side.
  if (node.op == ir::op::kInferenceEnter || node.op == ir::op::kInferenceExit) {
    for (Group& group : groups_) group.needed = std::min(group.needed, int64_t{number});
    border_ = number;
    return;
  }

  const Rule* rule = find_rule(graph_.op_of(node).name);
  Shape shape;
  bool fits = false;
  try {
    const auto operands = graph_.operands(node);
    const bool has_input = !operands.empty() && operands[0].kind == ir::OperandKind::kValue;
    fits = rule && (has_result_space(rule->kind) || has_input) && is_computed(node, *rule) &&
           describe(node, *rule, shape);
  } catch (const NotFused&) {
  }
  if (!fits) {
    graph_.for_each_use(node, [&](ValueId id) {
      const uint32_t group = of_value(id);
      if (group != kNone) groups_[group].needed = std::min(groups_[group].needed, int64_t{number});
    });
    return;
  }

  int64_t ready = border_;
  std::vector<char> waits_for;
  std::vector<uint32_t> candidates;
  for_each_read(node, [&](ValueId id) {
    const uint32_t group = of_value(id);
    const ir::NodeId maker = graph_.value(memory_.root(id)).node;
    if (group != kNone) {
      if (std::ranges::find(candidates, group) == candidates.end()) candidates.push_back(group);
    } else if (maker != ir::NodeId::kNone) {
      ready = std::max(ready, int64_t{index(maker)});
    }
  });
  std::ranges::sort(candidates, std::greater<>());
  const auto needs_of_others = [&](uint32_t own) {
    std::pair<int64_t, std::vector<char>> needs{ready, {}};
    for (uint32_t other : candidates) {
      if (other == own) continue;
      needs.first = std::max(needs.first, groups_[other].ready);
      add_all(needs.second, groups_[other].waits_for);
      add_one(needs.second, other);
    }
    return needs;
  };
  for (uint32_t group : candidates) {
    Group joined;
    if (groups_[group].nodes.size() >= kMaxNodes || !joins(group, shape, joined)) continue;
    if (!reads_as_computed(group, node, shape)) continue;
    const auto [wanted, waits] = needs_of_others(group);
    if (!schedulable(group, wanted, waits, kNone)) continue;
    groups_[group].reduced = joined.reduced;
    groups_[group].nodes.push_back(number);
    group_of_[number] = group;
    take_in(group, wanted, waits);
    for (uint32_t other : candidates) {
      if (other != group && can_merge(group, other)) merge(group, other);
    }
    return;
  }
  const auto [wanted, waits] = needs_of_others(kNone);
  Group made;
  made.space = shape.space;
  made.reduced = shape.reduced;
  made.nodes = {number};
  made.ready = wanted;
  made.waits_for = waits;
  group_of_[number] = static_cast<uint32_t>(groups_.size());
  groups_.push_back(std::move(made));
}

bool Groups::joins(uint32_t number, const Shape& shape, Group& joined) const {
  const Group& group = groups_[number];
  if (shape.space == group.space) {
    if (shape.reduced != 0 && group.reduced != 0 && shape.reduced != group.reduced) return false;
    joined.reduced = std::max(shape.reduced, group.reduced);
    return true;
  }
  joined.reduced = group.reduced;
  return shape.reduced == 0 && group.reduced > 0 && shape.space.size() == group.rows() &&
         std::equal(shape.space.begin(), shape.space.end(), group.space.begin());
}

// What the kernel has computed for a place of its iteration space must be what the node reads there.
bool Groups::reads_as_computed(uint32_t group, const ir::Node& node, const Shape&) const {
  const Rule& rule = *find_rule(graph_.op_of(node).name);
  const auto against = is_elementwise(rule.kind) ? graph_.sizes(node.first_output)
                                                 : graph_.sizes(graph_.operands(node)[0].value);
  bool same = true;
  if (rule.kind == RuleKind::joined || rule.kind == RuleKind::windowed) {  // they read at other places
    for_each_read(node, [&](ValueId id) { same = same && of_value(id) != group; });
    return same;
  }
  if (rule.kind == RuleKind::copied) {
    const ValueId id = graph_.operands(node)[0].value;
    return of_value(id) != group || memory_.is_renamed(id, repeats_of(graph_, id).is_repeated);
  }
  std::vector<size_t> places;
  graph_.for_each_use(node, [&](ValueId id) {
    if (!same || of_value(id) != group) return;
    same = memory_.is_renamed(id) && places_of(graph_.sizes(id), against, places, rule.kind);
    for (size_t i = 0; same && i < places.size(); ++i) same = places[i] == i;
  });
  return same;
}

bool Groups::schedulable(uint32_t group, int64_t ready, const std::vector<char>& waits_for,
                         uint32_t absorbed) const {
  if (holds(waits_for, group)) return false;
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    const Group& other = groups_[i];
    if (other.is_merged || i == absorbed) continue;
    const bool follows = i == group || holds(other.waits_for, group);
    if (!follows) continue;
    if (i != group && holds(waits_for, i)) return false;  // would wait for itself
    if (std::max(ready, other.ready) >= other.needed) return false;
  }
  return true;
}

void Groups::take_in(uint32_t group, int64_t ready, const std::vector<char>& waits_for) {
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    Group& other = groups_[i];
    if (other.is_merged || (i != group && !holds(other.waits_for, group))) continue;
    other.ready = std::max(other.ready, ready);
    add_all(other.waits_for, waits_for);
  }
}

bool Groups::can_merge(uint32_t into, uint32_t from) const {
  const Group &a = groups_[into], &b = groups_[from];
  if (a.is_merged || b.is_merged || !(a.space == b.space)) return false;
  if (a.nodes.size() + b.nodes.size() > kMaxNodes) return false;
  if (a.reduced != 0 && b.reduced != 0 && a.reduced != b.reduced) return false;
  // Nothing may stand between them: a group that waits for one and that the other waits for.
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    if (i == into || i == from || groups_[i].is_merged) continue;
    const std::vector<char>& waits = groups_[i].waits_for;
    if (holds(waits, into) && holds(b.waits_for, i)) return false;
    if (holds(waits, from) && holds(a.waits_for, i)) return false;
  }
  const int64_t ready = std::max(a.ready, b.ready);
  if (ready >= std::min(a.needed, b.needed)) return false;
  for (uint32_t i = 0; i < groups_.size(); ++i) {
    const Group& other = groups_[i];
    if (i == into || i == from || other.is_merged) continue;
    const bool follows = holds(other.waits_for, into) || holds(other.waits_for, from);
    if (follows && std::max(ready, other.ready) >= other.needed) return false;
  }
  for (const Group* group : {&a, &b}) {
    for (uint32_t node : group->nodes) {
      if (!reads_as_computed(into, graph_.nodes()[node], {}) ||
          !reads_as_computed(from, graph_.nodes()[node], {}))
        return false;
    }
  }
  return true;
}

void Groups::merge(uint32_t into, uint32_t from) {
  Group &a = groups_[into], &b = groups_[from];
  for (uint32_t node : b.nodes) group_of_[node] = into;
  a.nodes.insert(a.nodes.end(), b.nodes.begin(), b.nodes.end());
  std::ranges::sort(a.nodes);
  a.reduced = std::max(a.reduced, b.reduced);
  a.needed = std::min(a.needed, b.needed);
  std::vector<char> waits = b.waits_for;
  b.is_merged = true;
  b.nodes.clear();
  // Whoever waited for the one waits for the other now.
  for (Group& other : groups_) {
    if (holds(other.waits_for, from)) add_one(other.waits_for, into);
  }
  add_all(waits, a.waits_for);
  for (uint32_t own : {into, from}) {
    if (own < waits.size()) waits[own] = 0;
  }
  a.waits_for = waits;
  take_in(into, std::max(a.ready, b.ready), waits);
  if (from < a.waits_for.size()) a.waits_for[from] = 0;
  if (into < a.waits_for.size()) a.waits_for[into] = 0;
}

}  // namespace stator::fused
