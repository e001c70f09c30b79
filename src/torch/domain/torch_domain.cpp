// src/torch/domain/torch_domain.cpp: the torch layer as the domain of the capture layer.
#include "torch/domain/torch_domain.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Layout.h>
#include <torch/csrc/MemoryFormat.h>
#include <torch/csrc/Size.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <unordered_set>

#include "capture/cpython/attribute_lookup.h"
#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/domain.h"
#include "capture/guards/dynamism.h"
#include "torch/domain/arrays.h"
#include "torch/domain/backend_traits.h"
#include "torch/domain/callables.h"
#include "torch/domain/compiling_flag.h"
#include "torch/domain/dynamo.h"
#include "torch/domain/error_paths.h"
#include "torch/domain/left_modes.h"
#include "torch/domain/ragged_sizes.h"
#include "torch/domain/tensor_classes.h"
#include "torch/domain/torch_folder.h"
#include "torch/guards/tensor_guard.h"
#include "torch/guards/tensor_watch.h"
#include "torch/replacements/allowed_call.h"
#include "torch/replacements/attribute_writes.h"
#include "torch/replacements/bodies.h"
#include "torch/replacements/checkpoint_region.h"
#include "torch/replacements/custom_gradient.h"
#include "torch/replacements/default_device.h"
#include "torch/replacements/hooks.h"
#include "torch/replacements/made_parameter.h"
#include "torch/replacements/profiler_range.h"
#include "torch/replacements/replaced_calls.h"
#include "torch/replacements/run_calls.h"
#include "torch/replacements/scripted.h"
#include "torch/replacements/transforms.h"
#include "torch/symbols/sym_python.h"
#include "torch/symbols/symbol_calls.h"
#include "torch/tracing/caught_error.h"
#include "torch/tracing/gradient_query.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/last_read.h"
#include "torch/tracing/own_python.h"
#include "torch/tracing/session.h"
#include "torch/tracing/thread_state.h"
#include "torch/tracing/tracer.h"
#include "torch/tracing/wrapper_tensors.h"

namespace stator {
namespace {

// The sizes that torch._dynamo.mark_dynamic, mark_unbacked and mark_static speak of, over what the engine
// found.
uint64_t sizes_with_marks(PyObject* tensor, uint64_t varying) {
  const auto bits = [&](const char* name) {
    const Ref<> marks = Ref<>::steal(PyObject_GetAttrString(tensor, name));
    const Ref<> iterator = Ref<>::steal(marks ? PyObject_GetIter(marks.get()) : nullptr);
    uint64_t found = 0;
    while (const Ref<> item = Ref<>::steal(iterator ? PyIter_Next(iterator.get()) : nullptr)) {
      const long dim = PyLong_AsLong(item.get());
      if (dim >= 0 && dim < static_cast<long>(Varying::kStrides)) found |= uint64_t{1} << dim;
    }
    drop_error();
    return found;
  };
  if (!has_attribute(tensor, "_dynamo_dynamic_indices") &&
      !has_attribute(tensor, "_dynamo_weak_dynamic_indices") &&
      !has_attribute(tensor, "_dynamo_unbacked_indices") &&
      !has_attribute(tensor, "_dynamo_strict_unbacked_indices") &&
      !has_attribute(tensor, "_dynamo_static_indices")) {
    return varying;
  }
  return (varying | bits("_dynamo_dynamic_indices") | bits("_dynamo_weak_dynamic_indices") |
          bits("_dynamo_unbacked_indices") | bits("_dynamo_strict_unbacked_indices")) &
         ~bits("_dynamo_static_indices");
}

bool is_constant_size(PyObject* object) {
  if (!THPSize_Check(object)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
    if (is_sym_number(PyTuple_GET_ITEM(object, i)) || is_ragged_size(PyTuple_GET_ITEM(object, i)))
      return false;
  }
  return true;
}

// The thread's state is that of the caller of the capture while this lives.
class StateOfCaller {
 public:
  explicit StateOfCaller(const ThreadState& caller) { caller.restore(); }
  ~StateOfCaller() { now_.restore(); }
  StateOfCaller(const StateOfCaller&) = delete;
  StateOfCaller& operator=(const StateOfCaller&) = delete;

 private:
  ThreadState now_;
};

class Paused {
 public:
  explicit Paused(Session& session) : session_(session) { session_.pause(); }
  ~Paused() { session_.resume(); }
  Paused(const Paused&) = delete;
  Paused& operator=(const Paused&) = delete;

 private:
  Session& session_;
};

class TorchCapture final : public DomainCapture {
 public:
  TorchCapture(GraphBackend make_program, GradientTrace trace, std::shared_ptr<UserLines> lines,
               UserPlace& place, PyObject* backend, bool told)
      : backend_(make_program),
        session_(std::make_shared<Session>(std::move(lines), &place)),
        flag_(told),
        gradients_([this, trace](const GradientQuery& query) {
          const Paused paused(*session_);
          const StateOfCaller as_caller(thread_);
          return trace(*session_, query);
        }) {
    session_->passes_errors_on = [this](LineId line) {
      return error_paths_.pass_on(line, has_effects && !has_effects());
    };
    // Effects of the program's in Python may be missing behind such an error: they would end most captures.
    session_->ends_before_refusal = [this](LineId line) {
      return !must_be_whole && !error_paths_.pass_on(line, /*without_effects=*/true);
    };
    session_->read_attribute = [this](PyObject* tensor, PyObject* name) {
      return read_attribute ? read_attribute(tensor, name) : Ref<>();
    };
    session_->make_write = [this](PyObject* tensor, PyObject* name, PyObject* value) {
      return make_write && make_write(tensor, name, value);
    };
    const BackendTraits traits = BackendTraits::of(backend);
    session_->runs_python = traits.runs_python;
    session_->reads_numbers = traits.runs_python || traits.reads_values;
    session_->reads_integers = traits.reads_integers;
    session_->changes_tensors = traits.changes_tensors;
    if (traits.takes_wrappers) session_->wrappers = std::make_unique<WrapperTensors>(*session_);
    takes_last_read_ = traits.reads_values;
    session_->enter();
  }
  ~TorchCapture() override {
    if (session_ != nullptr) {  // programs keep the session
      session_->passes_errors_on = nullptr;
      session_->ends_before_refusal = nullptr;
      session_->read_attribute = nullptr;
      session_->make_write = nullptr;
    }
    if (session_ != nullptr && entered_) session_->leave();
    // A capture may be given up inside no_grad, autocast or a transform, whose exits are then never run.
    thread_.restore();
    dual_level_.restore();
    modes_.restore();
  }

  Ref<> input(PyObject* tensor, const std::string& name, uint64_t varying,
              std::unique_ptr<TensorGuard>& guard) override {
    try {
      // Arguments are lifted when they are first read, perhaps inside of inference mode or a transform.
      const StateOfCaller as_caller(thread_);
      const at::Tensor& real = THPVariable_Unpack(tensor);
      if (is_wrapper_tensor(real)) return wrapper_input(tensor, name, guard);
      guard = make_tensor_guard(tensor);
      if (!guard) return {};
      if (has_attribute(tensor, "_dynamo_dynamic_indices")) marked_.emplace_back(name, Ref<>::share(tensor));
      auto tracer = Ref<>::steal(THPVariable_Wrap(session_->input(real, input_name(name), name, varying)));
      const TensorMeta& meta = session_->lift(real).meta;
      if (!meta.sizes.empty()) guard = make_tensor_guard(tensor, meta);
      if (tracer && Py_TYPE(tracer.get()) != Py_TYPE(tensor) &&
          PyObject_SetAttrString(tracer.get(), "__class__", reinterpret_cast<PyObject*>(Py_TYPE(tensor))) <
              0) {
        return {};
      }
      return tracer;
    } catch (const std::exception&) {
      raise_caught();
      return {};
    }
  }

  void pause() override {
    flag_.set(false);
    session_->pause();
  }
  void resume() override {
    session_->resume();
    flag_.set(true);
  }
  Ref<> opaque_call(PyObject* function, PyObject* arguments, PyObject* keywords, std::string& why) override {
    if (!runs_under_modes_of_caller(why)) return {};
    return record_opaque_call(*session_, function, arguments, keywords, why);
  }
  Ref<> followed_call(PyObject* function, PyObject* arguments, std::string& why) override {
    if (!runs_under_modes_of_caller(why)) return {};
    flag_.set(false);  // its forward will not be captured when the graph runs
    Ref<> result = record_custom_gradient(*session_, function, arguments, why);
    const ErrorScope of_forward;
    flag_.set(session_->following == 0);
    return result;
  }
  Ref<> attribute(PyObject* tensor, PyObject* name) override {
    if (PyUnicode_CompareWithASCIIString(name, "data") != 0) return {};
    try {
      return Ref<>::steal(THPVariable_Wrap(session_->data_of(THPVariable_Unpack(tensor))));
    } catch (const std::exception&) {
      raise_caught();
      return {};
    }
  }
  AttributeWrite write_attribute(PyObject* tensor, PyObject* name, PyObject* value) override {
    try {
      return record_attribute_write(*session_, tensor, name, value);
    } catch (const std::exception&) {
      drop_caught();
      return AttributeWrite::refused;
    }
  }
  bool has_symbols() const override { return session_->shapes().has_symbols() || session_->has_read; }
  void entering(PyCodeObject* code, PyCodeObject* caller) override {
    if (flag_.is_asked_by(code))
      flag_.answer_next(session_->following == 0 && (caller == nullptr || !is_never_told(caller)));
    if (flag_.is_dynamo_asked_by(code))
      flag_.answer_dynamo_next(caller != nullptr && !session_->runs_python && is_followed_wrapper(caller));
  }
  bool reads_capture_flag(PyObject* dict, PyObject* key, PyObject** setting) override {
    return flag_.is_read(dict, key, setting);
  }
  std::optional<bool> told_captured() const override {
    return flag_.was_asked() ? std::optional(flag_.told()) : std::nullopt;
  }
  bool has_other_answer() const override {
    return telling() == Tells::automatic && flag_.was_asked() && !flag_.told();
  }
  bool runs_own_code() const override { return session_->own_python != 0; }
  size_t recorded() const override { return session_->graph.nodes().size(); }
  bool expect_last_read() override { return session_->takes_last_read = takes_last_read_; }
  bool has_last_read() const override { return session_->has_last_read; }
  Ref<> last_read(PyObject* tensor, LastRead what) override {
    if (!takes_last_read_) return {};
    try {
      return record_last_read(*session_, tensor, what);
    } catch (const std::exception&) {
      drop_caught();
      return {};
    }
  }

  NumberSymbol number(PyObject* value, const std::string& name) override {
    try {
      shape::Context& shapes = session_->shapes();
      if (PyFloat_CheckExact(value)) {
        const auto real = shapes.real_symbol(PyFloat_AS_DOUBLE(value), name);
        if (!real) return {};
        session_->add_real_input(*real, name);
        return {to_python(SymNumber::of(*real, shapes)), true, shapes.reals()[*real].index};
      }
      int overflow = 0;
      const int64_t hint = PyLong_AsLongLongAndOverflow(value, &overflow);
      const auto symbol = overflow == 0 ? shapes.int_symbol(hint, name) : std::nullopt;
      if (!symbol) return {};
      const auto index = static_cast<uint32_t>(shapes.exprs()[*symbol].number);
      return {to_python(SymNumber::of(Size(*symbol, &shapes))), false, index};
    } catch (const std::exception&) {
      raise_caught();
      return {};
    }
  }

  std::shared_ptr<const shape::Context> symbols() const override {
    return session_->shapes().has_symbols() ? session_->graph.shared_shapes() : nullptr;
  }

  const Break* broken() const override { return session_->broken ? &*session_->broken : nullptr; }

  bool finish(const std::vector<PyObject*>& outputs, std::vector<Ref<>>& captured) override {
    try {
      std::vector<ir::ValueId> values;
      for (PyObject* output : outputs) {
        if (!is_sym_number(output) && is_made_parameter(output)) parameters_.push_back(values.size());
        values.push_back(is_sym_number(output) ? session_->output_value(*number_of(output))
                                               : session_->output_value(THPVariable_Unpack(output)));
      }
      lead_back_to_caller();
      session_->finish(values);
      check_late_hooks(*session_);
      if (!default_device())
        session_->note_break(BreakCode::kUnsupportedMode, "a mode is active when the function returns");
      session_->leave();
      entered_ = false;
      flag_.set(false);
      if (session_->broken) return false;
      if (session_->wrappers && session_->wrappers->any()) ragged_sizes_ = ragged_sizes_of(*session_);
      session_->wrappers.reset();
      for (const Session::Lifted& lifted : session_->inputs) {
        captured.push_back(lifted.tracer.defined() ? Ref<>() : Ref<>::steal(THPVariable_Wrap(lifted.tensor)));
      }
      return true;
    } catch (const std::exception& error) {
      session_->note_break(BreakCode::kInternal, error.what());
      drop_caught();
      return false;
    }
  }

  LineId first_use(size_t input) const override { return session_->inputs[input].line; }

  std::unique_ptr<TensorProgram> compile(PyObject* backend,
                                         const std::vector<std::string>& sources) override {
    const WithoutFunctionModes backends_own;
    try {
      check_marked();
      const size_t inputs = session_->inputs.size();
      auto program = with_parameters(backend_(session_, backend, sources), parameters_);
      program = with_ragged_sizes(std::move(program), std::move(ragged_sizes_), inputs);
      return left_ ? leaving_modes(std::move(program), modes_, *left_, !left_autocast_) : std::move(program);
    } catch (py::error_already_set& error) {
      error.restore();
      return nullptr;
    } catch (python_error& error) {
      error.restore();
      return nullptr;
    } catch (const std::exception& error) {
      session_->note_break(BreakCode::kInternal, error.what());
      drop_caught();
      return nullptr;
    }
  }

 private:
  Ref<> wrapper_input(PyObject* tensor, const std::string& name, std::unique_ptr<TensorGuard>& guard) {
    if (!session_->wrappers) return {};
    {
      const OwnPython own(session_.get());
      guard = make_tensor_guard(tensor);
    }
    if (!guard) return {};
    const at::Tensor& real = THPVariable_Unpack(tensor);
    return Ref<>::steal(THPVariable_Wrap(session_->wrapper_input(real, input_name(name), name)));
  }

  // Raises torch's error where the program fixes a size that its caller has marked as dynamic.
  void check_marked() const {
    if (marked_.empty()) return;
    const shape::Context& shapes = session_->shapes();
    py::list tensors, checks;
    for (const auto& [name, tensor] : marked_) tensors.append(py::make_tuple(name, py::handle(tensor.get())));
    for (size_t i = 0; i < shapes.check_count(); i++)
      checks.append(shapes.check_text(i, shape::SymbolText::kSources));
    imported("stator.runtime.marked_sizes").attr("check")(tensors, checks);
  }

  // Python code that is run by the graph finds torch-function modes as the caller has them.
  bool runs_under_modes_of_caller(std::string& why) const {
    if (default_device() == default_device_) return true;
    why = "the default device was changed for it";
    return false;
  }

  // What the graph ends with; a run leaves the program's own modes behind.
  void lead_back_to_caller() {
    const ThreadModes end;
    if (end.state().inference != modes_.state().inference) return;
    left_ = end;
    const auto nodes = session_->graph.nodes();
    left_autocast_ =
        std::ranges::any_of(nodes, [](const ir::Node& node) { return node.op == ir::op::kAutocastExit; });
    modes_.restore();
  }

  // A source expression as an identifier that no other input has: L["x"] is L_x_.
  std::string input_name(std::string source) {
    std::erase(source, '"');
    for (char& letter : source) {
      if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
    }
    while (!names_.insert(source).second) source += "_" + std::to_string(names_.size());
    return source;
  }

  GraphBackend backend_;
  std::unordered_set<std::string> names_;
  std::shared_ptr<Session> session_;
  Ref<> ragged_sizes_;  // whether a call's inputs have them in common as the captured ones, after finish
  ErrorPaths error_paths_;
  std::vector<size_t> parameters_;                     // outputs that are made nn.Parameters
  std::vector<std::pair<std::string, Ref<>>> marked_;  // arguments with marks of mark_dynamic, by their names
  bool entered_ = true;
  ThreadState thread_;  // grad and inference mode and dispatch keys, as the caller had them
  DualLevel dual_level_;
  std::optional<uint64_t> default_device_ = default_device();
  ThreadModes modes_;                // those of the caller
  std::optional<ThreadModes> left_;  // those at the end of the program, after finish
  bool left_autocast_ = false;       // in the middle of it
  bool takes_last_read_ = false;
  CompilingFlag flag_;
  TracesGradients gradients_;
};

class TorchDomain final : public Domain {
 public:
  TorchDomain(GraphBackend backend, GradientTrace trace) : backend_(backend), trace_(trace) {}
  const char* library() const override { return "libtorch_python.so"; }
  const char* package() const override { return "torch"; }
  // Not THPVariable_Check, which may run Python code of the class.
  bool is_tensor(PyObject* object) const override {
    return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass));
  }
  bool is_class_of_program(PyTypeObject* type) const override { return is_tensor_subclass(type); }
  const ArrayForms* arrays() const override { return array_forms(); }
  bool is_immutable(PyObject* object) const override {
    return THPDtype_Check(object) || THPDevice_Check(object) || is_constant_size(object) ||
           THPLayout_Check(object) || THPMemoryFormat_Check(object) || is_sym_number(object) ||
           is_closed_range(object) || is_array_constant(object);
  }
  uint64_t marked_sizes(PyObject* tensor, uint64_t varying) const override {
    return sizes_with_marks(tensor, varying);
  }
  bool is_ragged_size(PyObject* object) const override { return stator::is_ragged_size(object); }
  bool is_symbolic(PyObject* object) const override { return is_sym_number(object); }
  Ref<> in_place_of(PyObject* object) const override { return stator::in_place_of(object); }
  Ref<> symbol_from(PyObject* function, PyObject* const* arguments, Py_ssize_t count) const override {
    return stator::symbol_from(function, arguments, count);
  }
  bool runs_plainly(PyCodeObject* code) const override {
    return is_sym_number_code(code) || is_default_device_code(code);
  }
  bool is_kernel(PyCodeObject* code) const override { return is_python_kernel(code); }
  PyObject* streams() const override { return stream_kinds(); }
  Ref<> called_instead(PyObject* callable) const override { return called_in_place_of(callable); }
  // The keywords of the call that a torch-function mode is told of.
  bool answers_for_operators(const PyCodeObject* code) const override {
    return PyUnicode_CompareWithASCIIString(code->co_name, "__torch_function__") == 0;
  }
  bool clear_the_way() const override { return start_engine(); }
  void raise_caught(const std::exception&) const override { stator::raise_caught(); }
  CallPolicy classify(PyObject* callable) const override { return classify_torch_callable(callable); }
  const char* takes_new_object(PyObject* owner) const override { return context_taker(owner); }
  const char* python_form(PyObject* callable) const override { return stator::python_form(callable); }
  // torch keeps functions of its own away from Dynamo.
  const char* passes_on_to(PyFunctionObject* function) const override {
    static PyObject* const inner = []() -> PyObject* {
      const py::object wrap = py::getattr(imported("torch"), "_disable_dynamo", py::none());
      if (!PyFunction_Check(wrap.ptr())) return nullptr;
      for (const py::handle constant : py::tuple(wrap.attr("__code__").attr("co_consts"))) {
        if (PyCode_Check(constant.ptr())) return constant.ptr();
      }
      return nullptr;
    }();
    if (function->func_code == inner) return "fn";
    const DynamoWrapper wrapper = dynamo_wrapper(function);
    return wrapper == DynamoWrapper::compiled || wrapper == DynamoWrapper::internal ? "fn" : nullptr;
  }
  bool keeps_from_capture(PyFunctionObject* function) const override {
    return dynamo_wrapper(function) == DynamoWrapper::disabled;
  }
  const EngineSwitch* other_engine() const override { return dynamo_engine(); }
  bool attribute_is_captured(PyObject* tensor, PyObject* name) const override {
    if (is_captured_attribute(name)) return true;
    const Session* const session = Session::current();
    return session != nullptr && session->wrappers &&
           session->wrappers->is_as_made(THPVariable_Unpack(tensor), name);
  }
  PyObject* object_attribute() const override {
    static PyObject* const name = PyUnicode_InternFromString("grad");
    return name;
  }
  bool keeps_objects(PyObject* tensor) const override {
    const at::Tensor& real = THPVariable_Unpack(tensor);
    return real.requires_grad() && real.is_leaf() && !is_wrapper(real);
  }
  std::unique_ptr<TensorGuard> guard(PyObject* tensor) const override { return make_tensor_guard(tensor); }
  std::unique_ptr<TensorWatch> watch(const std::vector<PinnedTensor>& tensors) const override {
    return watch_tensors(tensors);
  }
  // Whether forward gradients are switched on, in a bit that ModeState::word() leaves free.
  static constexpr uint64_t kForwardGradients = 1 << 6;
  static uint64_t forward_gradients_word() {
    return c10::AutogradState::get_tls_state().get_fw_grad_mode() ? kForwardGradients : 0;
  }
  const char* modes_in_words() const override { return "modes of torch (grad, autocast, default dtype)"; }
  uint64_t modes() const override {
    const std::optional<uint64_t> device = default_device();
    constexpr int device_at = ModeState::kBits + kKernelSettingsBits;
    static_assert(device_at + kDefaultDeviceBits <= 63);
    return current_modes().word() | forward_gradients_word() | kernel_settings() << ModeState::kBits |
           device.value_or(0) << device_at | uint64_t{!device || is_unsupported()} << 63;
  }
  // Kernels of backends know nothing of forward gradients, which inputs may carry while a level is open.
  static bool is_unsupported() { return under_unsupported_mode() || DualLevel::is_open(); }
  uint64_t lasting_modes() const override { return lasting_mode_bits() & ~kForwardGradients; }
  bool takes_values(PyObject* backend) const override { return BackendTraits::of(backend).reads_values; }
  bool captures_now() const override { return !is_unsupported() && default_device(); }
  std::unique_ptr<DomainCapture> begin(std::shared_ptr<UserLines> lines, UserPlace& place, PyObject* backend,
                                       bool other_answer) const override {
    try {
      lines->set_library(torch_folder());
      forget_offset_reads();
      const bool told = telling() == Tells::yes || other_answer;
      return std::make_unique<TorchCapture>(backend_, trace_, std::move(lines), place, backend, told);
    } catch (const std::exception&) {
      stator::raise_caught();
      return nullptr;
    }
  }

 private:
  GraphBackend backend_;
  GradientTrace trace_;
};

}  // namespace

bool install_torch_domain(GraphBackend backend, GradientTrace trace) {
  static TorchDomain domain(backend, trace);
  prepare_replaced_calls();
  auto install =
      reinterpret_cast<void (*)(const Domain*)>(PyCapsule_Import("stator._capture._install_domain", 0));
  if (install == nullptr) return false;
  install(&domain);
  return true;
}

}  // namespace stator
