// src/core/pass/inverse_view.cpp: the kinds of inverse_views.def as operators of ATen.
#include "core/pass/inverse_view.h"

#include <algorithm>
#include <vector>

#include "core/pass/added_operators.h"

namespace stator::pass {

using ir::Operand;
using ir::ValueId;

namespace {

enum class Kind : uint8_t { kReshape, kPermute, kSlice, kSelect, kDiagonal, kSplit, kUnbind, kSame };

std::optional<Kind> kind_of(std::string_view name) {
  static constexpr struct {
    std::string_view name;
    Kind kind;
  } kRows[] = {
#define STATOR_INVERSE_VIEW(name, kind) {name, Kind::kind},
#include "core/pass/inverse_views.def"
  };
  for (const auto& row : kRows) {
    if (row.name == name) return row.kind;
  }
  return {};
}

class Inverse {
 public:
  Inverse(const ir::Graph& from, const ir::Node& view, ir::Graph& to) : from_(from), view_(view), to_(to) {}

  std::optional<ValueId> make(Kind kind, uint32_t position, ValueId base, ValueId part) {
    const auto old_base = from_.operands(view_)[0].value;
    const auto rank = static_cast<int64_t>(from_.value(old_base).rank);
    switch (kind) {
      case Kind::kSame:
        return part;
      case Kind::kReshape:
        return append(reshape_operator(to_), {Operand::of(part), to_.dim_list(from_.sizes(old_base))}, base);
      case Kind::kPermute:
        return append(pure_operator(to_, "aten::permute", {"self", "dims"}),
                      {Operand::of(part), to_.int_list(inverse_permutation(rank))}, base);
      case Kind::kSlice:
        return sliced(base, part, wrapped(integer("dim", 0), rank), operand("start", 0), end_of_slice(),
                      operand("step", 1));
      case Kind::kSelect:
        return selected(base, part, wrapped(integer("dim", 0), rank), operand("index", 0));
      case Kind::kUnbind:
        return selected(base, part, wrapped(integer("dim", 0), rank),
                        Operand::of(static_cast<int64_t>(position)));
      case Kind::kDiagonal:
        return append(pure_operator(to_, "aten::diagonal_scatter", {"self", "src", "offset", "dim1", "dim2"}),
                      {Operand::of(base), Operand::of(part), operand("offset", 0), operand("dim1", 0),
                       operand("dim2", 1)},
                      base);
      case Kind::kSplit: {
        const int64_t dim = wrapped(integer("dim", 0), rank);
        int64_t start = 0, end = 0;
        for (uint32_t i = 0; i <= position; ++i) {
          const shape::Dim size = from_.sizes(ir::Graph::outputs(view_)[i])[static_cast<size_t>(dim)];
          if (size.is_expr()) return {};
          start = end;
          end += size.number();
        }
        return sliced(base, part, dim, Operand::of(start), Operand::of(end), Operand::of(int64_t{1}));
      }
    }
    return {};
  }

 private:
  const Operand* find(std::string_view name) const {
    const auto& names = from_.op_of(view_).arguments;
    const auto found = std::ranges::find(names, name);
    const auto at = static_cast<size_t>(found - names.begin());
    return found == names.end() || at >= view_.operand_count ? nullptr : &from_.operands(view_)[at];
  }
  Operand operand(std::string_view name, int64_t otherwise) const {
    const Operand* found = find(name);
    return found && found->kind != ir::OperandKind::kNone ? *found : Operand::of(otherwise);
  }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    const Operand found = operand(name, otherwise);
    return found.kind == ir::OperandKind::kInt ? found.integer : otherwise;
  }
  static int64_t wrapped(int64_t dim, int64_t rank) { return dim < 0 ? dim + rank : dim; }

  // narrow counts elements, slice names the end.
  Operand end_of_slice() const {
    const Operand* length = find("length");
    if (!length) return operand("end", INT64_MAX);
    return Operand::of(integer("start", 0) + length->integer);
  }

  std::vector<int64_t> inverse_permutation(int64_t rank) const {
    std::vector<int64_t> order(static_cast<size_t>(rank)), result(order.size());
    for (int64_t i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
    const std::string& name = from_.op_of(view_).name;
    if (name == "aten::permute") {
      const auto dims = from_.ints(from_.operands(view_)[1]);
      for (size_t i = 0; i < order.size(); ++i) order[i] = wrapped(dims[i], rank);
    } else if (name == "aten::numpy_T") {
      std::ranges::reverse(order);
    } else if (rank >= 2) {
      const bool last = name == "aten::mT";
      std::swap(order[static_cast<size_t>(wrapped(integer("dim0", last ? -2 : 0), rank))],
                order[static_cast<size_t>(wrapped(integer("dim1", last ? -1 : 1), rank))]);
    }
    for (size_t i = 0; i < order.size(); ++i) result[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
    return result;
  }

  ValueId sliced(ValueId base, ValueId part, int64_t dim, Operand start, Operand end, Operand step) {
    return append(pure_operator(to_, "aten::slice_scatter", {"self", "src", "dim", "start", "end", "step"}),
                  {Operand::of(base), Operand::of(part), Operand::of(dim), start, end, step}, base);
  }
  ValueId selected(ValueId base, ValueId part, int64_t dim, Operand place) {
    return append(pure_operator(to_, "aten::select_scatter", {"self", "src", "dim", "index"}),
                  {Operand::of(base), Operand::of(part), Operand::of(dim), place}, base);
  }

  ValueId append(ir::OpId op, std::initializer_list<Operand> operands, ValueId like) {
    // Copies: appending moves the pool that the spans of the graph point into.
    const ir::Value value = to_.value(like);
    const std::vector<shape::Dim> sizes(to_.sizes(like).begin(), to_.sizes(like).end());
    const std::vector<shape::Dim> strides(to_.strides(like).begin(), to_.strides(like).end());
    const ir::ValueSpec spec{.kind = value.kind,
                             .dtype = value.dtype,
                             .device = value.device,
                             .layout = value.layout,
                             .flags = value.flags,
                             .alias = {},
                             .sizes = sizes,
                             .strides = strides,
                             .storage_offset = 0};
    return to_.outputs(to_.append(op, {operands.begin(), operands.size()}, {&spec, 1}, view_.line))[0];
  }

  const ir::Graph& from_;
  const ir::Node& view_;
  ir::Graph& to_;
};

}  // namespace

std::optional<ValueId> put_back(const ir::Graph& from, const ir::Node& view, uint32_t position, ir::Graph& to,
                                ValueId base, ValueId part) {
  const std::optional<Kind> kind = kind_of(from.op_of(view).name);
  if (!kind || from.operands(view).empty() || from.operands(view)[0].kind != ir::OperandKind::kValue)
    return {};
  return Inverse(from, view, to).make(*kind, position, base, part);
}

}  // namespace stator::pass
