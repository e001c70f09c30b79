// src/core/pass/functional_form.cpp: copies a graph node by node, following writes from views to their bases.
#include "core/pass/functional_form.h"

#include <algorithm>
#include <unordered_map>

#include "core/ir/effects.h"
#include "core/pass/added_operators.h"
#include "core/pass/copy_operand.h"
#include "core/pass/inverse_view.h"

namespace stator::pass {

using ir::AliasKind;
using ir::Operand;
using ir::OperandKind;
using ir::ValueId;

namespace {

struct Refused {
  std::string reason;
};

struct Functional {
  enum class Kind : uint8_t { kValue, kTest, kRefused };
  std::string name;
  Kind kind = Kind::kValue;
};

// "aten::add_.Tensor" -> "aten::add.Tensor", unless the table says otherwise.
Functional functional_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Functional> table = {
#define STATOR_IN_PLACE(in_place, functional, kind) {in_place, {functional, Functional::Kind::kind}},
#include "core/pass/in_place_operators.def"
  };
  if (const auto found = table.find(name); found != table.end()) return found->second;
  const size_t dot = name.find('.');
  const std::string_view base = name.substr(0, dot);
  if (!base.ends_with('_') || base.ends_with("__")) return {{}, Functional::Kind::kRefused};
  return {std::string(base.substr(0, base.size() - 1)) +
          std::string(dot == std::string_view::npos ? "" : name.substr(dot))};
}

class Rewriter {
 public:
  explicit Rewriter(const ir::Graph& from)
      : from_(from),
        to_(from.shared_operators(), from.shared_lines(), from.shared_shapes()),
        states_(from.value_count()) {}

  FunctionalForm run() {
    for (const ir::Input& input : from_.inputs()) {
      const ir::Value& value = from_.value(input.value);
      if (value.alias != AliasKind::kFresh) throw Refused{"inputs that share memory"};
      if (value.layout != ir::Layout::kStrided) throw Refused{"an input that is not strided"};
      enter(input.value,
            to_.add_input(from_.text(input.name), from_.text(input.source), spec_of(input.value)));
    }
    for (const ir::Node& node : from_.nodes()) rewrite(node);
    return finish();
  }

 private:
  struct State {
    ValueId now = ValueId::kNone;  // in the new graph
    uint32_t version = 0;          // of the alias set when `now` was made
  };

  // Spans point into the old graph.
  ir::ValueSpec spec_of(ValueId id) const {
    const ir::Value& value = from_.value(id);
    return {.kind = value.kind,
            .dtype = value.dtype,
            .device = value.device,
            .layout = value.layout,
            .flags = value.flags,
            .alias = {},
            .sizes = from_.sizes(id),
            .strides = from_.strides(id),
            .storage_offset = 0};
  }

  uint32_t& version_of(ValueId id) { return versions_[index(from_.value(id).storage)]; }

  void enter(ValueId old, ValueId now) { states_[index(old)] = {now, version_of(old)}; }

  // The contents of a value at this point of the program.
  ValueId current(ValueId id) {
    State& state = states_[index(id)];
    if (state.now == ValueId::kNone) throw Refused{"a value that no node made"};
    if (state.version == version_of(id)) return state.now;
    const ir::Value& value = from_.value(id);
    if (value.alias == AliasKind::kSame) {
      enter(id, current(value.base));
    } else {
      // A base is always current; this is a view, made again.
      copy_node(from_.node(value.node), {}, true);
    }
    return states_[index(id)].now;
  }

  Operand operand_of(const Operand& operand) {
    return copy_operand(from_, operand, to_, [this](ValueId id) { return current(id); });
  }

  // Appends the node with its current operands, as operator `name` if that is given, and enters its outputs.
  // `again`: a view made once more, of a base whose strides may be others: what was a view by its strides is
  // a reshape.
  ValueId copy_node(const ir::Node& node, const std::string& name, bool again = false) {
    std::vector<Operand> operands;
    for (const Operand& operand : from_.operands(node)) operands.push_back(operand_of(operand));
    ir::OpId op = node.op;
    const ir::Operator& own = from_.op_of(node);
    if (!name.empty()) {
      ir::Operator functional = own;
      functional.name = name;
      functional.writes = 0;
      functional.hidden_effect = 0;
      op = to_.operators().add(std::move(functional));
    } else if (again && own.name == "aten::view") {
      op = reshape_operator(to_);
    }
    std::vector<ir::ValueSpec> specs;
    for (ValueId id : ir::Graph::outputs(node)) specs.push_back(spec_of(id));
    const ir::NodeId made = to_.append(op, operands, specs, node.line);
    const ir::ValueRange results = to_.outputs(made);
    uint32_t i = 0;
    for (ValueId id : ir::Graph::outputs(node)) enter(id, results[i++]);
    return results.count > 0 ? results[0] : ValueId::kNone;
  }

  // A comparison, whose boolean is written in the type of the tensor that was compared.
  ValueId tested(const ir::Node& node, const std::string& name) {
    const ValueId self = from_.operands(node)[0].value;
    if (from_.value(self).dtype == ir::DType::kBool) return copy_node(node, name);
    std::vector<Operand> operands;
    for (const Operand& operand : from_.operands(node)) operands.push_back(operand_of(operand));
    ir::Operator test = from_.op_of(node);
    test.name = name;
    test.writes = 0;
    test.hidden_effect = 0;
    ir::ValueSpec spec = spec_of(self);
    spec.dtype = ir::DType::kBool;
    spec.flags = 0;
    const ir::NodeId tests =
        to_.append(to_.operators().add(std::move(test)), operands, {&spec, 1}, node.line);
    const ir::ValueSpec own = spec_of(self);
    const Operand conversion[] = {Operand::of(to_.outputs(tests)[0]), Operand::of(own.dtype),
                                  Operand::of(false), Operand::of(false), Operand::none()};
    return to_.outputs(to_.append(conversion_operator(to_), conversion, {&own, 1}, node.line))[0];
  }

  // The value, its base and all between them have new contents.
  void write(ValueId id, ValueId now) {
    std::vector<std::pair<ValueId, ValueId>> written = {{id, now}};
    while (from_.value(id).alias != AliasKind::kFresh) {
      const ir::Value& value = from_.value(id);
      if (value.alias == AliasKind::kView) {
        const ValueId base = current(value.base);
        const ir::Node& node = from_.node(value.node);
        const uint32_t position = index(id) - index(node.first_output);
        const std::optional<ValueId> put = put_back(from_, node, position, to_, base, now);
        if (!put) throw Refused{"a write through a view by " + from_.op_of(node).name};
        now = *put;
      }
      id = value.base;
      written.emplace_back(id, now);
    }
    ++version_of(id);
    for (const auto& [old, made] : written) enter(old, made);
  }

  void rewrite(const ir::Node& node) {
    const std::string& name = from_.op_of(node).name;
    const ir::Effects effects = ir::effects_of(from_, node);
    if (node.op == ir::op::kSetGradEnabled) return;
    if (effects.mode || effects.unknown) throw Refused{"the operator " + name};
    const auto outputs = ir::Graph::outputs(node);
    if (effects.writes == 0) {
      // What gives an argument back: dropout in eval, a conversion to the same type.
      if (outputs.count == 1 && from_.value(outputs[0]).alias == AliasKind::kSame) {
        enter(outputs[0], current(from_.value(outputs[0]).base));
        return;
      }
      copy_node(node, {});
      return;
    }
    write_in_place(node, functional_of(name));
  }

  void write_in_place(const ir::Node& node, const Functional& functional) {
    const std::string& name = from_.op_of(node).name;
    const ir::Effects effects = ir::effects_of(from_, node);
    const auto outputs = ir::Graph::outputs(node);
    const auto operands = from_.operands(node);
    if (functional.kind == Functional::Kind::kRefused || effects.random || effects.writes != 1 ||
        operands.empty() || operands[0].kind != OperandKind::kValue || outputs.count != 1)
      throw Refused{"the operator " + name};
    const ValueId self = operands[0].value, result = outputs[0];
    const ir::Value& before = from_.value(self);
    if (from_.value(result).alias != AliasKind::kSame || from_.value(result).base != self)
      throw Refused{"the operator " + name};
    const bool same_shape = std::ranges::equal(from_.sizes(self), from_.sizes(result)) &&
                            std::ranges::equal(from_.strides(self), from_.strides(result));
    if (!same_shape) throw Refused{"the operator " + name};
    if (functional.name == "aten::detach") return enter(result, current(self));
    const bool is_test = functional.kind == Functional::Kind::kTest;
    // In place, the result has the type of `self`, whatever the other operands would promote it to.
    if (functional.name != "aten::copy" && !is_test) {
      from_.for_each_use(node, [&](ValueId id) {
        const ir::Value& value = from_.value(id);
        // Integers and booleans may be indices and masks.
        const bool index = value.dtype == ir::DType::kI64 || value.dtype == ir::DType::kBool;
        // A tensor without dimensions does not promote one that has some.
        const bool promotes = value.rank > 0 || before.rank == 0;
        if (value.is_tensor() && promotes && value.dtype != before.dtype && !index)
          throw Refused{name + " of unequal types"};
      });
    }
    const ValueId made = is_test ? tested(node, functional.name) : copy_node(node, functional.name);
    write(self, made);
    enter(result, made);
  }

  // The tensor itself, whose operators in place gave `id` back.
  ValueId tensor_of(ValueId id) const {
    while (from_.value(id).alias == AliasKind::kSame) id = from_.value(id).base;
    return id;
  }

  // A view that strides describe on the memory of its base as the graph gives it.
  std::optional<FormResult> strided_view(ValueId view, ValueId root) const {
    const ir::Value &value = from_.value(view), &base = from_.value(root);
    const auto is_symbolic = [](const shape::Dim& dim) { return dim.is_expr(); };
    const auto sizes = from_.sizes(view), strides = from_.strides(view);
    if (value.dtype != base.dtype || value.layout != base.layout || sizes.size() != strides.size() ||
        ((value.flags ^ base.flags) & (ir::kConjugate | ir::kNegative)) != 0 ||
        std::ranges::any_of(sizes, is_symbolic) || std::ranges::any_of(strides, is_symbolic) ||
        value.storage_offset.is_expr())
      return {};
    // What gives the base its last contents keeps its strides, or views cannot be made of it.
    if (!std::ranges::equal(to_.strides(states_[index(root)].now), from_.strides(root))) return {};
    FormResult result{.kind = FormResult::Kind::kView, .offset = value.storage_offset.number()};
    for (const shape::Dim& dim : sizes) result.sizes.push_back(dim.number());
    for (const shape::Dim& dim : strides) result.strides.push_back(dim.number());
    return result;
  }

  FunctionalForm finish() {
    FunctionalForm form{.graph = ir::Graph(), .results = {}, .written = {}};
    std::vector<ValueId> outputs;
    std::vector<ValueId> returned;  // the old value of each
    const auto number_of = [&](ValueId old) {
      const auto found = std::ranges::find(returned, old);
      const auto number = static_cast<size_t>(found - returned.begin());
      if (found == returned.end()) {
        returned.push_back(old);
        outputs.push_back(current(old));
      }
      return number;
    };
    const auto inputs = from_.inputs();
    const auto shares_memory = [&](ValueId tensor) {
      return std::ranges::any_of(from_.outputs(), [&](ValueId other) {
        return tensor_of(other) != tensor && from_.value(other).storage == from_.value(tensor).storage;
      });
    };
    for (ValueId id : from_.outputs()) {
      const ValueId tensor = tensor_of(id), root = from_.value(id).storage;
      const auto input = std::ranges::find(inputs, root, &ir::Input::value);
      if (input != inputs.end()) {
        if (tensor != root) throw Refused{"a result that is a view of an input"};
        form.results.push_back(
            {.kind = FormResult::Kind::kInput, .index = static_cast<size_t>(input - inputs.begin())});
      } else if (tensor == root) {
        form.results.push_back({.index = number_of(root)});
      } else if (auto view = strided_view(tensor, root)) {
        view->index = number_of(root);
        form.results.push_back(std::move(*view));
      } else {
        const shape::Dim offset = from_.value(tensor).storage_offset;
        if (shares_memory(tensor)) throw Refused{"results that share memory"};
        if (offset.is_expr() || offset.number() != 0)
          throw Refused{"a result that is a view of something larger"};
        form.results.push_back({.index = number_of(tensor)});
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (version_of(inputs[i].value) == 0) continue;
      form.written.push_back(i);
      outputs.push_back(current(inputs[i].value));
    }
    to_.set_outputs(outputs);
    form.graph = std::move(to_);
    return form;
  }

  const ir::Graph& from_;
  ir::Graph to_;
  std::vector<State> states_;                        // by the old id
  std::unordered_map<uint32_t, uint32_t> versions_;  // of alias sets: how often each was written
};

}  // namespace

Result<FunctionalForm, std::string> functional_form(const ir::Graph& graph) {
  try {
    return Rewriter(graph).run();
  } catch (const Refused& refused) {
    return refused.reason;
  }
}

}  // namespace stator::pass
