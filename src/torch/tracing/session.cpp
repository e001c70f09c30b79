// src/torch/tracing/session.cpp: the life of a capture and the lifting of real tensors.
#include "torch/tracing/session.h"

#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <unordered_set>

#include "capture/guards/dynamism.h"
#include "core/ir/effects.h"
#include "torch/domain/error_paths.h"
#include "torch/operators/operator_info.h"
#include "torch/operators/operator_table.h"
#include "torch/replacements/bodies.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/data_parallel.h"
#include "torch/tracing/tracer.h"
#include "torch/tracing/wrapper_tensors.h"

namespace stator {

namespace {
thread_local Session* current_session = nullptr;
// Whether a profiler of the caller's hears of this thread's operators. Those of a capture are none of the
// program's, and what records their shapes cannot read symbols.
thread_local bool caller_is_recorded = true;

void record_operators(bool does) {
  at::RecordFunctionTLS state = at::get_record_function_tls_();
  if (std::exchange(state.tls_record_function_enabled_, does) != does) at::set_record_function_tls_(state);
}

uint64_t next_session() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}
}  // namespace

Session::Session(std::shared_ptr<UserLines> lines, UserPlace* place)
    : graph(torch_operators(), std::move(lines)), id_(next_session()), place_(place) {
  graph.shapes().follow(place);
}

Session::~Session() {
  if (entered_) leave();
  ShapeCounters& all = totals();
  all.memo_hits += counters.memo_hits;
  all.rule_calls += counters.rule_calls;
  all.meta_calls += counters.meta_calls;
  all.composite_calls += counters.composite_calls;
  all.dispatched_meta_calls += counters.dispatched_meta_calls;
}

ShapeCounters& Session::totals() {
  static ShapeCounters all;
  return all;
}

Session* Session::current() { return current_session; }

void Session::enter() {
  outer_ = current_session;
  current_session = this;
  entered_ = true;
  if (outer_ == nullptr) caller_is_recorded = at::get_record_function_tls_().tls_record_function_enabled_;
  record_operators(false);
  caller_modes_ = modes_ = current_modes();
  c10::impl::tls_set_dispatch_key_included(kTracerKey, true);
}

void Session::leave() {
  current_session = outer_;
  entered_ = false;
  place_ = nullptr;
  graph.shapes().follow(nullptr);
  c10::impl::tls_set_dispatch_key_included(kTracerKey, outer_ != nullptr);
  if (outer_ == nullptr) record_operators(caller_is_recorded);
}

void Session::pause() {
  current_session = nullptr;
  c10::impl::tls_set_dispatch_key_included(kTracerKey, false);
  record_operators(caller_is_recorded);
}

void Session::resume() {
  current_session = this;
  c10::impl::tls_set_dispatch_key_included(kTracerKey, true);
  record_operators(false);
}

namespace {

// The metadata of an argument with symbols for the sizes that vary. A stride that is the product of what lies
// inside it stays so: contiguity is kept as an expression. Others are numbers, or symbols where they vary:
// `ids[:, -1:]` of a sequence that grows.
TensorMeta symbolic_meta(shape::Context& shapes, const at::Tensor& real, const std::string& source,
                         uint64_t varying) {
  TensorMeta meta = meta_of(real);
  const auto symbol = [&](const Size& number, const char* of, size_t i) {
    return Size(shapes.size_symbol(number.hint(), source + of + std::to_string(i) + ")"), &shapes);
  };
  const auto varies = [&](size_t bit) { return bit < 64 && (varying >> bit & 1) != 0; };
  for (size_t i = 0; i < meta.sizes.size() && i < Varying::kStrides; ++i) {
    if (varies(i)) meta.sizes[i] = symbol(meta.sizes[i], ".size(", i);
  }
  Size next = 1;
  for (size_t i : stride_order(real)) {
    if (meta.strides[i].hint() == next.hint()) {
      meta.strides[i] = next;
    } else if (varies(Varying::kStrides + i)) {
      meta.strides[i] = symbol(meta.strides[i], ".stride(", i);
    }
    try {
      next = max(meta.sizes[i], Size(1)) * meta.strides[i];
    } catch (const std::overflow_error&) {  // of an empty tensor: strides as they like
      next = -1;
    }
  }
  return meta;
}

}  // namespace

bool is_wrapper(const at::Tensor& tensor) {
  constexpr auto kWrappers =
      c10::DispatchKeySet({c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchGradWrapper});
  return tensor.key_set().has_any(kWrappers);
}

std::vector<size_t> stride_order(const at::Tensor& tensor) {
  std::vector<size_t> order(static_cast<size_t>(tensor.dim()));
  std::iota(order.rbegin(), order.rend(), 0);
  const auto sizes = tensor.sizes(), strides = tensor.strides();
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::pair(strides[a], sizes[a] != 1) < std::pair(strides[b], sizes[b] != 1);
  });
  return order;
}

// Tensors whose dimensions have names exist up to torch 2.12; graphs know no names.
template <class Tensor>
bool names_dimensions(const Tensor& tensor) {
  if constexpr (requires { tensor.has_names(); }) return tensor.has_names();
  return false;
}

Session::Lifted& Session::lift(const at::Tensor& real, const std::string& name, const std::string& source,
                               uint64_t varying) {
  auto [found, is_new] = lifted_.try_emplace(real.unsafeGetTensorImpl(), inputs.size());
  if (!is_new) return inputs[found->second];
  if (is_wrapper_tensor(real)) {
    lifted_.erase(found);
    if (!wrappers) raise_break(BreakCode::kTensorSubclass, "a tensor subclass with __torch_dispatch__");
    wrappers->meta(real);
    lifted_.emplace(real.unsafeGetTensorImpl(), inputs.size());
    Lifted& lifted = add_input(real, name, source, 0);
    wrappers->add_input(real, lifted.value);
    return lifted;
  }
  if (is_wrapper(real)) {
    lifted_.erase(found);
    raise_break(BreakCode::kHigherOrderOperator, "a tensor of a transform is used after it");
  }
  if (real.layout() != c10::kStrided) {
    lifted_.erase(found);
    raise_break(BreakCode::kTensorLayout, "a tensor whose layout is not strided");
  }
  if (names_dimensions(real)) {
    lifted_.erase(found);
    raise_break(BreakCode::kTensorLayout, "a tensor whose dimensions have names");
  }
  if (real.is_quantized()) {
    lifted_.erase(found);
    raise_break(BreakCode::kTensorLayout, "a quantized tensor");
  }
  return add_input(real, name, source, varying);
}

Session::Lifted& Session::add_input(const at::Tensor& real, const std::string& name,
                                    const std::string& source, uint64_t varying) {
  std::string text = source;
  if (text.empty() && source_of) text = source_of(real).value_or("");
  const std::string input_name = name.empty() ? "lifted_" + std::to_string(inputs.size()) : name;
  std::vector<shape::Dim> dims;
  const TensorMeta meta = varying                   ? symbolic_meta(graph.shapes(), real, text, varying)
                          : is_wrapper_tensor(real) ? wrappers->meta(real)
                                                    : meta_of(real);
  ir::ValueSpec spec = value_spec(meta, real.requires_grad(), dims);
  // What one of a subclass is made of has memory, itself it has none.
  const auto [sharing, alone] =
      is_wrapper_tensor(real) ? std::pair(storages_.end(), true)
                              : storages_.try_emplace(real.storage().unsafeGetStorageImpl(), inputs.size());
  const bool shared = !alone;
  if (shared) spec.alias = ir::Alias::shares(inputs[sharing->second].input);
  const ir::ValueId value = graph.add_input(input_name, text.empty() ? input_name : text, spec);
  inputs.push_back(
      {real, value, value, shared ? inputs[sharing->second].memory : new_memory(), {}, {}, line()});
  if (varying) inputs.back().meta = meta;
  if (!data_parallel && real.requires_grad() && real.is_leaf()) data_parallel = active_data_parallel();
  return inputs.back();
}

at::Tensor Session::wrapper_input(const at::Tensor& real, const std::string& name,
                                  const std::string& source) {
  Lifted& lifted = lift(real, name, source);
  return lifted.tracer = wrappers->stand_in_of(real);
}

at::Tensor Session::input(const at::Tensor& real, const std::string& name, const std::string& source,
                          uint64_t varying) {
  Lifted& lifted = lift(real, name, source, varying);
  if (!lifted.tracer.defined()) {
    const Tracer::Identity identity{id_, lifted.memory, index(lifted.input)};
    const TensorMeta& meta = lifted.meta.sizes.empty() ? meta_of(real) : lifted.meta;
    lifted.tracer = make_tracer(meta, identity, real.requires_grad(), real.is_leaf());
  }
  return lifted.tracer;
}

ir::ValueId Session::value_of(const at::Tensor& tensor) {
  if (Tracer* tracer = as_tracer(tensor)) {
    if (tracer->identity().session != id_) raise_break(BreakCode::kThread, "a tensor of another capture");
    if (tracer->identity().value == UINT32_MAX && wrappers && unrecorded == 0) wrappers->record_part(tensor);
    return ir::ValueId{tracer->identity().value};
  }
  if (is_wrapper_tensor(tensor) && wrappers) {
    if (const auto known = wrappers->value_of(tensor)) return *known;
  }
  return lift(tensor).value;
}

void Session::move_value(const at::Tensor& tensor, ir::ValueId value) {
  if (Tracer* tracer = as_tracer(tensor)) {
    tracer->set_value(index(value));
  } else {
    lift(tensor).value = value;
  }
}

uint32_t Session::record_data(uint32_t value, const TensorMeta& meta) {
  if (unrecorded) return UINT32_MAX;
  record_modes();
  std::vector<shape::Dim> dims;
  ir::ValueSpec spec = value_spec(meta, false, dims);
  spec.alias = ir::Alias::view(ir::ValueId{value});
  const ir::Operand operand = ir::Operand::of(ir::ValueId{value});
  const ir::NodeId node = graph.append(data_operator(), {&operand, 1}, {&spec, 1}, line());
  return index(graph.outputs(node)[0]);
}

at::Tensor Session::data_of(const at::Tensor& real) {
  const TensorMeta meta = meta_of(real);
  Lifted& lifted = lift(real);
  const Tracer::Identity identity{id_, lifted.memory, record_data(index(lifted.value), meta)};
  return at::detail::make_tensor<Tracer>(meta, identity, real.is_inference());
}

void Session::record_set_data(const at::Tensor& a, const at::Tensor& b) {
  record_modes();
  const std::array operands{ir::Operand::of(value_of(a)), ir::Operand::of(value_of(b))};
  graph.append(set_data_operator(), operands, {}, line());
  const Tracer* tracer = as_tracer(b);
  const uint64_t memory = tracer != nullptr ? tracer->identity().memory : lift(b).memory;
  lift(a).memory = memory;
}

void Session::record_requires_grad(const at::Tensor& leaf, bool requires_grad) {
  static const ir::OpId op =
      operator_info(c10::Dispatcher::singleton().findSchemaOrThrow("aten::requires_grad_", "")).id;
  record_modes();
  std::vector<shape::Dim> dims;
  const ir::ValueId value = value_of(leaf);
  ir::ValueSpec spec = value_spec(meta_of(leaf), requires_grad, dims);
  spec.alias = ir::Alias::same(value);
  const std::array operands{ir::Operand::of(value), ir::Operand::of(requires_grad)};
  const ir::NodeId node = graph.append(op, operands, {&spec, 1}, line());
  move_value(leaf, graph.outputs(node)[0]);
  if (requires_grad)
    made_leaves.push_back(
        {graph.outputs(node)[0], c10::weak_intrusive_ptr<c10::TensorImpl>(leaf.getIntrusivePtr())});
  if (Tracer* tracer = as_tracer(leaf)) tracer->set_leaf_with_gradient(requires_grad);
}

bool Session::record_drift(const at::Tensor& tensor, const Tracer& tracer) {
  if (!is_leaf_of_other_gradient(tensor, tracer) || !changes_tensors || unrecorded != 0) return false;
  record_requires_grad(tensor, tensor.requires_grad());
  return true;
}

void Session::record_modes() {
  const ModeState now = current_modes();
  if (now == modes_) return;
  // AOT autograd traces the whole graph under the default dtype of its caller.
  if (!changes_tensors && now.default_dtype != modes_.default_dtype)
    raise_break(BreakCode::kUnsupportedMode, "an operator under another default dtype than the caller's");
  append_mode_nodes(graph, caller_modes_, modes_, now, line());
  modes_ = now;
}

void Session::add_real_input(shape::RealId symbol, const std::string& name) {
  ir::ValueSpec spec;
  spec.kind = ir::ValueKind::kFloat;
  // A name for the input: what the source has besides letters and digits becomes an underscore.
  std::string plain = name;
  for (char& c : plain) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  for (const ir::Input& input : graph.inputs()) {
    if (graph.text(input.name) == plain) plain += "_" + std::to_string(graph.inputs().size());
  }
  reals_[symbol] = graph.add_input(plain, name, spec);
}

SymNumber Session::read_number(ir::OpId op, const at::Tensor& tensor) {
  record_modes();
  ir::ValueSpec spec;
  spec.kind = ir::ValueKind::kFloat;
  const ir::Operand operand = ir::Operand::of(value_of(tensor));
  const ir::NodeId node = graph.append(op, {&operand, 1}, {&spec, 1}, line());
  return number_of(graph.outputs(node)[0]);
}

SymNumber Session::number_of(ir::ValueId value) {
  has_read = true;
  const shape::RealId real = shapes().reals().add_read();
  reals_[real] = value;
  return SymNumber::of(real, shapes());
}

void Session::before_refusal(const std::string& operator_name) {
  if (!ends_before_refusal || (runs_python && !lasting_.any()) || !ends_before_refusal(line())) return;
  may_refuse_ = true;
  if (lasting_.any()) raise_break(BreakCode::kException, operator_name + " may raise after a write");
}

void Session::after_write() {
  if (may_refuse_ && !runs_python && lasting_.any())
    raise_break(BreakCode::kException, "a write after an operator that may raise");
}

// In Python a power of a negative number may be complex; the capture has a float.
static bool may_be_complex(const shape::RealTable& reals, shape::RealId id) {
  const shape::Real& real = reals[id];
  if (real.kind != shape::RealKind::kPow) return false;
  const shape::Real &base = reals[real.a], &exponent = reals[real.b];
  const bool is_positive = base.kind == shape::RealKind::kConstant && base.number >= 0;
  const bool is_whole =
      exponent.kind == shape::RealKind::kConstant && exponent.number == std::floor(exponent.number);
  return !is_positive && !is_whole;
}

void Session::record_number(shape::RealId real) {
  if (reals_.count(real) != 0 || !shapes().reals().may_raise(real)) return;
  if (unrecorded != 0)
    raise_break(BreakCode::kDataDependentBranch, "arithmetic on a number that is read off a tensor");
  if (lasting_.any()) {
    const bool passes = passes_errors_on && passes_errors_on(line());
    if (!passes || (may_be_complex(shapes().reals(), real) && !runs_optimizer_code()))
      raise_break(BreakCode::kDataDependentBranch,
                  "arithmetic that may raise, on a number that is read off a tensor, after a write");
  }
  value_of(real);
}

ir::ValueId Session::value_of(shape::RealId id) {
  if (const auto found = reals_.find(id); found != reals_.end()) return found->second;
  const shape::Real real = shapes().reals()[id];
  const auto operand = [&](shape::RealId part) {
    const shape::Real& inner = shapes().reals()[part];
    return inner.kind == shape::RealKind::kConstant ? ir::Operand::of(inner.number)
                                                    : ir::Operand::of(value_of(part));
  };
  ir::OpId op{};
  std::vector<ir::Operand> operands;
  // torch has no such functions of symbols, or asks for what they are: programs of its compilers are given
  // the result.
  if (!runs_python && real.has_hint &&
      (real.kind == shape::RealKind::kCall || real.kind == shape::RealKind::kPow)) {
    if (const auto symbol = shapes().symbol_for(id)) {
      add_real_input(*symbol, shapes().real_symbols().back().source);
      return reals_[id] = reals_[*symbol];
    }
  }
  switch (real.kind) {
    case shape::RealKind::kFromInt:
    case shape::RealKind::kConstant:
    case shape::RealKind::kSymbol:
    case shape::RealKind::kRead:
      op = ir::op::kFloatOf;
      operands = {real.kind == shape::RealKind::kFromInt ? ir::Operand::of(shape::ExprId{real.index})
                                                         : ir::Operand::of(real.number)};
      break;
    case shape::RealKind::kNeg:
      op = ir::op::kFloatNeg;
      operands = {operand(real.a)};
      break;
    case shape::RealKind::kCall: {
      if (!runs_python && real.has_hint) {  // there is no room for more
        op = ir::op::kFloatOf;
        operands = {ir::Operand::of(shapes().specialize(id))};
        break;
      }
      const auto function = shape::RealFunction{static_cast<uint8_t>(real.index)};
      op = ir::op::kFloatCall;
      operands = {graph.string(shape::info(function).name), operand(real.a)};
      operands.push_back(shape::info(function).operands == 2 ? operand(real.b) : ir::Operand::none());
      break;
    }
    case shape::RealKind::kAdd:
    case shape::RealKind::kSub:
    case shape::RealKind::kMul:
    case shape::RealKind::kDiv:
    case shape::RealKind::kPow: {
      constexpr ir::OpId kOps[] = {ir::op::kFloatAdd, ir::op::kFloatSub, ir::op::kFloatMul, ir::op::kFloatDiv,
                                   ir::op::kFloatPow};
      op = kOps[static_cast<size_t>(real.kind) - static_cast<size_t>(shape::RealKind::kAdd)];
      operands = {operand(real.a), operand(real.b)};
      break;
    }
  }
  ir::ValueSpec spec;
  spec.kind = ir::ValueKind::kFloat;
  const ir::NodeId node = graph.append(op, operands, {&spec, 1}, line());
  return reals_[id] = graph.outputs(node)[0];
}

ir::ValueId Session::output_value(const at::Tensor& output) {
  if (const Tracer* tracer = as_tracer(output);
      tracer && has_drifted(output, *tracer) && !record_drift(output, *tracer)) {
    raise_break(BreakCode::kMetadataDrift,
                "the autograd state of an output was changed by something else than an operator");
  }
  return value_of(output);
}

ir::ValueId Session::output_value(const SymNumber& number) {
  if (number.real) return value_of(*number.real);
  ir::ValueSpec spec;
  spec.kind = ir::ValueKind::kInt;
  const ir::Operand operand = ir::Operand::of(number.integer.dim());
  const ir::NodeId node = graph.append(ir::op::kIntOf, {&operand, 1}, {&spec, 1}, line());
  return graph.outputs(node)[0];
}

// Whether a node writes to memory of an input.
static bool writes_to_input(const ir::Graph& graph) {
  std::unordered_set<uint32_t> inputs;
  for (const ir::Input& input : graph.inputs()) inputs.insert(index(input.value));
  const auto is_of_input = [&](ir::ValueId id) {
    const ir::Value& value = graph.value(id);
    return inputs.count(value.storage == ir::ValueId::kNone ? index(id) : index(value.storage)) != 0;
  };
  bool found = false;
  for (const ir::Node& node : graph.nodes()) {
    const ir::Effects effects = ir::effects_of(graph, node);
    const auto operands = graph.operands(node);
    for (size_t i = 0; i < operands.size(); i++) {
      if (effects.writes_argument(i))
        graph.for_each_value(operands[i], [&](ir::ValueId id) { found |= is_of_input(id); });
    }
  }
  return found;
}

void Session::finish(std::span<const ir::ValueId> outputs) {
  record_modes();
  // Every run leaves autocast and inference mode by itself; one that was compiled knows no others, either.
  const ModeState& caller = caller_modes_;
  if (modes_.inference != caller.inference || modes_.cpu != caller.cpu || modes_.cuda != caller.cuda ||
      modes_.autocast_cache != caller.autocast_cache ||
      (!changes_tensors && (modes_.grad != caller.grad || modes_.default_dtype != caller.default_dtype ||
                            modes_.attention != caller.attention)))
    note_break(BreakCode::kUnsupportedMode, "it is still set when the function returns");
  if (under_unsupported_mode())
    note_break(BreakCode::kUnsupportedMode, "a transform is still open when the function returns");
  if (wrappers && !changes_tensors && wrappers->any() && writes_to_input(graph))
    note_break(BreakCode::kTensorSubclass, "an argument is written, and memory of a subclass may be shared");
  if (wrappers && !changes_tensors && wrappers->any_plain_view(outputs))
    note_break(BreakCode::kTensorSubclass, "a plain view of a tensor of a subclass is a result");
  if (region_modes_)
    note_break(BreakCode::kHigherOrderOperator, "torch.utils.checkpoint of code that raises");
  if (has_open_body(*this))
    note_break(BreakCode::kHigherOrderOperator, "a function that an operator is given raises or breaks");
  graph.set_outputs(outputs);
}

void Session::finish(const std::vector<at::Tensor>& outputs) {
  std::vector<ir::ValueId> values;
  for (const at::Tensor& output : outputs) values.push_back(output_value(output));
  finish(values);
}

void Session::note_break(BreakCode code, const std::string& message) {
  if (!broken) broken = Break{code, line(), message};
}

ir::ValueSpec value_spec(const TensorMeta& meta, bool requires_grad, std::vector<shape::Dim>& dims) {
  dims.clear();
  for (const Size& s : meta.sizes) dims.push_back(s.dim());
  for (const Size& s : meta.strides) dims.push_back(s.dim());
  ir::ValueSpec spec;
  spec.dtype = static_cast<ir::DType>(meta.dtype);
  spec.device = {static_cast<ir::DeviceType>(meta.device.type()), meta.device.index()};
  spec.flags = (requires_grad ? ir::kRequiresGrad : 0) | (meta.conj ? ir::kConjugate : 0) |
               (meta.neg ? ir::kNegative : 0) | (meta.wrapped_number ? ir::kWrappedNumber : 0);
  spec.sizes = std::span(dims).first(meta.sizes.size());
  spec.strides = std::span(dims).last(meta.strides.size());
  spec.storage_offset = meta.offset.dim();
  return spec;
}

}  // namespace stator
