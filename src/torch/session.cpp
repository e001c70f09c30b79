// src/torch/session.cpp: the life of a capture and the lifting of real tensors.
#include "torch/session.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <atomic>

#include "torch/capture_break.h"
#include "torch/operator_table.h"
#include "torch/tracer.h"

namespace stator {

namespace {
thread_local Session* current_session = nullptr;

uint64_t next_session() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}
}  // namespace

Session::Session() : graph(torch_operators()), id_(next_session()) {}

Session::~Session() {
  if (entered_) leave();
}

Session* Session::current() { return current_session; }

void Session::enter() {
  outer_ = current_session;
  current_session = this;
  entered_ = true;
  caller_modes_ = modes_ = current_modes();
  c10::impl::tls_set_dispatch_key_included(kTracerKey, true);
}

void Session::leave() {
  current_session = outer_;
  entered_ = false;
  c10::impl::tls_set_dispatch_key_included(kTracerKey, outer_ != nullptr);
}

void Session::pause() {
  current_session = nullptr;
  c10::impl::tls_set_dispatch_key_included(kTracerKey, false);
}

void Session::resume() {
  current_session = this;
  c10::impl::tls_set_dispatch_key_included(kTracerKey, true);
}

Session::Lifted& Session::lift(const at::Tensor& real, const std::string& name, const std::string& source) {
  auto [found, is_new] = lifted_.try_emplace(real.unsafeGetTensorImpl(), inputs.size());
  if (!is_new) return inputs[found->second];
  if (real.layout() != c10::kStrided) {
    lifted_.erase(found);
    raise_break(BreakCode::kTensorLayout, "a tensor whose layout is not strided");
  }
  std::string text = source;
  if (text.empty() && source_of) text = source_of(real).value_or("");
  const std::string input_name = name.empty() ? "lifted_" + std::to_string(inputs.size()) : name;
  std::vector<shape::Dim> dims;
  ir::ValueSpec spec = value_spec(meta_of(real), real.requires_grad(), dims);
  const auto [sharing, alone] = storages_.try_emplace(real.storage().unsafeGetStorageImpl(), inputs.size());
  const bool shared = !alone;
  if (shared) spec.alias = ir::Alias::shares(inputs[sharing->second].input);
  const ir::ValueId value = graph.add_input(input_name, text.empty() ? input_name : text, spec);
  inputs.push_back({real, value, value, shared ? inputs[sharing->second].memory : new_memory(), {}});
  return inputs.back();
}

at::Tensor Session::input(const at::Tensor& real, const std::string& name, const std::string& source) {
  Lifted& lifted = lift(real, name, source);
  if (!lifted.tracer.defined()) {
    const Tracer::Identity identity{id_, lifted.memory, index(lifted.input)};
    lifted.tracer = make_tracer(meta_of(real), identity, real.requires_grad(), real.is_leaf());
  }
  return lifted.tracer;
}

ir::ValueId Session::value_of(const at::Tensor& tensor) {
  if (Tracer* tracer = as_tracer(tensor)) {
    if (tracer->identity().session != id_) raise_break(BreakCode::kThread, "a tensor of another capture");
    return ir::ValueId{tracer->identity().value};
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
  const ir::NodeId node = graph.append(data_operator(), {&operand, 1}, {&spec, 1}, line);
  return index(graph.outputs(node)[0]);
}

void Session::record_modes() {
  const ModeState now = current_modes();
  if (now == modes_) return;
  append_mode_nodes(graph, caller_modes_, modes_, now, line);
  modes_ = now;
}

void Session::finish(const std::vector<at::Tensor>& outputs) {
  record_modes();
  std::vector<ir::ValueId> values;
  for (const at::Tensor& output : outputs) {
    if (const Tracer* tracer = as_tracer(output); tracer && has_drifted(output, *tracer)) {
      raise_break(BreakCode::kMetadataDrift,
                  "the autograd state of an output was changed by something else than an operator");
    }
    values.push_back(value_of(output));
  }
  graph.set_outputs(values);
}

void Session::note_break(BreakCode code, const std::string& message) {
  if (!broken) broken = Break{code, line, message};
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
