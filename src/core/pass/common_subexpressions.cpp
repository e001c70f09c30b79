// src/core/pass/common_subexpressions.cpp: a forward walk with a table of the nodes seen, keyed by their
// contents.
#include "core/pass/common_subexpressions.h"

#include <bit>
#include <unordered_map>
#include <vector>

#include "core/ir/effects.h"
#include "core/pass/alias_facts.h"

namespace stator::pass {
namespace {

// Everything a node's result depends on, as words; two nodes with equal keys compute the same.
using Key = std::vector<uint64_t>;

struct KeyHash {
  size_t operator()(const Key& key) const {
    uint64_t hash = key.size();
    for (uint64_t word : key) hash = std::rotl((hash ^ word) * 0x9e3779b97f4a7c15ULL, 29);
    return hash;
  }
};

class Merger {
 public:
  explicit Merger(ir::Graph& graph) : graph_(graph), facts_(graph) {}

  void run() {
    const size_t count = graph_.nodes().size();
    for (size_t i = 0; i < graph_.value_count(); ++i)
      replacement_.push_back(ir::ValueId{static_cast<uint32_t>(i)});
    std::vector<bool> removed(count, false);
    bool any = false;
    uint64_t mode = 0;
    for (size_t i = 0; i < count; ++i) {
      const ir::Node& node = graph_.nodes()[i];
      const ir::Effects effects = ir::effects_of(graph_, node);
      // A node of unknown effect may change modes too.
      if (effects.mode || effects.unknown) ++mode;
      if (!effects.repeatable() || !may_merge(node)) continue;
      build_key(node, mode);
      auto [earlier, is_new] = seen_.try_emplace(key_, i);
      if (is_new) continue;
      const ir::ValueRange kept = ir::Graph::outputs(graph_.nodes()[earlier->second]);
      for (uint32_t k = 0; k < node.output_count; ++k)
        replacement_[index(ir::Graph::outputs(node)[k])] = kept[k];
      removed[i] = any = true;
    }
    if (!any) return;
    graph_.replace_values(replacement_);
    graph_.remove_nodes(removed);
  }

 private:
  bool may_merge(const ir::Node& node) const {
    bool result = node.output_count != 0;
    for (ir::ValueId output : ir::Graph::outputs(node)) result = result && facts_.is_interchangeable(output);
    graph_.for_each_use(node, [&](ir::ValueId id) { result = result && !facts_.is_written(id); });
    return result;
  }

  void build_key(const ir::Node& node, uint64_t mode) {
    key_.clear();
    key_.push_back(static_cast<uint64_t>(node.op));
    key_.push_back(mode);
    for (const ir::Operand& operand : graph_.operands(node)) add(operand);
    for (ir::ValueId output : ir::Graph::outputs(node)) add(graph_.value(output));
  }

  void add(const ir::Operand& o) {
    key_.push_back(static_cast<uint64_t>(o.kind) << 32 | o.count);
    switch (o.kind) {
      case ir::OperandKind::kNone:
        break;
      case ir::OperandKind::kValue:
        add(o.value);
        break;
      case ir::OperandKind::kBool:
        key_.push_back(o.boolean);
        break;
      case ir::OperandKind::kInt:
        key_.push_back(static_cast<uint64_t>(o.integer));
        break;
      case ir::OperandKind::kDouble:
        add(o.real);
        break;
      case ir::OperandKind::kComplex:
        add(graph_.complex(o).real());
        add(graph_.complex(o).imag());
        break;
      case ir::OperandKind::kString:
      case ir::OperandKind::kOpaque:
        key_.push_back(o.index);
        break;
      case ir::OperandKind::kDType:
        key_.push_back(static_cast<uint64_t>(o.dtype));
        break;
      case ir::OperandKind::kLayout:
        key_.push_back(static_cast<uint64_t>(o.layout));
        break;
      case ir::OperandKind::kDevice:
        add(o.device);
        break;
      case ir::OperandKind::kMemoryFormat:
        key_.push_back(static_cast<uint64_t>(o.memory_format));
        break;
      case ir::OperandKind::kSymInt:
        key_.push_back(static_cast<uint64_t>(o.expr));
        break;
      case ir::OperandKind::kIntList:
      case ir::OperandKind::kBoolList:
        for (int64_t number : graph_.ints(o)) key_.push_back(static_cast<uint64_t>(number));
        break;
      case ir::OperandKind::kSymIntList:
        for (shape::Dim dim : graph_.dims(o)) add(dim);
        break;
      case ir::OperandKind::kDoubleList:
        for (double number : graph_.doubles(o)) add(number);
        break;
      case ir::OperandKind::kValueList:
      case ir::OperandKind::kOptionalValueList:
        for (ir::ValueId id : graph_.values(o)) add(id);
        break;
      case ir::OperandKind::kList:
        for (const ir::Operand& element : graph_.elements(o)) add(element);
        break;
    }
  }

  void add(ir::ValueId id) { key_.push_back(index(id == ir::ValueId::kNone ? id : replacement_[index(id)])); }
  void add(double number) { key_.push_back(std::bit_cast<uint64_t>(number)); }  // -0.0 is not 0.0
  void add(shape::Dim dim) { key_.push_back(std::bit_cast<uint64_t>(dim)); }
  void add(ir::Device device) {
    key_.push_back(static_cast<uint64_t>(device.type) << 8 | static_cast<uint8_t>(device.index));
  }
  void add(const ir::Value& value) {
    key_.push_back(static_cast<uint64_t>(value.kind) << 40 | static_cast<uint64_t>(value.dtype) << 32 |
                   static_cast<uint64_t>(value.layout) << 24 | static_cast<uint64_t>(value.flags) << 16 |
                   value.rank);
    add(value.device);
    for (shape::Dim size : graph_.sizes(value)) add(size);
    for (shape::Dim stride : graph_.strides(value)) add(stride);
    add(value.storage_offset);
  }

  ir::Graph& graph_;
  const AliasFacts facts_;
  std::vector<ir::ValueId> replacement_;
  std::unordered_map<Key, size_t, KeyHash> seen_;
  Key key_;
};

}  // namespace

void merge_common_subexpressions(ir::Graph& graph) { Merger(graph).run(); }

}  // namespace stator::pass
