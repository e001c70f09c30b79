// src/backends/native/program.cpp: compiles a graph into instructions and replays them.
#include "backends/native/program.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/python_variable.h>

#include <optional>
#include <stdexcept>
#include <unordered_set>

#include "backends/below_autograd.h"
#include "backends/native/boxing.h"
#include "backends/native/checkpointed.h"
#include "backends/native/modes.h"
#include "backends/native/numbers.h"
#include "core/pass/last_use.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"
#include "torch/replacements/allowed_call.h"
#include "torch/tracing/integer_reads.h"

namespace stator::native {

namespace {

struct Instruction {
  enum class Kind : uint8_t { call, mode, data, set_data, constant, python, number, enter, leave, step };
  Kind kind = Kind::call;
  bool returns_list = false;
  bool returns_number = false;
  ir::ValueKind number_kind = ir::ValueKind::kUndefined;
  std::optional<size_t> symbol;  // its result is the symbol's value from then on
  bool below_autograd = false;
  const OperatorInfo* info = nullptr;
  ir::OpId op{};
  std::optional<shape::RealFunction> function_of_floats;
  std::vector<ArgumentTemplate> arguments;
  uint32_t first_output = 0;
  uint32_t output_count = 0;
  std::vector<uint32_t> dead;    // values whose last use this is
  std::vector<size_t> returned;  // where the operator returns several of its arguments: their positions
  std::shared_ptr<OpaqueFunction> function;
  // Where a checkpointed region begins: the number of the instruction that ends it, the values that the
  // program gave it, and others that it uses.
  size_t end = 0;
  std::vector<uint32_t> used, given;
  uint32_t node = 0;
  std::unique_ptr<Step> step;
  bool in_range = false;
  std::vector<uint32_t> uses, makes;  // filled where it is in a range
};

bool is_number(ir::ValueKind kind) {
  return kind == ir::ValueKind::kFloat || kind == ir::ValueKind::kInt || kind == ir::ValueKind::kBool;
}

c10::IValue as_number(const c10::IValue& result, ir::ValueKind kind) {
  if (kind == ir::ValueKind::kBool) return result.isBool() ? result : c10::IValue(result.toScalar().toBool());
  if (kind == ir::ValueKind::kInt) return result.toScalar().toLong();
  return result.toScalar().toDouble();
}

// The tensors, then numbers.
void call_python(const OpaqueFunction& function, torch::jit::Stack& arguments, c10::IValue* outputs,
                 size_t count) {
  const py::gil_scoped_acquire locked;
  py::list tensors;
  for (const c10::IValue& input : arguments[0].toListRef())
    tensors.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(input.toTensor())));
  arguments[0] = {};
  py::tuple numbers(arguments.size() - 1);
  for (size_t i = 0; i < numbers.size(); i++) {
    const c10::IValue& number = arguments[i + 1];
    numbers[i] = number.isInt() ? py::object(py::int_(number.toInt())) : py::float_(number.toDouble());
  }
  const py::list results = function.call(tensors, *numbers);
  if (results.size() != count) throw std::runtime_error("a function in the graph returned other tensors");
  for (size_t i = 0; i < count; i++) {
    const py::object result = results[i];
    if (PyFloat_Check(result.ptr())) {
      outputs[i] = PyFloat_AS_DOUBLE(result.ptr());
    } else if (PyLong_CheckExact(result.ptr())) {
      outputs[i] = result.cast<int64_t>();
    } else if (PyObject_TypeCheck(result.ptr(), reinterpret_cast<PyTypeObject*>(THPVariableClass))) {
      outputs[i] = THPVariable_Unpack(result.ptr());
    } else {
      throw std::runtime_error("a function in the graph returned something else than before");
    }
  }
}

}  // namespace

struct Program::Body {
  std::vector<Instruction> instructions;
  std::shared_ptr<const shape::Context> shapes;  // of `expressions`
  shape::Postfix expressions;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> reals;  // inputs that are floats, in the order of their symbols
  std::vector<uint32_t> outputs;
  size_t values = 0;
  bool has_modes = false;
  bool makes_symbols = false;  // some instruction does

  // Instructions `number` up to `end`; without `runner`, one by one.
  static void run(const std::shared_ptr<const Body>& body, std::vector<c10::IValue>& values,
                  shape::Bindings& bindings, size_t& number, size_t end, RangeRunner* runner = nullptr);
};

namespace {

// The positions of the arguments that the operator returns, in the order of its returns, where it returns
// several and nothing else (`sort.values`, with `out=`). In torch 2.11 a boxed call of such an operator
// drops its arguments and then returns references to them, which dangle where the stack alone held them.
std::vector<size_t> returned_arguments(const c10::FunctionSchema& schema) {
  std::vector<size_t> positions;
  if (schema.returns().size() < 2) return positions;
  for (const c10::Argument& result : schema.returns()) {
    if (!result.alias_info() || !result.alias_info()->isWrite()) return {};
    for (size_t i = 0; i < schema.arguments().size(); i++) {
      const c10::AliasInfo* argument = schema.arguments()[i].alias_info();
      if (argument && argument->beforeSets() == result.alias_info()->beforeSets()) positions.push_back(i);
    }
  }
  if (positions.size() != schema.returns().size()) return {};
  return positions;
}

// Of a region that begins with node `start`: where it ends, and what it uses.
void find_region(const ir::Graph& graph, size_t start, Instruction& instruction) {
  const auto nodes = graph.nodes();
  graph.for_each_use(nodes[start], [&](ir::ValueId value) { instruction.given.push_back(index(value)); });
  std::unordered_set<uint32_t> known(instruction.given.begin(), instruction.given.end());
  size_t n = start + 1;
  for (; nodes[n].op != ir::op::kRegionExit; n++) {
    graph.for_each_use(nodes[n], [&](ir::ValueId value) {
      if (known.insert(index(value)).second) instruction.used.push_back(index(value));
    });
    for (ir::ValueId value : ir::Graph::outputs(nodes[n])) known.insert(index(value));
  }
  instruction.end = n;
}

}  // namespace

Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;

std::vector<Scheduled> in_order(const ir::Graph& graph) {
  std::vector<Scheduled> schedule(graph.nodes().size());
  for (uint32_t i = 0; i < schedule.size(); ++i) schedule[i].node = i;
  return schedule;
}

Program::Program(const ir::Graph& graph) : Program(graph, in_order(graph)) {}

static void find_last_uses(const ir::Graph& graph, std::vector<Instruction>& instructions) {
  const auto visit_values = [&](size_t i, const pass::LastUses::Visit& visit) {
    if (const Step* step = instructions[i].step.get()) {
      for (uint32_t value : step->uses) visit(ir::ValueId{value});
      for (uint32_t value : step->makes) visit(ir::ValueId{value});
      return;
    }
    const ir::Node& node = graph.nodes()[instructions[i].node];
    graph.for_each_use(node, visit);
    for (ir::ValueId value : ir::Graph::outputs(node)) visit(value);
  };
  const pass::LastUses last_uses(graph, instructions.size(), visit_values);
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    for (ir::ValueId value : last_uses.after(ir::NodeId{i})) instructions[i].dead.push_back(index(value));
  }
}

static void find_values(const ir::Graph& graph, const Scheduled& scheduled, Instruction& instruction) {
  if (scheduled.step) {
    instruction.uses = scheduled.step->uses;
    instruction.makes = scheduled.step->makes;
    return;
  }
  const ir::Node& node = graph.nodes()[scheduled.node];
  graph.for_each_use(node, [&](ir::ValueId value) { instruction.uses.push_back(index(value)); });
  for (ir::ValueId value : ir::Graph::outputs(node)) instruction.makes.push_back(index(value));
}

Program::Program(const ir::Graph& graph, std::vector<Scheduled> schedule) {
  const auto made = std::make_shared<Body>();
  body_ = made;
  Body& body = *made;
  body.values = graph.value_count();
  body.shapes = graph.shared_shapes();
  for (const ir::Input& input : graph.inputs()) {
    const bool is_real = graph.value(input.value).kind == ir::ValueKind::kFloat;
    (is_real ? body.reals : body.inputs).push_back(index(input.value));
  }
  for (ir::ValueId value : graph.outputs()) body.outputs.push_back(index(value));

  const auto nodes = graph.nodes();
  const std::vector<std::optional<size_t>> symbols = symbols_of_run(graph);
  body.instructions.reserve(schedule.size());
  for (Scheduled& scheduled : schedule) {
    Instruction instruction;
    instruction.node = scheduled.node;
    if (!scheduled.step) instruction.symbol = symbols[scheduled.node];
    body.makes_symbols |= instruction.symbol.has_value();
    instruction.in_range = scheduled.in_range;
    if (scheduled.in_range) find_values(graph, scheduled, instruction);
    if (scheduled.step) {
      instruction.kind = Instruction::Kind::step;
      instruction.step = std::move(scheduled.step);
      body.instructions.push_back(std::move(instruction));
      continue;
    }
    const ir::Node& node = nodes[scheduled.node];
    instruction.op = node.op;
    instruction.first_output = index(node.first_output);
    instruction.output_count = node.output_count;
    const ir::Operator& op = graph.op_of(node);
    if (node.op == data_operator()) {
      instruction.kind = Instruction::Kind::data;
    } else if (node.op == set_data_operator()) {
      instruction.kind = Instruction::Kind::set_data;
    } else if (node.op == ir::op::kConstant) {
      instruction.kind = Instruction::Kind::constant;
    } else if (node.op == ir::op::kCall) {
      instruction.kind = Instruction::Kind::python;
      instruction.function =
          std::static_pointer_cast<OpaqueFunction>(graph.constant(graph.operands(node)[0]).object);
      for (const ir::Operand& operand : graph.operands(node).subspan(1))
        instruction.arguments.push_back(make_template(graph, operand, nullptr, body.expressions));
      body.instructions.push_back(std::move(instruction));
      continue;
    } else if (is_number_operator(node.op)) {
      instruction.kind = Instruction::Kind::number;
    } else if (node.op == ir::op::kRegionEnter) {
      instruction.kind = Instruction::Kind::enter;
      find_region(graph, body.instructions.size(), instruction);
    } else if (node.op == ir::op::kRegionExit) {
      instruction.kind = Instruction::Kind::leave;
    } else if (op.flags.has(ir::OpFlag::kMode)) {
      instruction.kind = Instruction::Kind::mode;
      body.has_modes = true;
    } else {
      instruction.info = torch_operator(node.op);
      if (!instruction.info) throw std::runtime_error("torch has no operator " + op.name);
      instruction.below_autograd =
          scheduled.records_no_gradient || was_below_autograd(graph, node, *instruction.info);
      if (node.output_count == 1) instruction.number_kind = graph.value(node.first_output).kind;
      instruction.returns_number = is_number(instruction.number_kind);
      instruction.returns_list = op.flags.has(ir::OpFlag::kReturnsList);
      instruction.returned = returned_arguments(instruction.info->handle.schema());
    }
    auto operands = graph.operands(node);
    if (node.op == ir::op::kFloatCall) {
      const std::string& function = graph.string(operands[0]);
      instruction.function_of_floats = shape::find_real_function(function);
      if (!instruction.function_of_floats)
        throw std::runtime_error("there is no function of floats " + function);
      operands = operands.subspan(1);
    }
    size_t position = 0;
    for (const ir::Operand& operand : operands) {
      const c10::Type* type =
          instruction.info ? instruction.info->handle.schema().arguments()[position].type().get() : nullptr;
      instruction.arguments.push_back(make_template(graph, operand, type, body.expressions));
      ++position;
    }
    body.instructions.push_back(std::move(instruction));
  }
  find_last_uses(graph, body.instructions);
}

std::vector<Range> Program::ranges() const {
  std::vector<Range> found;
  const std::vector<Instruction>& instructions = body_->instructions;
  for (size_t i = 0; i < instructions.size(); ++i) {
    if (!instructions[i].in_range) continue;
    Range whole;
    whole.begin = whole.end = i;
    while (whole.end < instructions.size() && instructions[whole.end].in_range) ++whole.end;
    found.push_back(part_of(whole, whole.begin, whole.end));
    i = whole.end;
  }
  return found;
}

Range Program::part_of(const Range& range, size_t begin, size_t end) const {
  Range part;
  part.begin = std::max(begin, range.begin);
  part.end = std::min(end, range.end);
  std::unordered_set<uint32_t> made, used, dead;
  for (size_t i = part.begin; i < part.end; ++i) {
    const Instruction& instruction = body_->instructions[i];
    for (uint32_t value : instruction.uses) {
      if (!made.contains(value) && used.insert(value).second) part.uses.push_back(value);
    }
    made.insert(instruction.makes.begin(), instruction.makes.end());
    dead.insert(instruction.dead.begin(), instruction.dead.end());
  }
  for (size_t i = part.begin; i < part.end; ++i) {
    for (uint32_t value : body_->instructions[i].makes) {
      if (!dead.contains(value)) part.makes.push_back(value);
    }
  }
  for (uint32_t value : part.uses) {
    if (dead.contains(value)) part.dead.push_back(value);
  }
  return part;
}

Program::Program(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
Program Program::plain() const { return Program(body_); }

void Program::run_ranges_by(std::shared_ptr<RangeRunner> runner) { runner_ = std::move(runner); }

size_t Program::input_count() const { return body_->inputs.size(); }

size_t Program::node_of(size_t instruction) const {
  return instruction < body_->instructions.size() ? body_->instructions[instruction].node : SIZE_MAX;
}

namespace {

class WithRanges {
 public:
  WithRanges(RangeRunner* runner, const shape::Bindings& bindings) : runner_(runner) {
    if (runner_) runner_->enter(bindings);
  }
  ~WithRanges() {
    if (runner_) runner_->leave();
  }
  WithRanges(const WithRanges&) = delete;
  WithRanges& operator=(const WithRanges&) = delete;

 private:
  RangeRunner* runner_;
};

}  // namespace

std::vector<c10::IValue> Program::run(std::span<const at::Tensor> inputs, const shape::Bindings& bindings,
                                      size_t* at) const {
  const Body& body = *body_;
  if (inputs.size() != body.inputs.size()) throw std::invalid_argument("wrong number of inputs");
  std::vector<c10::IValue> values(body.values);
  for (size_t i = 0; i < inputs.size(); ++i) values[body.inputs[i]] = inputs[i];
  return run_values(std::move(values), bindings, at);
}

std::vector<c10::IValue> Program::run_taking(std::vector<at::Tensor> inputs, const shape::Bindings& bindings,
                                             size_t* at) const {
  const Body& body = *body_;
  if (inputs.size() != body.inputs.size()) throw std::invalid_argument("wrong number of inputs");
  std::vector<c10::IValue> values(body.values);
  for (size_t i = 0; i < inputs.size(); ++i) values[body.inputs[i]] = std::move(inputs[i]);
  return run_values(std::move(values), bindings, at);
}

std::vector<c10::IValue> Program::run_values(std::vector<c10::IValue> values, const shape::Bindings& bindings,
                                             size_t* at) const {
  const Body& body = *body_;
  size_t nobody_asks = 0;
  size_t& number = at != nullptr ? *at : nobody_asks;
  number = 0;
  for (size_t i = 0; i < body.reals.size(); ++i) values[body.reals[i]] = bindings.reals[i];
  const WithRanges ranges(runner_.get(), bindings);
  shape::Bindings own;
  if (body.makes_symbols) own = bindings;
  // Without such instructions nothing is written.
  shape::Bindings& used = body.makes_symbols ? own : const_cast<shape::Bindings&>(bindings);
  Body::run(body_, values, used, number, body.instructions.size(), runner_.get());
  std::vector<c10::IValue> outputs;
  outputs.reserve(body.outputs.size());
  for (uint32_t value : body.outputs) outputs.push_back(values[value]);
  if (runner_) {
    values.clear();
    runner_->release(outputs);
  }
  return outputs;
}

void Program::Body::run(const std::shared_ptr<const Body>& shared, std::vector<c10::IValue>& values,
                        shape::Bindings& bindings, size_t& number, size_t end, RangeRunner* runner) {
  const Body& body = *shared;
  RECORD_USER_SCOPE("Stator graph");
  ModeStack modes;
  std::optional<Checkpointed> region;
  torch::jit::Stack stack;
  for (; number < end; number++) {
    const Instruction& instruction = body.instructions[number];
    if (runner && instruction.in_range) {
      if (const Range* range = runner->at(number)) {
        const size_t behind = range->end;
        const auto natively = [&](std::vector<c10::IValue>& own, size_t& at) {
          Body::run(shared, own, bindings, at, behind);
        };
        runner->run(*range, values, natively, number);
        number = behind - 1;
        continue;
      }
    }
    if (instruction.kind == Instruction::Kind::step) {
      instruction.step->run(values, bindings);
      for (uint32_t value : instruction.dead) values[value] = {};
      continue;
    }
    stack.clear();
    for (const ArgumentTemplate& argument : instruction.arguments)
      stack.push_back(argument.fill(values, body.expressions, bindings));
    switch (instruction.kind) {
      case Instruction::Kind::mode:
        modes.apply(instruction.op, stack);
        continue;
      case Instruction::Kind::enter: {
        std::vector<c10::IValue> used;
        for (uint32_t value : instruction.used) used.push_back(values[value]);
        const auto again = [shared, first = number, used = std::move(used),
                            bindings](const std::vector<at::Tensor>& given) mutable {
          const Instruction& enter = shared->instructions[first];
          std::vector<c10::IValue> own(shared->values);
          for (size_t i = 0; i < used.size(); i++) own[enter.used[i]] = used[i];
          for (size_t i = 0; i < given.size(); i++) own[enter.given[i]] = given[i];
          size_t next = first + 1;
          Body::run(shared, own, bindings, next, enter.end);
        };
        std::vector<at::Tensor> given;
        for (const c10::IValue& tensor : stack[2].toListRef()) given.push_back(tensor.toTensor());
        region.emplace(again, stack[0].toBool(), stack[1].toBool(), given);
        break;
      }
      case Instruction::Kind::leave:
        region->leave();
        region.reset();
        break;
      case Instruction::Kind::constant:
        values[instruction.first_output] = std::move(stack[0]);
        break;
      case Instruction::Kind::number:
        values[instruction.first_output] = instruction.function_of_floats
                                               ? call_function(*instruction.function_of_floats, stack)
                                               : calculate(instruction.op, stack);
        break;
      case Instruction::Kind::data:
        values[instruction.first_output] = stack[0].toTensor().variable_data();
        break;
      case Instruction::Kind::set_data:
        stack[0].toTensor().set_data(stack[1].toTensor());
        break;
      case Instruction::Kind::python:
        for (uint32_t value : instruction.dead) values[value] = {};
        call_python(*instruction.function, stack, &values[instruction.first_output],
                    instruction.output_count);
        if (instruction.symbol) bindings.ints[*instruction.symbol] = values[instruction.first_output].toInt();
        break;
      case Instruction::Kind::step:
        break;
      case Instruction::Kind::call: {
        // The stack holds the only reference to a value at its last use, as a temporary does in eager code.
        for (uint32_t value : instruction.dead) values[value] = {};
        torch::jit::Stack returned;
        for (size_t position : instruction.returned) returned.push_back(stack[position]);
        if (instruction.below_autograd) {
          const at::AutoDispatchBelowADInplaceOrView below;
          instruction.info->handle.callBoxed(&stack);
        } else {
          instruction.info->handle.callBoxed(&stack);
        }
        if (!returned.empty()) stack = std::move(returned);
        if (instruction.returns_number) {
          values[instruction.first_output] = as_number(stack[0], instruction.number_kind);
          if (instruction.symbol)
            bindings.ints[*instruction.symbol] = values[instruction.first_output].toInt();
        } else if (instruction.returns_list) {
          const auto elements = stack[0].toListRef();
          for (uint32_t i = 0; i < instruction.output_count; ++i)
            values[instruction.first_output + i] = elements[i];
        } else {
          uint32_t output = instruction.first_output;
          for (c10::IValue& result : stack) {
            if (result.isTensor() && output < instruction.first_output + instruction.output_count) {
              values[output++] = std::move(result);
            } else if (result.isTensorList()) {
              for (const c10::IValue& element : result.toListRef()) values[output++] = element;
            }
          }
        }
        break;
      }
    }
    for (uint32_t value : instruction.dead) values[value] = {};
  }
  modes.finish();
}

}  // namespace stator::native
