// src/backends/fused/rewrite/with_padded_products.cpp: products of matrices whose rows tensor cores cannot
// read or write, because they begin at odd places, go by copies with longer rows.
#include <array>
#include <map>
#include <vector>

#include "backends/fused/rewrite/graph_copy.h"
#include "backends/fused/rewrite/rewrite.h"
#include "core/pass/added_operators.h"
#include "core/pass/alias_facts.h"

namespace stator::fused {
namespace {

using ir::Operand;
using ir::OperandKind;
using ir::ValueId;

// Below this a product costs no more than the copy, or than the parts it is made in.
constexpr int64_t kMinLength = 256;
constexpr int64_t kMinWork = int64_t{1} << 26;
// A sum in two parts rounds the smaller one to 16 bits before the larger one is added: that is told from the
// rounding of a sum in float32 unless the smaller one is this much smaller.
constexpr int64_t kMinRatio = 4096;

int64_t padded(int64_t length) { return (length + kAlignedColumns - 1) / kAlignedColumns * kAlignedColumns; }

// A matrix by rows, or by columns: how long they are, and where in `sizes` they are counted.
struct Lines {
  size_t along;  // the dimension of elements behind each other
  int64_t length, pitch;

  bool is_odd() const { return length >= kMinLength && pitch % kAlignedColumns != 0; }
};

std::optional<Lines> lines_of(const ir::Graph& graph, ValueId id) {
  const ir::Value& value = graph.value(id);
  const bool is_16_bit = value.dtype == ir::DType::kBF16 || value.dtype == ir::DType::kF16;
  if (!value.is_tensor() || value.rank != 2 || !is_16_bit || value.layout != ir::Layout::kStrided ||
      !value.has_strides || (value.flags & (ir::kConjugate | ir::kNegative)) != 0)
    return {};
  const auto sizes = graph.sizes(id), strides = graph.strides(id);
  for (size_t d = 0; d < 2; ++d) {
    if (sizes[d].is_expr() || strides[d].is_expr() || sizes[d].number() < 2) return {};
  }
  for (size_t d = 0; d < 2; ++d) {
    const Lines lines{d, sizes[d].number(), strides[1 - d].number()};
    if (strides[d] == shape::Dim(1) && lines.pitch >= lines.length) return lines;
  }
  return {};
}

class Padding {
 public:
  explicit Padding(const ir::Graph& from) : from_(from), facts_(from), copy_(from) {}

  std::optional<ir::Graph> run() {
    for (const ir::Node& node : from_.nodes()) {
      if (is_wanted(node)) {
        multiply(node);
        changes_ = true;
      } else {
        copy_.keep(node);
      }
    }
    if (!changes_) return {};
    return copy_.finish();
  }

 private:
  bool is_wanted(const ir::Node& node) const {
    const auto operands = from_.operands(node);
    if (from_.op_of(node).name != "aten::mm" || operands.size() != 2 || node.output_count != 1) return false;
    const ir::Value& result = from_.value(node.first_output);
    if (result.alias != ir::AliasKind::kFresh || result.requires_grad() ||
        facts_.is_written(node.first_output))
      return false;
    const auto made = lines_of(from_, node.first_output);
    if (!made || made->along != 1) return false;
    for (const Operand& operand : operands) {
      if (operand.kind != OperandKind::kValue || from_.value(operand.value).dtype != result.dtype ||
          facts_.is_written(operand.value))
        return false;
      if (!lines_of(from_, operand.value)) return false;
    }
    const auto sizes = from_.sizes(node.first_output);
    const int64_t inner = from_.sizes(operands[0].value)[1].number();
    const int64_t parts = parts_of(node);
    if ((parts & kPartsOfInner) != 0 && inner < inner % kAlignedColumns * kMinRatio) return false;
    return parts != 0 && sizes[0].number() * sizes[1].number() >= kMinWork / inner;
  }

  // The dimensions along which some matrix has odd lines.
  int64_t parts_of(const ir::Node& node) const {
    const auto operands = from_.operands(node);
    const Lines left = *lines_of(from_, operands[0].value), right = *lines_of(from_, operands[1].value);
    int64_t parts = lines_of(from_, node.first_output)->is_odd() ? kPartsOfColumns : 0;
    if (left.is_odd()) parts |= left.along == 0 ? kPartsOfRows : kPartsOfInner;
    if (right.is_odd()) parts |= right.along == 0 ? kPartsOfInner : kPartsOfColumns;
    return parts;
  }

  void multiply(const ir::Node& node) {
    std::vector<Operand> operands;
    for (const Operand& operand : from_.operands(node)) {
      const bool is_odd = lines_of(from_, operand.value)->is_odd();
      operands.push_back(
          Operand::of(is_odd ? with_longer_lines(operand.value, node) : copy_.now(operand.value)));
    }
    operands.push_back(Operand::of(parts_of(node)));
    const ir::OpId product = pass::pure_operator(copy_.to(), kPaddedProduct, {"self", "mat2", "parts"});
    const ir::ValueSpec result = copy_.spec(node.first_output);
    const Lines lines = *lines_of(from_, node.first_output);
    if (!lines.is_odd()) {
      copy_.stands_for(node.first_output, copy_.add(product, operands, result, node));
      return;
    }
    const std::array<shape::Dim, 2> strides = {padded(lines.length), 1};
    ir::ValueSpec made = result;
    made.strides = strides;
    const ValueId value = copy_.add(product, operands, made, node);
    const ir::OpId op = pass::pure_operator(copy_.to(), "aten::contiguous", {"self", "memory_format"});
    const std::array<Operand, 2> of = {Operand::of(value), Operand::of(ir::MemoryFormat::kContiguous)};
    copy_.stands_for(node.first_output, copy_.add(op, of, result, node));
  }

  // One copy for a matrix and what is transposed of it.
  ValueId with_longer_lines(ValueId id, const ir::Node& node) {
    if (const auto found = copies_.find(id); found != copies_.end()) return found->second;
    const Lines lines = *lines_of(from_, id);
    std::array<shape::Dim, 2> strides = {1, 1};
    strides[1 - lines.along] = padded(lines.length);
    ir::ValueSpec spec = copy_.spec(id);
    spec.strides = strides;
    spec.storage_offset = 0;
    const ir::Value& value = from_.value(id);
    ValueId made{};
    if (value.alias == ir::AliasKind::kView && value.node != ir::NodeId::kNone &&
        from_.op_of(from_.node(value.node)).name == "aten::t") {
      const ValueId base = with_longer_lines(value.base, node);
      spec.alias = {ir::AliasKind::kView, base};
      made = copy_.add(from_.node(value.node).op, std::array{Operand::of(base)}, spec, node);
    } else {
      const ir::OpId op = pass::pure_operator(copy_.to(), kPaddedLines, {"self"});
      made = copy_.add(op, std::array{Operand::of(copy_.now(id))}, spec, node);
    }
    copies_[id] = made;
    return made;
  }

  const ir::Graph& from_;
  pass::AliasFacts facts_;
  GraphCopy copy_;
  std::map<ValueId, ValueId> copies_;
  bool changes_ = false;
};

}  // namespace

std::optional<ir::Graph> with_padded_products(const ir::Graph& graph) { return Padding(graph).run(); }

}  // namespace stator::fused
