// src/backends/fused/plan/kernel_maker.cpp: the terms of a group's nodes, what they load and what is stored.
#include "backends/fused/plan/kernel_maker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "backends/fused/kernel/llvm_text.h"

namespace stator::fused {

using ir::ValueId;

namespace {

class KernelMaker {
 public:
  KernelMaker(const ir::Graph& graph, const Memory& memory, const Groups& groups, uint32_t number,
              const std::vector<char>& used_outside, Rounding rounding)
      : graph_(graph),
        memory_(memory),
        groups_(groups),
        number_(number),
        used_outside_(used_outside),
        rounding_(rounding) {}

  KernelPlan make() {
    const Group& group = groups_.all()[number_];
    Kernel& kernel = plan_.kernel;
    for (shape::Dim size : group.space) kernel.sizes.push_back(extent(size));
    kernel.reduced = group.reduced;
    plan_.nodes = group.nodes;
    for (uint32_t number : group.nodes) {
      const ir::Node& node = graph_.nodes()[number];
      const Rule& rule = *find_rule(graph_.op_of(node).name);
      const ValueId output = node.first_output;
      if (rule.kind == RuleKind::joined) {
        terms_[index(output)] = joined(node);
      } else if (rule.kind == RuleKind::windowed) {
        terms_[index(output)] = windowed(node);
      } else if (rule.kind == RuleKind::copied) {
        copied(node, rule);
        continue;
      } else {
        against_ =
            is_elementwise(rule.kind) ? graph_.sizes(output) : graph_.sizes(graph_.operands(node)[0].value);
        kind_ = rule.kind;
        NodeTerms terms(graph_, node, kernel, [this](ValueId id) { return resolve(id); });
        TermId made = rule.terms(terms);
        if (rounding_ == Rounding::every) made = terms.rounded(made, terms.result_dtype());
        terms_[index(output)] = made;
      }
      if (!used_outside_[index(output)]) continue;
      plan_.stores.push_back({output, 0});
      kernel.stores.push_back(
          {terms_[index(output)], access(output, graph_.sizes(output), RuleKind::pointwise)});
    }
    kernel.parameters = static_cast<int32_t>(plan_.parameters.size());
    simplify(kernel);
    return std::move(plan_);
  }

 private:
  Extent extent(shape::Dim dim) {
    if (!dim.is_expr()) return {dim.number(), -1};
    const auto found = std::ranges::find(plan_.parameters, dim);
    const auto place = static_cast<int32_t>(found - plan_.parameters.begin());
    if (found == plan_.parameters.end()) plan_.parameters.push_back(dim);
    return {0, place};
  }

  // The strides of a value along the iteration space.
  Access access(ValueId id, std::span<const shape::Dim> against, RuleKind kind) {
    return access(graph_.value(id).dtype, graph_.sizes(id), graph_.strides(id), against, kind);
  }
  Access access(ir::DType dtype, std::span<const shape::Dim> sizes, std::span<const shape::Dim> strides,
                std::span<const shape::Dim> against, RuleKind kind) {
    Access made{.dtype = dtype, .strides = std::vector<Extent>(plan_.kernel.sizes.size())};
    std::vector<size_t> places;
    Groups::places_of(sizes, against, places, kind);
    size_t next = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (!(sizes[d] == shape::Dim(1))) made.strides[places[next++]] = extent(strides[d]);
    }
    return made;
  }

  TermId resolve(ValueId id) {
    if (const auto found = terms_.find(index(memory_.root(id))); found != terms_.end()) return found->second;
    return load(id, access(id, against_, kind_), 0);
  }

  TermId load(ValueId id, Access made, int64_t shift) {
    const ValueId root = memory_.root(id);
    const shape::Dim offset = graph_.value(id).storage_offset, base = graph_.value(root).storage_offset;
    if (offset.is_expr() || base.is_expr()) {
      made.start = offset == base && shift == 0 ? 0 : -1;
    } else {
      made.start = ((offset.number() - base.number() + shift) % kAligned + kAligned) % kAligned;
    }
    for (size_t i = 0; i < plan_.loads.size(); ++i) {
      const KernelPlan::Operand& other = plan_.loads[i];
      if (other.root == root && other.offset == offset && other.shift == shift &&
          plan_.kernel.loads[i] == made)
        return load_terms_[i];
    }
    const TermId term = add({.op = Op::load,
                             .type = *arithmetic_type(made.dtype),
                             .integer = static_cast<int64_t>(plan_.loads.size())});
    plan_.loads.push_back({root, offset, base, shift});
    plan_.kernel.loads.push_back(std::move(made));
    load_terms_.push_back(term);
    return term;
  }

  TermId add(const Term& term) {
    plan_.kernel.terms.push_back(term);
    return static_cast<TermId>(plan_.kernel.terms.size() - 1);
  }

  // -- What is put together -------------------------------------------------------------------------------
  // One of the tensors: the coordinates of the result along `along` that are its own.
  struct Part {
    std::span<const shape::Dim> whole;  // sizes of the result
    size_t along;
    int64_t low, high;
  };

  TermId joined(const ir::Node& node) {
    const auto parts = graph_.values(graph_.operands(node)[0]);
    const size_t along = *joined_dimension(graph_, node);
    Part part{graph_.sizes(node.first_output), along, 0, 0};
    std::vector<std::pair<TermId, int64_t>> made;  // with where it ends
    for (ValueId id : parts) {
      part.low = part.high;
      part.high += graph_.sizes(id)[along].number();
      made.emplace_back(of_part(id, part), part.high);
    }
    const TermId at = add({.op = Op::index, .type = Type::i64, .integer = place_of(part)});
    TermId result = made.back().first;
    for (size_t i = made.size() - 1; i-- > 0;) {
      const TermId end = add({.op = Op::constant, .type = Type::i64, .integer = made[i].second});
      const TermId before = add({.op = Op::less, .type = Type::boolean, .a = at, .b = end});
      result = add({.op = Op::select,
                    .type = plan_.kernel.terms[result].type,
                    .a = before,
                    .b = made[i].first,
                    .c = result});
    }
    return result;
  }

  // The dimension of the iteration space that the part lies along.
  static int64_t place_of(const Part& part) {
    return std::ranges::count_if(part.whole.first(part.along),
                                 [](shape::Dim size) { return !(size == shape::Dim(1)); });
  }

  TermId of_part(ValueId id, const Part& part) {
    const ir::NodeId maker = graph_.value(id).node;
    if (maker != ir::NodeId::kNone && groups_.is_inlined(index(maker))) {
      const ir::Node& node = graph_.node(maker);
      NodeTerms terms(graph_, node, plan_.kernel, [&](ValueId operand) { return of_part(operand, part); });
      return find_rule(graph_.op_of(node).name)->terms(terms);
    }
    // Along the dimension it has the size of the part; the kernel sees it as large as the whole.
    const auto own = graph_.sizes(id);
    std::vector<shape::Dim> sizes(own.begin(), own.end());
    const size_t missing = part.whole.size() - sizes.size();
    const bool is_along = part.along >= missing && !(own[part.along - missing] == shape::Dim(1));
    if (!is_along) return load(id, access(id, part.whole, RuleKind::pointwise), 0);
    sizes[part.along - missing] = part.whole[part.along];
    const auto strides = graph_.strides(id);
    Access made = access(graph_.value(id).dtype, sizes, strides, part.whole, RuleKind::pointwise);
    made.ranges.push_back({static_cast<int32_t>(place_of(part)), part.low, part.high});
    return load(id, std::move(made), -part.low * strides[part.along - missing].number());
  }

  // -- Windows ----------------------------------------------------------------------------------------------
  TermId constant(int64_t number) { return add({.op = Op::constant, .type = Type::i64, .integer = number}); }

  // The greatest element of each window; outside of the image everything is less.
  TermId windowed(const ir::Node& node) {
    const Window window = *window_of(graph_, node);
    const ValueId image = graph_.operands(node)[0].value;
    const auto sizes = graph_.sizes(image), strides = graph_.strides(image);
    const auto made_sizes = graph_.sizes(node.first_output);
    // The dimensions of the iteration space; -1: the result has one element along it.
    std::array<int32_t, 4> places{};
    int32_t next = 0;
    for (size_t d = 0; d < 4; ++d) places[d] = made_sizes[d] == shape::Dim(1) ? -1 : next++;
    TermId result = kNoTerm;
    for (int64_t y = 0; y < window.size[0]; ++y) {
      for (int64_t x = 0; x < window.size[1]; ++x) {
        Access made{.dtype = graph_.value(image).dtype,
                    .strides = std::vector<Extent>(plan_.kernel.sizes.size())};
        for (size_t d = 0; d < 2; ++d) {
          if (places[d] >= 0) made.strides[static_cast<size_t>(places[d])] = extent(strides[d]);
        }
        TermId inside = kNoTerm;
        int64_t shift = 0;
        bool is_empty = false;
        for (size_t i = 0; i < 2; ++i) {
          const int64_t at = (i == 0 ? y : x) * window.dilation[i] - window.padding[i];
          const int64_t size = sizes[2 + i].number(), count = made_sizes[2 + i].number();
          const int64_t step = window.step[i], stride = strides[2 + i].number();
          // 0 <= coordinate * step + at < size
          const int64_t low = at >= 0 ? 0 : (-at + step - 1) / step;
          const int64_t high = std::min(count, size - 1 - at < 0 ? 0 : (size - 1 - at) / step + 1);
          is_empty = is_empty || low >= high;
          shift += at * stride;
          const int32_t place = places[2 + i];
          if (place < 0 || (low == 0 && high == count)) {
            if (place >= 0) made.strides[static_cast<size_t>(place)] = {step * stride, -1};
            continue;
          }
          made.strides[static_cast<size_t>(place)] = {step * stride, -1};
          made.ranges.push_back({place, low, high});
          const TermId own = add({.op = Op::index, .type = Type::i64, .integer = place});
          for (const auto& [a, b] : {std::pair(constant(low - 1), own), std::pair(own, constant(high))}) {
            const TermId less = add({.op = Op::less, .type = Type::boolean, .a = a, .b = b});
            inside = inside == kNoTerm
                         ? less
                         : add({.op = Op::bit_and, .type = Type::boolean, .a = inside, .b = less});
          }
        }
        if (is_empty) continue;
        TermId term = load(image, std::move(made), shift);
        const Type type = plan_.kernel.terms[term].type;
        if (inside != kNoTerm) {
          const TermId least = add({.op = Op::constant, .type = type, .real = -HUGE_VAL});
          term = add({.op = Op::select, .type = type, .a = inside, .b = term, .c = least});
        }
        result = result == kNoTerm ? term : add({.op = Op::maximum, .type = type, .a = result, .b = term});
      }
    }
    return result;
  }

  // -- Copies in other dimensions ---------------------------------------------------------------------------
  void copied(const ir::Node& node, const Rule& rule) {
    const ValueId self = graph_.operands(node)[0].value, output = node.first_output;
    const Repeats repeats = repeats_of(graph_, self);
    const auto sizes = graph_.sizes(self), strides = graph_.strides(self);
    std::vector<shape::Dim> rest_strides, made_strides;
    std::vector<int64_t> offsets = {0};
    int64_t next = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
      if (repeats.is_repeated[d] == 0) {
        rest_strides.insert(rest_strides.begin(), strides[d]);
        made_strides.insert(made_strides.begin(), shape::Dim(next));
      } else {
        const std::vector<int64_t> inner = offsets;
        for (int64_t i = 1; i < sizes[d].number(); ++i) {
          for (int64_t offset : inner) offsets.push_back(offset + i * next);
        }
      }
      next *= sizes[d].number();
    }
    NodeTerms terms(graph_, node, plan_.kernel, [&](ValueId id) {
      if (const auto found = terms_.find(index(memory_.root(id))); found != terms_.end())
        return found->second;
      return load(
          id, access(graph_.value(id).dtype, repeats.rest, rest_strides, repeats.rest, RuleKind::pointwise),
          0);
    });
    const TermId term = rule.terms(terms);
    if (!used_outside_[index(output)]) return;
    for (int64_t offset : offsets) {
      Access made =
          access(graph_.value(output).dtype, repeats.rest, made_strides, repeats.rest, RuleKind::pointwise);
      made.start = offset % kAligned;
      plan_.stores.push_back({output, offset});
      plan_.kernel.stores.push_back({term, std::move(made)});
    }
  }

  const ir::Graph& graph_;
  const Memory& memory_;
  const Groups& groups_;
  const uint32_t number_;
  const std::vector<char>& used_outside_;
  const Rounding rounding_;
  KernelPlan plan_;
  std::span<const shape::Dim> against_;  // what the operands of the node are broadcast to
  RuleKind kind_ = RuleKind::pointwise;
  std::map<uint32_t, TermId> terms_;  // by value
  std::vector<TermId> load_terms_;
};

}  // namespace

KernelPlan make_kernel(const ir::Graph& graph, const Memory& memory, const Groups& groups, uint32_t number,
                       const std::vector<char>& used_outside, Rounding rounding) {
  return KernelMaker(graph, memory, groups, number, used_outside, rounding).make();
}

}  // namespace stator::fused
