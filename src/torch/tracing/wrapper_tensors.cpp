// src/torch/tracing/wrapper_tensors.cpp: records operators on tensors whose class has a `__torch_dispatch__`.
#include "torch/tracing/wrapper_tensors.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <functional>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "torch/inference/meta_run.h"
#include "torch/operators/tensors_in.h"
#include "torch/operators/value_errors.h"
#include "torch/replacements/allowed_call.h"
#include "torch/tracing/capture_break.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/recorder.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

namespace autograd = torch::autograd;

[[noreturn]] void refuse(const std::string& why) { raise_break(BreakCode::kTensorSubclass, why); }

// While it lives, operators are executed and not recorded, and the Python code that runs is that of a class.
struct LearningScope {
  explicit LearningScope(Session& session) : own(&session), no_tracers(kTracerKey) {}
  OwnPython own;
  c10::impl::ExcludeDispatchKeyGuard no_tracers;
};

// The same, where what the code makes by itself is fake.
struct FakeScope : LearningScope {
  FakeScope(Session& session, py::object mode) : LearningScope(session), mode(std::move(mode)) {
    this->mode.attr("__enter__")();
  }
  ~FakeScope() {
    const ErrorScope raised;
    try {
      mode.attr("__exit__")(py::none(), py::none(), py::none());
    } catch (const std::exception&) {
      drop_caught();
    }
  }
  FakeScope(const FakeScope&) = delete;
  FakeScope& operator=(const FakeScope&) = delete;
  py::object mode;
};

// Runs code of the class; an error ends the capture, and comes up again where the code runs natively.
template <class Code>
auto of_class(const char* what, Code&& code) {
  std::string why;
  try {
    return code();
  } catch (const CaptureBreak&) {
    throw;
  } catch (py::error_already_set& error) {
    why = error.what();
    drop_caught();
  } catch (python_error& error) {
    error.persist();
    why = error.what();
    drop_caught();
  } catch (const c10::Error& error) {
    why = error.what_without_backtrace();
  }
  refuse(std::string(what) + ": " + why.substr(0, why.find('\n')));
}

py::object wrapped(const at::Tensor& tensor) {
  return py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor));
}

const void* history_of(const at::Tensor& tensor) {
  const auto* meta = autograd::impl::get_autograd_meta(tensor);
  return meta != nullptr ? meta->grad_fn_.get() : nullptr;
}

// Python code has changed it otherwise than by an operator.
bool is_watched(const at::Tensor& tensor) {
  const auto* meta = autograd::impl::get_autograd_meta(tensor);
  return meta != nullptr && (!meta->hooks_.empty() || meta->retains_grad_ || meta->post_acc_grad_hooks_);
}

// The number, or zero in place of a ragged size of a nested tensor, which no graph has.
Size number_of_size(const c10::SymInt& size) {
  if (const auto number = size.maybe_as_int()) return *number;
  if (!size.toSymNode()->is_nested_int()) refuse("a tensor of a subclass with symbolic sizes");
  return 0;
}

// Fake tensors answer by Python code.
TensorMeta meta_in(Session& session, const at::Tensor& tensor) {
  const LearningScope learning(session);
  if (!is_wrapper_tensor(tensor)) return meta_of(tensor);
  TensorMeta meta;
  for (const c10::SymInt& size : tensor.sym_sizes()) meta.sizes.push_back(number_of_size(size));
  for (const c10::SymInt& stride : tensor.sym_strides()) meta.strides.push_back(number_of_size(stride));
  meta.offset = number_of_size(tensor.sym_storage_offset());
  meta.dtype = tensor.scalar_type();
  meta.device = tensor.device();
  meta.conj = tensor.is_conj();
  meta.neg = tensor.is_neg();
  return meta;
}

ir::ValueSpec spec_of(Session& session, const at::Tensor& tensor, std::vector<shape::Dim>& dims) {
  return value_spec(meta_in(session, tensor), tensor.requires_grad(), dims);
}

void each_result(std::span<const c10::IValue> results, const std::function<void(const at::Tensor&)>& visit) {
  for (const c10::IValue& value : results) {
    if (!value.isTensor() && !value.isTensorList()) refuse("an operator on a subclass that gives no tensor");
    for_each_tensor(value, visit);
  }
}

// Where among the arguments a tensor stands; nothing: nowhere.
std::optional<std::pair<size_t, int32_t>> place_of(const at::Tensor& tensor,
                                                   std::span<const c10::IValue> arguments) {
  std::optional<std::pair<size_t, int32_t>> found;
  for (size_t i = 0; i < arguments.size() && !found; i++) {
    int32_t element = 0;
    for_each_tensor(arguments[i], [&](const at::Tensor& each) {
      if (each.defined() && each.is_same(tensor)) found = {i, element};
      element++;
    });
  }
  return found;
}

// The argument whose memory a return shares, as the schema says.
std::optional<size_t> viewed_argument(const OperatorInfo& info, size_t at) {
  const auto& schema = info.handle.schema();
  if (at >= schema.returns().size() || schema.returns()[at].alias_info() == nullptr) return {};
  for (size_t i = 0; i < schema.arguments().size(); i++) {
    const auto* alias = schema.arguments()[i].alias_info();
    if (alias != nullptr && alias->beforeSets() == schema.returns()[at].alias_info()->beforeSets()) return i;
  }
  return {};
}

}  // namespace

bool is_wrapper_tensor(const at::TensorBase& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->is_python_dispatch();
}

WrapperTensors::WrapperTensors(Session& session) : session_(session) {}

WrapperTensors::~WrapperTensors() {
  const py::gil_scoped_acquire locked;
  known_.clear();
  stand_ins_.clear();
  originals_.clear();
  fakes_ = {};
}

py::object& WrapperTensors::fakes() {
  const LearningScope learning(session_);
  if (!fakes_) fakes_ = imported("stator.runtime.wrapper_subclasses").attr("Fakes")();
  return fakes_;
}

// An instance of the class on tracers that no graph has.
at::Tensor WrapperTensors::on_tracers(const at::Tensor& tensor) {
  const auto part = [&](const py::object& inner) {
    const at::Tensor fake = THPVariable_Unpack(inner.ptr());
    auto& [kept, original] = originals_[fake.unsafeGetTensorImpl()];
    if (!kept.defined()) {
      kept = fake;
      original = make_tracer(meta_of(fake), {session_.id(), new_memory(), UINT32_MAX}, fake.requires_grad(),
                             fake.is_leaf());
    } else if (const Tracer* given = as_tracer(original)) {
      part_memories_.insert(given->identity().memory);  // a tensor of the program's is a part of one now
    }
    return wrapped(original);
  };
  const py::object made = fakes().attr("on_tracers")(wrapped(tensor), py::cpp_function(part));
  return THPVariable_Unpack(made.ptr());
}

// Gives it the autograd state of another tensor, as far as the program can see it.
static void take_autograd_state(const at::Tensor& stands, const at::Tensor& of) {
  // A class may make leaves of what else are results.
  if (stands.requires_grad() && stands.is_leaf() && !of.is_leaf())
    stands.unsafeGetTensorImpl()->set_requires_grad(false);
  if (of.requires_grad() && !stands.requires_grad()) {
    if (of.is_leaf()) {
      stands.unsafeGetTensorImpl()->set_requires_grad(true);
    } else {
      attach_history(stands);
    }
  }
  if (stands.requires_grad() != of.requires_grad() || stands.is_leaf() != of.is_leaf())
    refuse("a subclass whose instances do not say whether they require a gradient");
}

void WrapperTensors::note(const at::Tensor& stands, const at::Tensor& shadow, ir::ValueId value) {
  const py::dict attributes = wrapped(stands).attr("__dict__");
  known_[stands.unsafeGetTensorImpl()] = {
      stands, shadow, value, stands.requires_grad(), history_of(stands), attributes.attr("copy")()};
}

bool WrapperTensors::is_as_made(const at::Tensor& tensor, PyObject* name) const {
  const auto found = known_.find(tensor.unsafeGetTensorImpl());
  if (found == known_.end()) return false;
  PyObject* const made = PyDict_GetItemWithError(found->second.attributes.ptr(), name);
  const py::dict now = wrapped(tensor).attr("__dict__");
  return made != nullptr && PyDict_GetItemWithError(now.ptr(), name) == made;
}

TensorMeta WrapperTensors::meta(const at::Tensor& tensor) {
  return of_class("a tensor of a subclass", [&] { return meta_in(session_, tensor); });
}

void WrapperTensors::add_input(const at::Tensor& real, ir::ValueId value) {
  of_class("what stands for a tensor of a subclass", [&] {
    const LearningScope learning(session_);
    const at::Tensor shadow = THPVariable_Unpack(py::object(fakes().attr("shadow")(wrapped(real))).ptr());
    const at::Tensor stands = on_tracers(shadow);
    take_autograd_state(shadow, real);
    take_autograd_state(stands, real);
    stand_ins_[real.unsafeGetTensorImpl()] = stands;
    note(stands, shadow, value);
    return 0;
  });
}

at::Tensor WrapperTensors::stand_in_of(const at::Tensor& real) const {
  const auto found = stand_ins_.find(real.unsafeGetTensorImpl());
  return found != stand_ins_.end() ? found->second : at::Tensor();
}

std::optional<ir::ValueId> WrapperTensors::value_of(const at::Tensor& tensor) const {
  const at::Tensor stands = stand_in_of(tensor);
  const at::Tensor& of = stands.defined() ? stands : tensor;
  const auto found = known_.find(of.unsafeGetTensorImpl());
  if (found == known_.end()) return {};
  const Known& known = found->second;
  if (of.requires_grad() != known.requires_grad || history_of(of) != known.history || is_watched(of))
    raise_break(BreakCode::kMetadataDrift,
                "the autograd state of a tensor was changed by something else than an operator");
  return known.value;
}

// The input for which a tracer stands.
static py::object real_behind(const Session& session, const at::Tensor& tensor) {
  for (const Session::Lifted& lifted : session.inputs) {
    if (lifted.tracer.is_same(tensor)) return wrapped(lifted.tensor);
  }
  return py::none();
}

// What an operator is given in place of an argument to learn what comes out.
at::Tensor WrapperTensors::learned_on(const at::Tensor& tensor) {
  if (!is_wrapper_tensor(tensor)) {
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number() && !as_tracer(tensor)) return tensor;
    const LearningScope learning(session_);
    const at::Tensor fake = THPVariable_Unpack(
        py::object(fakes().attr("fake")(wrapped(tensor), real_behind(session_, tensor))).ptr());
    originals_[fake.unsafeGetTensorImpl()] = {fake, tensor};
    return fake;
  }
  session_.value_of(tensor);  // an input, where it is one that existed before
  const at::Tensor stands = stand_in_of(tensor);
  return known_.at((stands.defined() ? stands : tensor).unsafeGetTensorImpl()).shadow;
}

py::object WrapperTensors::read_of(const at::Tensor& whole, const at::Tensor& part) const {
  return of_class("a part of a tensor of a subclass", [&] {
    const LearningScope learning(session_);
    return py::object(
        imported("stator.runtime.wrapper_subclasses").attr("read_of")(wrapped(whole), wrapped(part)));
  });
}

void WrapperTensors::record_part(const at::Tensor& part) {
  for (auto& [impl, known] : known_) {
    const py::object call = read_of(known.stands, part);
    if (call.is_none()) continue;
    if (!session_.changes_tensors && c10::GradMode::is_enabled() && known.requires_grad &&
        autograd::isDifferentiableType(part.scalar_type()))
      refuse("a part of a tensor that requires a gradient, which compilers keep for themselves");
    std::vector<shape::Dim> dims;
    const ir::ValueSpec spec = spec_of(session_, part, dims);
    const ir::NodeId node = record_python_call(session_, std::make_shared<OpaqueFunction>(call), "getattr",
                                               {&known.stands, 1}, {}, {&spec, 1});
    Tracer* tracer = as_tracer(part);
    tracer->set_value(index(session_.graph.outputs(node)[0]));
    part_memories_.insert(tracer->identity().memory);
    return;
  }
  refuse("a tensor that code of a subclass has made");
}

void WrapperTensors::check_parts(const OperatorInfo& info, std::span<const c10::IValue> arguments) const {
  for (size_t i = 0; i < arguments.size() && i < 64; i++) {
    if ((info.written >> i & 1) == 0) continue;
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      const Tracer* tracer = tensor.defined() ? as_tracer(tensor) : nullptr;
      if (tracer == nullptr) return;
      const uint64_t memory = tracer->identity().memory;
      if (view_memories_.count(memory) != 0)
        refuse(info.name + " writes to a plain view of a tensor of a subclass");
      if (!session_.changes_tensors && part_memories_.count(memory) != 0)
        refuse(info.name + " writes to a part of a tensor of a subclass, which compilers cannot know");
    });
  }
}

bool WrapperTensors::any_plain_view(std::span<const ir::ValueId> values) const {
  if (view_memories_.empty()) return false;
  const auto is_wrapper = [&](ir::ValueId id) {
    return std::ranges::any_of(known_, [&](const auto& each) { return each.second.value == id; });
  };
  return std::ranges::any_of(values, [&](ir::ValueId id) {
    const ir::Value& value = session_.graph.value(id);
    return value.storage != ir::ValueId::kNone && value.storage != id &&
           plainly_viewed_.count(index(value.storage)) != 0 && !is_wrapper(id);
  });
}

void WrapperTensors::check_writes(const OperatorInfo& info, std::span<const c10::IValue> arguments) const {
  // Plain views do not follow what becomes of their base's history.
  if (info.written != 0 && !view_memories_.empty())
    refuse(info.name + " writes behind a plain view of a tensor of a subclass");
  for (size_t i = 0; i < arguments.size() && i < 64; i++) {
    if ((info.written >> i & 1) == 0) continue;
    for_each_tensor(arguments[i], [&](const at::Tensor& tensor) {
      if (tensor.defined() && !is_wrapper_tensor(tensor))
        refuse(info.name + " writes to a plain tensor and is given one of a subclass");
    });
  }
}

void WrapperTensors::run(const OperatorInfo& info, torch::jit::Stack* stack) {
  of_class(info.name.c_str(), [&] {
    const FakeScope fake(session_, fakes().attr("mode"));
    info.handle.callBoxed(stack);
    return 0;
  });
}

bool WrapperTensors::gives_plain(const at::Tensor& tensor) {
  const LearningScope learning(session_);
  return py::bool_(fakes().attr("is_fake")(wrapped(tensor)));
}

ir::NodeId WrapperTensors::record(const OperatorInfo& info, std::span<const c10::IValue> arguments,
                                  std::span<const c10::IValue> given, std::span<const c10::IValue> results) {
  session_.record_modes();
  std::vector<ir::Operand> operands;
  for (size_t i = 0; i < arguments.size(); i++)
    operands.push_back(operand_of(session_, info, i, arguments[i]));
  std::vector<ir::ValueSpec> specs;
  std::vector<std::vector<shape::Dim>> dims;
  size_t count = 0;
  each_result(results, [&](const at::Tensor&) { count++; });
  dims.resize(count);
  for (size_t i = 0; i < results.size(); i++) {
    each_result(results.subspan(i, 1), [&](const at::Tensor& tensor) {
      specs.emplace_back();
      if (!tensor.defined()) {
        specs.back().kind = ir::ValueKind::kNone;
        return;
      }
      specs.back() = value_spec(meta(tensor), tensor.requires_grad(), dims[specs.size() - 1]);
      if (const auto place = place_of(tensor, given)) {
        const at::Tensor same = tensor_at(arguments[place->first], place->second);
        specs.back().alias = ir::Alias::same(session_.value_of(same));
      } else if (const auto viewed = viewed_argument(info, i)) {
        specs.back().alias = ir::Alias::view(session_.value_of(tensor_at(arguments[*viewed], 0)));
      }
    });
  }
  return session_.graph.append(info.id, operands, specs, session_.line());
}

c10::IValue WrapperTensors::result(const c10::IValue& value, ir::NodeId node, uint32_t& next,
                                   std::span<const c10::IValue> arguments,
                                   std::span<const c10::IValue> given) {
  const auto replaced = [&](const at::Tensor& tensor) -> at::Tensor {
    const ir::ValueId id = session_.graph.outputs(node)[next++];
    if (!tensor.defined()) return tensor;
    if (const auto place = place_of(tensor, given)) {
      at::Tensor same = tensor_at(arguments[place->first], place->second);
      if (!is_wrapper_tensor(same)) {
        session_.move_value(same, id);
        return same;
      }
      const at::Tensor stands = stand_in_of(same);
      known_.at((stands.defined() ? stands : same).unsafeGetTensorImpl()).value = id;
      return same;
    }
    return of_class("what a subclass gives", [&] {
      if (gives_plain(tensor)) {
        const uint64_t memory = new_memory();
        const ir::ValueId base = session_.graph.value(id).storage;
        if (base != ir::ValueId::kNone && base != id) {
          view_memories_.insert(memory);
          plainly_viewed_.insert(index(base));
        }
        return make_tracer(meta_in(session_, tensor), {session_.id(), memory, index(id)},
                           tensor.requires_grad(), tensor.is_leaf());
      }
      const LearningScope learning(session_);
      const at::Tensor stands = on_tracers(tensor);
      take_autograd_state(stands, tensor);
      note(stands, tensor, id);
      return stands;
    });
  };
  if (value.isTensor()) return replaced(value.toTensor());
  c10::List<at::Tensor> list;
  for (const c10::IValue& each : value.toListRef()) list.push_back(replaced(each.toTensor()));
  return list;
}

py::object WrapperTensors::make(const py::object& type, const py::tuple& arguments,
                                const py::dict& keywords) {
  return of_class("a class of tensors", [&] {
    const LearningScope also_for_what_dies(session_);
    const auto fake = [&](const py::object& tensor) {
      return wrapped(learned_on(THPVariable_Unpack(tensor.ptr())));
    };
    py::tuple made;
    {
      const FakeScope scope(session_, fakes().attr("mode"));
      made = fakes().attr("make")(type, arguments, keywords, py::cpp_function(fake));
    }
    const auto [call, given, result] = made.cast<std::tuple<py::object, py::list, py::object>>();
    const at::Tensor shadow = THPVariable_Unpack(result.ptr());
    if (shadow.requires_grad() && !session_.changes_tensors)
      refuse("a tensor of a subclass that requires a gradient from its making on");
    std::vector<at::Tensor> tensors;
    for (const py::handle& tensor : given) tensors.push_back(THPVariable_Unpack(tensor.ptr()));
    std::vector<shape::Dim> dims;
    const ir::ValueSpec spec = spec_of(session_, shadow, dims);
    const ir::NodeId node =
        record_python_call(session_, std::make_shared<OpaqueFunction>(call),
                           call.attr("name").cast<std::string>(), tensors, {}, {&spec, 1});
    const at::Tensor stands = on_tracers(shadow);
    take_autograd_state(stands, shadow);
    note(stands, shadow, session_.graph.outputs(node)[0]);
    return wrapped(stands);
  });
}

// A write may give a history to what views the same memory.
void WrapperTensors::follow_histories() {
  for (auto& [impl, known] : known_) {
    if (known.shadow.requires_grad() == known.requires_grad) continue;
    take_autograd_state(known.stands, known.shadow);
    known.requires_grad = known.stands.requires_grad();
    known.history = history_of(known.stands);
  }
}

void WrapperTensors::answer(const OperatorInfo& info, torch::jit::Stack* stack) {
  const LearningScope also_for_what_dies(session_);
  for (size_t i = stack->size() - info.arguments; i < stack->size(); i++)
    (*stack)[i] = map_tensors((*stack)[i], [&](const at::Tensor& tensor) { return learned_on(tensor); });
  run(info, stack);
}

void WrapperTensors::capture(const OperatorInfo& info, torch::jit::Stack* stack) {
  const LearningScope also_for_what_dies(session_);
  if (info.kind != OperatorKind::ordinary || info.dynamic_shape)
    refuse(info.name + " of a tensor of a subclass");
  const size_t first = stack->size() - info.arguments;
  const std::vector<c10::IValue> arguments(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  check_writes(info, arguments);
  if (may_refuse_values(info, arguments)) session_.before_refusal(info.name);
  std::vector<c10::IValue> given;
  for (const c10::IValue& argument : arguments)
    given.push_back(
        map_tensors(without_symbols(argument), [&](const at::Tensor& tensor) { return learned_on(tensor); }));
  torch::jit::drop(*stack, info.arguments);
  for (const c10::IValue& each : given) stack->push_back(each);
  run(info, stack);
  const std::vector<c10::IValue> results(stack->begin() + static_cast<std::ptrdiff_t>(first), stack->end());
  stack->resize(first);
  const ir::NodeId node = record(info, arguments, given, results);
  uint32_t next = 0;
  for (const c10::IValue& value : results) stack->push_back(result(value, node, next, arguments, given));
  if (info.written == 0) return;
  follow_histories();
  session_.after_write();
}

}  // namespace stator
