// src/backends/fx/convert.cpp: walks the graph and has stator.fx.graph make a torch.fx node for each of its
// nodes.
#include "backends/fx/convert.h"

#include <pybind11/stl.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/DynamicTypes.h>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "backends/below_autograd.h"
#include "backends/fx/expressions.h"
#include "backends/fx/operands.h"
#include "capture/cpython/attribute_lookup.h"
#include "capture/cpython/collection_pause.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"
#include "torch/replacements/allowed_call.h"
#include "torch/tracing/integer_reads.h"

namespace stator::fx {
namespace {

// What a value is, for meta["val"], which is made only when a backend asks for it.
py::object describe(const ir::Graph& graph, Expressions& ints, uint32_t id) {
  const ir::Value& value = graph.value(ir::ValueId{id});
  if (!value.is_tensor()) return py::none();
  py::dict row;
  row["size"] = ints.of(graph.sizes(value));
  row["stride"] = ints.of(graph.strides(value));
  row["offset"] = ints.of(value.storage_offset);
  row["dtype"] = py::reinterpret_borrow<py::object>(
      reinterpret_cast<PyObject*>(torch::getTHPDtype(static_cast<at::ScalarType>(value.dtype))));
  row["device"] = py::reinterpret_steal<py::object>(
      THPDevice_New(c10::Device(static_cast<c10::DeviceType>(value.device.type), value.device.index)));
  row["requires_grad"] = value.requires_grad();
  row["conj"] = (value.flags & ir::kConjugate) != 0;
  row["neg"] = (value.flags & ir::kNegative) != 0;
  const bool is_same = value.alias == ir::AliasKind::kSame;
  row["same"] = is_same ? py::object(py::int_(index(value.base))) : py::none();
  row["storage"] = value.storage == ir::ValueId::kNone ? id : index(value.storage);
  return row;
}

py::object make_symbols(const ir::Graph& graph, const std::vector<bool>& used, const py::object& fixed) {
  const shape::Context& shapes = graph.shapes();
  py::list rows;
  for (const shape::Symbol& symbol : shapes.symbols())
    rows.append(py::make_tuple(symbol.name, symbol.hint, symbol.range.low >= 2));
  py::list reals;
  for (const ir::Input& input : graph.inputs()) {
    if (graph.value(input.value).kind != ir::ValueKind::kFloat) continue;
    const shape::RealSymbol& symbol = shapes.real_symbols()[reals.size()];
    const bool is_used = used[index(input.value)];
    reals.append(py::make_tuple(symbol.source, shapes.reals()[symbol.real].hint, is_used));
  }
  return py::module_::import("stator.fx.symbols").attr("Symbols")(rows, reals, fixed);
}

// What computes a float of other floats, as Python does.
py::object float_function(ir::OpId op) {
  const auto named = [](const char* name) { return py::module_::import("operator").attr(name); };
  if (op == ir::op::kFloatAdd) return named("add");
  if (op == ir::op::kFloatSub) return named("sub");
  if (op == ir::op::kFloatMul) return named("mul");
  if (op == ir::op::kFloatDiv) return named("truediv");
  if (op == ir::op::kFloatPow) return named("pow");
  if (op == ir::op::kFloatNeg) return named("neg");
  if (op == ir::op::kFloatOf) return py::module_::import("torch").attr("sym_float");
  return {};
}

// (file, line, function) of each frame, outermost first.
py::list stack_rows(const UserLines& lines, LineId id) {
  py::list rows;
  for (; id != LineId::kNone; id = lines[id].caller) {
    const UserLine& line = lines[id];
    rows.insert(0, py::make_tuple(lines.text(line.file), line.line, lines.text(line.function)));
  }
  return rows;
}

py::object overload_of(const OperatorInfo& info) {
  static auto* const known = new std::unordered_map<uint32_t, py::object>;  // lives as long as the process
  py::object& found = (*known)[static_cast<uint32_t>(info.id)];
  if (!found) {
    const std::string& name = info.handle.operator_name().name;
    const size_t colons = name.find("::");
    const std::string overload = info.handle.operator_name().overload_name;
    const py::object all = py::module_::import("torch")
                               .attr("ops")
                               .attr(name.substr(0, colons).c_str())
                               .attr(name.substr(colons + 2).c_str());
    // The source text of the graph cannot say `random_.from`: the operator then finds the overload by itself.
    const bool is_keyword = py::module_::import("keyword").attr("iskeyword")(overload).cast<bool>();
    found = is_keyword ? all : py::object(all.attr(overload.empty() ? "default" : overload.c_str()));
  }
  return found;
}

class Converter {
 public:
  Converter(const std::shared_ptr<Session>& session, const py::list& examples,
            const std::vector<std::string>& sources, const py::object& fixed)
      : graph_(session->graph),
        examples_(examples),
        sources_(sources),
        values_(graph_.value_count()),
        used_(values_.size()) {
    const auto note = [&](ir::ValueId value) { used_[index(value)] = true; };
    for (const ir::Node& node : graph_.nodes()) graph_.for_each_use(node, note);
    for (ir::ValueId value : graph_.outputs()) note(value);
    const shape::Context& shapes = graph_.shapes();
    py::object symbols = py::none();
    std::vector<py::object> symbol_ints;
    for (size_t i = 0; i < shapes.symbols().size(); i++) {
      if (!shapes.symbols()[i].hint) read_.push_back(i);
    }
    if (shapes.has_symbols() || (session->has_read && captures_scalars(*session)) || has_loops()) {
      symbols = make_symbols(graph_, used_, fixed);
      for (const py::handle& each : symbols.attr("ints"))
        symbol_ints.push_back(py::reinterpret_borrow<py::object>(each));
    }
    // The module keeps what it needs of the session for as long as somebody may ask for a value.
    const auto ints = std::make_shared<Expressions>(shapes, std::move(symbol_ints),
                                                    py::module_::import("stator.fx.graph").attr("calculate"));
    symbols_ = symbols;
    builder_ =
        py::module_::import("stator.fx.graph")
            .attr("GraphBuilder")(py::cpp_function([session, ints](uint32_t value) {
                                    return describe(session->graph, *ints, value);
                                  }),
                                  py::cpp_function([lines = session->graph.shared_lines()](uint32_t line) {
                                    return stack_rows(*lines, LineId{line});
                                  }),
                                  symbols);
    call_ = builder_.attr("call");
    item_ = builder_.attr("item");
    constant_ = [this](const py::object& object) { return builder_.attr("constant")(object); };
    dim_ = [this](shape::Dim dim) { return expressions_->of(dim); };
  }

  Converted run() {
    std::vector<py::object> placeholders;
    for (const shape::Symbol& symbol : graph_.shapes().symbols()) {
      const size_t number = placeholders.size();
      placeholders.push_back(symbol.hint ? builder_.attr("symbol")(number, symbol.source)
                                         : py::object(py::none()));
    }
    expressions_ =
        std::make_unique<Expressions>(graph_.shapes(), std::move(placeholders), builder_.attr("arithmetic"));
    size_t reals = 0;
    for (const ir::Input& input : graph_.inputs()) {
      if (is_float(input))
        values_[index(input.value)] =
            builder_.attr("real")(reals++, graph_.text(input.source), index(input.value));
    }
    std::unordered_map<uint32_t, size_t> input_of;
    for (const ir::Input& input : graph_.inputs()) {
      if (is_float(input)) continue;
      const uint32_t value = index(input.value);
      input_of.emplace(value, input_of.size());
      const size_t position = input_of.size() - 1;
      const std::string& source = sources_[position].empty() ? graph_.text(input.source) : sources_[position];
      values_[value] = builder_.attr("placeholder")(source, py::object(examples_[position]), value);
    }
    for (const ir::Node& node : graph_.nodes()) convert_node(node);

    Converted result;
    result.symbols = symbols_;
    py::list outputs;
    for (ir::ValueId output : graph_.outputs()) {
      ir::ValueId root = output;
      while (graph_.value(root).alias == ir::AliasKind::kSame) root = graph_.value(root).base;
      if (const auto input = input_of.find(index(root)); input != input_of.end()) {
        result.outputs.push_back({true, input->second});
      } else {
        result.outputs.push_back({false, outputs.size()});
        outputs.append(values_[index(output)]);
      }
    }
    result.module = builder_.attr("finish")(outputs);
    return result;
  }

 private:
  // Operators that take functions; those of loops make symbols of their own when compilers trace them.
  bool has_loops() const {
    const auto calls = [&](const ir::Node& node) {
      if (node.op != ir::op::kCall) return false;
      const auto* function =
          static_cast<const OpaqueFunction*>(graph_.constant(graph_.operands(node)[0]).object.get());
      return has_attribute(function->call.ptr(), "bodies");
    };
    return std::ranges::any_of(graph_.nodes(), calls);
  }

  bool is_float(const ir::Input& input) const {
    return graph_.value(input.value).kind == ir::ValueKind::kFloat;
  }

  void convert_node(const ir::Node& node) {
    const ir::Operator& op = graph_.op_of(node);
    if (op.flags.has(ir::OpFlag::kMode)) return mode(node, op.name);
    if (node.op == ir::op::kConstant) {
      values_[index(node.first_output)] = operand(graph_.operands(node)[0]);
      return;
    }
    if (node.op == ir::op::kIntOf) {
      values_[index(node.first_output)] = operand(graph_.operands(node)[0]);
      return;
    }
    if (const py::object function = float_function(node.op)) {
      py::tuple arguments(graph_.operands(node).size());
      for (size_t i = 0; i < arguments.size(); i++) arguments[i] = operand(graph_.operands(node)[i]);
      values_[index(node.first_output)] = builder_.attr("number")(place_of(node), function, *arguments);
      return;
    }
    if (node.op == ir::op::kFloatCall) {
      const auto operands = graph_.operands(node);
      const auto function = shape::find_real_function(graph_.string(operands[0]));
      if (!function) throw std::runtime_error("there is no such function of floats");
      const shape::RealFunctionInfo& info = shape::info(*function);
      py::list arguments;
      for (size_t i = 0; i < static_cast<size_t>(info.operands); i++)
        arguments.append(operand(operands[i + 1]));
      values_[index(node.first_output)] = builder_.attr("number")(
          place_of(node), py::module_::import(info.module).attr(info.name), *py::tuple(arguments));
      return;
    }
    if (node.op == data_operator()) {
      values_[index(node.first_output)] = builder_.attr("data")(
          operand(graph_.operands(node)[0]), index(node.first_output), static_cast<uint32_t>(node.line));
      return;
    }
    if (node.op == set_data_operator()) {
      const auto operands = graph_.operands(node);
      builder_.attr("set_data")(operand(operands[0]), operand(operands[1]), static_cast<uint32_t>(node.line));
      return;
    }
    if (node.op == ir::op::kCall) return python_call(node);
    const OperatorInfo* info = torch_operator(node.op);
    if (info == nullptr) throw std::runtime_error("torch.fx has no form of " + op.name);
    call(node, *info, op.flags.has(ir::OpFlag::kReturnsList));
  }

  size_t place_of(const ir::Node& node) const { return static_cast<size_t>(&node - graph_.nodes().data()); }

  void python_call(const ir::Node& node) {
    const auto operands = graph_.operands(node);
    const auto* function = static_cast<const OpaqueFunction*>(graph_.constant(operands[0]).object.get());
    const uint32_t first = index(node.first_output);
    py::list numbers;
    for (const ir::Operand& number : operands.subspan(2)) numbers.append(operand(number));
    const py::list results = builder_.attr("opaque")(function->call, operand(operands[1]), numbers, first,
                                                     static_cast<uint32_t>(node.line));
    for (size_t i = 0; i < results.size(); i++) values_[first + i] = results[i];
  }

  void mode(const ir::Node& node, const std::string& name) {
    py::list arguments;
    for (const ir::Operand& each : graph_.operands(node)) arguments.append(operand(each));
    builder_.attr("mode")(name, arguments, static_cast<uint32_t>(node.line));
  }

  void call(const ir::Node& node, const OperatorInfo& info, bool returns_list) {
    const c10::FunctionSchema& schema = info.handle.schema();
    const auto operands = graph_.operands(node);
    size_t positional = 0;
    for (size_t i = 0; i < operands.size() && !schema.arguments()[i].kwarg_only(); i++) {
      if (!is_default(graph_, operands[i], schema.arguments()[i])) positional = i + 1;
    }
    py::tuple arguments(positional);
    py::dict keywords;
    for (size_t i = 0; i < operands.size(); i++) {
      const c10::Argument& argument = schema.arguments()[i];
      if (i < positional) {
        arguments[i] = operand(operands[i]);
      } else if (argument.kwarg_only() && !is_default(graph_, operands[i], argument)) {
        keywords[argument.name().c_str()] = operand(operands[i]);
      }
    }
    const bool single = !returns_list && schema.returns().size() == 1 && node.output_count == 1 &&
                        schema.returns()[0].type()->kind() == c10::TypeKind::TensorType;
    const uint32_t first = index(node.first_output);
    const py::object result =
        call_(overload_of(info), arguments, keywords, single ? py::object(py::int_(first)) : py::none(),
              static_cast<uint32_t>(node.line), was_below_autograd(graph_, node, info));
    if (!single && node.output_count == 1 && gives_number(schema)) {
      values_[first] = result;
      number_is_read(first, result);
    } else if (single) {
      values_[first] = result;
    } else {
      take_results(node, schema, result, returns_list);
    }
  }

  // The ints that are read are the symbols without a value, in order.
  void number_is_read(uint32_t value, const py::object& node) {
    const ir::ValueKind kind = graph_.value(ir::ValueId{value}).kind;
    if (kind == ir::ValueKind::kInt && next_read_ < read_.size()) {
      const size_t symbol = read_[next_read_++];
      builder_.attr("read")(node, symbol);
      expressions_->know(symbol, node);
    } else if (kind == ir::ValueKind::kFloat && !symbols_.is_none()) {
      builder_.attr("read")(node, py::none());
    }
  }

  static bool gives_number(const c10::FunctionSchema& schema) {
    if (schema.returns().size() != 1) return false;
    const c10::TypeKind kind = schema.returns()[0].type()->kind();
    return kind == c10::TypeKind::NumberType || kind == c10::TypeKind::BoolType;
  }

  // An operator that returns several tensors, a list of them, or both.
  void take_results(const ir::Node& node, const c10::FunctionSchema& schema, const py::object& result,
                    bool returns_list) {
    const auto is_tensor = [](const c10::Argument& r) {
      return r.type()->kind() == c10::TypeKind::TensorType;
    };
    const auto is_list = [](const c10::Argument& r) { return r.type()->kind() == c10::TypeKind::ListType; };
    const auto& returns = schema.returns();
    uint32_t next = index(node.first_output);
    const uint32_t end = next + node.output_count;
    if (returns_list || (returns.size() == 1 && is_list(returns[0]))) {
      for (size_t i = 0; next < end; i++) take(next++, result, i);
      return;
    }
    const auto lists = std::ranges::count_if(returns, is_list);
    const auto tensors = std::ranges::count_if(returns, is_tensor);
    if (lists > 1) throw std::runtime_error("torch.fx has no form of an operator that returns several lists");
    for (size_t i = 0; i < returns.size() && next < end; i++) {
      if (is_tensor(returns[i])) {
        take(next++, result, i);
      } else if (is_list(returns[i])) {
        const auto count = static_cast<size_t>(node.output_count) - static_cast<size_t>(tensors);
        const py::object list = item_(result, i, py::none());
        for (size_t j = 0; j < count; j++) take(next++, list, j);
      }
    }
  }

  void take(uint32_t value, const py::object& from, size_t position) {
    if (used_[value]) values_[value] = item_(from, position, value);
  }

  py::object operand(const ir::Operand& each) { return object_of(graph_, each, values_, constant_, dim_); }

  const ir::Graph& graph_;
  const py::list& examples_;
  const std::vector<std::string>& sources_;
  ValueObjects values_;
  std::vector<bool> used_;
  py::object builder_, call_, item_, symbols_;
  AddConstant constant_;
  DimObject dim_;
  std::unique_ptr<Expressions> expressions_;
  std::vector<size_t> read_;  // symbols that nodes give
  size_t next_read_ = 0;
};

}  // namespace

Converted convert(const std::shared_ptr<Session>& session, const py::list& examples,
                  const std::vector<std::string>& sources, const py::object& fixed) {
  const CollectionPause no_collection;
  return Converter(session, examples, sources, fixed).run();
}

}  // namespace stator::fx
