// src/core/pass/partition.cpp: who needs what, a cut, and two copies of parts of a graph.
#include "core/pass/partition.h"

#include <algorithm>
#include <unordered_set>

#include "core/ir/effects.h"
#include "core/pass/added_operators.h"
#include "core/pass/graph_copier.h"
#include "core/pass/min_cut.h"

namespace stator::pass {

using ir::AliasKind;
using ir::ValueId;

namespace {

struct Refused {
  std::string reason;
};

bool is_recomputable(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
#define STATOR_RECOMPUTABLE(name) name,
#include "core/pass/recomputable.def"
  };
  return names.contains(name);
}

int64_t bytes_of_element(ir::DType dtype) {
  switch (dtype) {
    case ir::DType::kC128:
      return 16;
    case ir::DType::kF64:
    case ir::DType::kI64:
    case ir::DType::kC64:
      return 8;
    case ir::DType::kF32:
    case ir::DType::kI32:
      return 4;
    case ir::DType::kF16:
    case ir::DType::kBF16:
    case ir::DType::kI16:
      return 2;
    default:
      return 1;
  }
}

class Partitioner {
 public:
  explicit Partitioner(const JointGraph& joint)
      : joint_(joint),
        graph_(joint.graph),
        facts_(graph_.value_count()),
        live_(graph_.nodes().size()),
        of_backward_(graph_.nodes().size()) {
    find_live();
    find_backward();
    find_visible();
  }

  std::vector<ValueId> cut() {
    FlowNetwork network(static_cast<uint32_t>(2 * graph_.value_count() + 2));
    const auto in = [](ValueId id) { return 2 * index(id); };
    const auto out = [](ValueId id) { return 2 * index(id) + 1; };
    const uint32_t source = static_cast<uint32_t>(2 * graph_.value_count()), sink = source + 1;
    // Upwards from what backward uses, through what it may compute itself.
    std::vector<ValueId> reached;
    std::vector<char> seen(graph_.value_count());
    const auto reach = [&](ValueId id) {
      if (is_of_backward(id) || seen[index(id)]) return;
      seen[index(id)] = 1;
      reached.push_back(id);
    };
    const auto need = [&](ValueId id) {
      if (is_of_backward(id)) return;
      reach(id);
      network.add_edge(out(id), sink, FlowNetwork::kInfinite);
    };
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (of_backward_[i] && live_[i]) graph_.for_each_use(graph_.nodes()[i], need);
    }
    for (ValueId id : graph_.outputs().subspan(joint_.results)) need(id);
    for (size_t i = 0; i < reached.size(); ++i) {
      const ValueId id = reached[i];
      network.add_edge(in(id), out(id), cost(id));
      if (!computes_again(id)) {
        network.add_edge(source, in(id), FlowNetwork::kInfinite);
        continue;
      }
      graph_.for_each_use(graph_.node(graph_.value(id).node), [&](ValueId used) {
        reach(used);
        network.add_edge(out(used), in(id), FlowNetwork::kInfinite);
      });
    }
    // Of equal cuts that nearest to the backward, which then computes less: the sums of a chain, not what it
    // adds.
    const std::vector<char> needed = network.sink_side(source, sink);
    std::vector<ValueId> kept;
    for (uint32_t i = 0; i < graph_.value_count(); ++i) {
      const ValueId id{i};
      if (!seen[i] || needed[in(id)] || !needed[out(id)]) continue;
      if (!is_allowed(id)) throw Refused{"memory that the program sees"};
      kept.push_back(id);
    }
    return kept;
  }

  ir::Graph forward(const std::vector<ValueId>& kept) {
    GraphCopier copy(graph_);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const ir::Input& input = graph_.inputs()[i];
      if (!is_gradient(i))
        copy.add_input(graph_.text(input.name), graph_.text(input.source), input.value, true);
    }
    for (uint32_t i = 0; i < joint_.forward_nodes; ++i) {
      const ir::Node& node = graph_.nodes()[i];
      if (!is_mode(node)) copy.add_node(node);
    }
    std::vector<ValueId> outputs;
    for (ValueId id : graph_.outputs().first(joint_.results)) outputs.push_back(copy(id));
    for (ValueId id : kept) outputs.push_back(copy(id));
    copy.graph().set_outputs(outputs);
    return std::move(copy.graph());
  }

  ir::Graph backward(const std::vector<ValueId>& kept) {
    GraphCopier copy(graph_);
    for (ValueId id : kept) copy.add_input("kept_" + std::to_string(index(id)), "kept", id, false);
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const ir::Input& input = graph_.inputs()[i];
      if (is_gradient(i))
        copy.add_input(graph_.text(input.name), graph_.text(input.source), input.value, false);
    }
    for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!of_backward_[i] || !live_[i]) continue;
      const ir::Node& node = graph_.nodes()[i];
      graph_.for_each_use(node, [&](ValueId id) { make(copy, id); });
      copy.add_node(node);
    }
    std::vector<ValueId> outputs;
    for (ValueId id : graph_.outputs().subspan(joint_.results)) {
      make(copy, id);
      outputs.push_back(copy(id));
    }
    separate(copy.graph(), outputs, kept.size());
    copy.graph().set_outputs(outputs);
    return std::move(copy.graph());
  }

 private:
  // Facts of values.
  enum Fact : uint8_t {
    kGradient = 1,   // depends on the gradients of results
    kUsed = 2,       // a node of the backward reads it, or a view of it
    kVisible = 4,    // of a storage: the program holds it
    kWritten = 8,    // of a storage, in the forward
    kRewritten = 16  // of a storage, in the backward
  };

  bool is(ValueId id, Fact fact) const { return (facts_[index(id)] & fact) != 0; }
  bool is_of_storage(ValueId id, Fact fact) const { return is(graph_.value(id).storage, fact); }
  void mark(ValueId id, Fact fact) { facts_[index(id)] |= fact; }
  bool is_gradient(size_t input) const {
    return input >= joint_.first_gradient && input < joint_.first_gradient + joint_.gradients;
  }
  bool is_of_backward(ValueId id) const { return is(id, kGradient) || is_of_storage(id, kRewritten); }
  static bool is_mode(const ir::Node& node) {
    return node.op == ir::op::kSetGradEnabled || node.op == ir::op::kAutocastEnter ||
           node.op == ir::op::kAutocastExit;
  }

  void find_live() {
    std::vector<char> used(graph_.value_count());
    for (ValueId id : graph_.outputs()) used[index(id)] = 1;
    for (size_t i = graph_.nodes().size(); i-- > 0;) {
      const ir::Node& node = graph_.nodes()[i];
      if (is_mode(node)) continue;
      const ir::Effects effects = ir::effects_of(graph_, node);
      if (effects.mode || effects.unknown) throw Refused{"the operator " + graph_.op_of(node).name};
      // Formulas of the backward raise for nothing that the forward did not raise for.
      bool needed = i < joint_.forward_nodes ? !effects.removable() : !effects.repeatable();
      for (ValueId id : ir::Graph::outputs(node)) needed = needed || used[index(id)];
      live_[i] = static_cast<char>(needed);
      if (needed) graph_.for_each_use(node, [&](ValueId id) { used[index(id)] = 1; });
    }
  }

  void find_backward() {
    const auto nodes = graph_.nodes();
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      const ir::Effects effects = ir::effects_of(graph_, nodes[i]);
      const auto operands = graph_.operands(nodes[i]);
      if (i >= joint_.forward_nodes && effects.random) throw Refused{"a random backward"};
      for (size_t k = 0; k < operands.size(); ++k) {
        if (!effects.writes_argument(k)) continue;
        graph_.for_each_value(operands[k], [&](ValueId id) {
          const ValueId storage = graph_.value(id).storage;
          mark(storage, i < joint_.forward_nodes ? kWritten : kRewritten);
          const ir::NodeId maker = graph_.value(storage).node;
          if (i >= joint_.forward_nodes &&
              (maker == ir::NodeId::kNone || index(maker) < joint_.forward_nodes))
            throw Refused{"a backward that writes to what the forward made"};
        });
      }
    }
    for (size_t i = 0; i < joint_.gradients; ++i)
      mark(graph_.inputs()[joint_.first_gradient + i].value, kGradient);
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      bool depends = false;
      graph_.for_each_use(nodes[i], [&](ValueId id) { depends = depends || is_of_backward(id); });
      for (ValueId id : ir::Graph::outputs(nodes[i])) depends = depends || is_of_backward(id);
      if (!depends) continue;
      if (i < joint_.forward_nodes) throw Refused{"a forward that uses gradients"};
      of_backward_[i] = 1;
      for (ValueId id : ir::Graph::outputs(nodes[i])) mark(id, kGradient);
    }
  }

  void find_visible() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (!is_gradient(i)) mark(graph_.value(graph_.inputs()[i].value).storage, kVisible);
    }
    for (ValueId id : graph_.outputs().first(joint_.results)) mark(graph_.value(id).storage, kVisible);
    const auto use = [&](ValueId id) {
      for (; !is(id, kUsed); id = graph_.value(id).base) {
        mark(id, kUsed);
        const AliasKind alias = graph_.value(id).alias;
        if (alias != AliasKind::kView && alias != AliasKind::kSame) break;
      }
    };
    for (uint32_t i = static_cast<uint32_t>(joint_.forward_nodes); i < graph_.nodes().size(); ++i) {
      if (live_[i]) graph_.for_each_use(graph_.nodes()[i], use);
    }
    for (ValueId id : graph_.outputs().subspan(joint_.results)) use(id);
  }

  // Whether it may be kept. What only the backward makes is made there: what is kept does not depend on which
  // gradients there are.
  bool is_allowed(ValueId id) const {
    const ir::NodeId maker = graph_.value(id).node;
    if (maker != ir::NodeId::kNone && index(maker) >= joint_.forward_nodes) return false;
    return graph_.value(id).is_tensor() && (!is_of_storage(id, kVisible) || is(id, kUsed));
  }

  // Bytes, and a little more for what is a view: memory as a whole is kept anyway.
  int64_t cost(ValueId id) const {
    if (!is_allowed(id)) return FlowNetwork::kInfinite;
    const ir::Value& value = graph_.value(id);
    if (value.node == ir::NodeId::kNone) return 1;
    int64_t bytes = bytes_of_element(value.dtype);
    for (shape::Dim size : graph_.sizes(value.storage))
      bytes *= size.is_expr() ? 1024 : std::max<int64_t>(size.number(), 1);
    if (is_of_storage(id, kVisible)) bytes = 1;
    return 2 * bytes + (value.alias == AliasKind::kFresh ? 0 : 1);
  }

  // Whether backward may compute the value of its operands.
  bool computes_again(ValueId id) const {
    const ir::Value& value = graph_.value(id);
    if (value.node == ir::NodeId::kNone || is_of_storage(id, kWritten)) return false;
    const ir::Node& node = graph_.node(value.node);
    if (!ir::effects_of(graph_, node).repeatable()) return false;
    bool reads_written = false;
    graph_.for_each_use(
        node, [&](ValueId used) { reads_written = reads_written || is_of_storage(used, kWritten); });
    // What the backward makes it may make itself.
    if (index(value.node) >= joint_.forward_nodes) return true;
    if (reads_written) return false;
    return value.alias == AliasKind::kView || value.alias == AliasKind::kSame ||
           is_recomputable(graph_.op_of(node).name);
  }

  // Appends what makes the value and is not there yet, operands first.
  void make(GraphCopier& copy, ValueId wanted) const {
    std::vector<ValueId> left = {wanted};
    while (!left.empty()) {
      const ValueId id = left.back();
      if (copy.has(id)) {
        left.pop_back();
        continue;
      }
      const ir::NodeId maker = graph_.value(id).node;
      if (maker == ir::NodeId::kNone) throw Refused{"an input that is not kept"};
      const ir::Node& node = graph_.node(maker);
      const size_t before = left.size();
      graph_.for_each_use(node, [&](ValueId used) {
        if (!copy.has(used)) left.push_back(used);
      });
      if (left.size() != before) continue;
      if (!computes_again(id)) throw Refused{"a value that is not kept"};
      copy.add_node(node);
      left.pop_back();
    }
  }

  // Gradients are handed to autograd, which may add to them in place: each has memory of its own, as the
  // formulas made it, and not memory that is kept.
  static void separate(ir::Graph& graph, std::vector<ValueId>& outputs, size_t kept) {
    std::vector<char> is_kept(graph.value_count());
    for (const ir::Input& input : graph.inputs().first(kept)) is_kept[index(input.value)] = 1;
    std::vector<ValueId> first(graph.value_count(), ValueId::kNone);
    for (ValueId& output : outputs) {
      const ValueId storage = graph.value(output).storage;
      ValueId& owner = first[index(storage)];
      if (owner == ValueId::kNone) owner = output;
      if (!is_kept[index(storage)] && owner == output) continue;
      const ir::Value& value = graph.value(output);
      const std::vector<shape::Dim> sizes(graph.sizes(output).begin(), graph.sizes(output).end());
      std::vector<shape::Dim> strides(sizes.size());
      int64_t next = 1;
      for (size_t d = sizes.size(); d-- > 0;) {
        if (sizes[d].is_expr()) throw Refused{"gradients of symbolic sizes that share memory"};
        strides[d] = next;
        next *= std::max<int64_t>(sizes[d].number(), 1);
      }
      const ir::ValueSpec spec{.kind = value.kind,
                               .dtype = value.dtype,
                               .device = value.device,
                               .layout = value.layout,
                               .flags = 0,
                               .alias = {},
                               .sizes = sizes,
                               .strides = strides,
                               .storage_offset = 0};
      const ir::Operand contiguous[] = {ir::Operand::of(output),
                                        ir::Operand::of(ir::MemoryFormat::kContiguous)};
      const ir::OpId clone = pure_operator(graph, "aten::clone", {"self", "memory_format"});
      output = graph.outputs(graph.append(clone, contiguous, {&spec, 1}))[0];
      is_kept.resize(graph.value_count());
      first.resize(graph.value_count(), ValueId::kNone);
    }
  }

  const JointGraph& joint_;
  const ir::Graph& graph_;
  std::vector<uint8_t> facts_;     // by value
  std::vector<char> live_;         // nodes that anything comes of
  std::vector<char> of_backward_;  // nodes that depend on gradients
};

}  // namespace

Result<Partition, std::string> partition(const JointGraph& joint) {
  try {
    Partitioner partitioner(joint);
    std::vector<ValueId> kept = partitioner.cut();
    ir::Graph forward = partitioner.forward(kept), backward = partitioner.backward(kept);
    return Partition{std::move(forward), std::move(backward), std::move(kept)};
  } catch (const Refused& refused) {
    return refused.reason;
  }
}

Result<ir::Graph, std::string> backward_from(const JointGraph& joint, const std::vector<ValueId>& kept) {
  try {
    return Partitioner(joint).backward(kept);
  } catch (const Refused& refused) {
    return refused.reason;
  }
}

}  // namespace stator::pass
