// capture/session/attempt.cpp: capturing one call, stage by stage.
#include "capture/session/attempt.h"

#include <algorithm>
#include <unordered_map>

#include "capture/arguments/names.h"
#include "capture/cpython/collection_pause.h"
#include "capture/cpython/error_scope.h"
#include "capture/cpython/finalizers.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/traits.h"
#include "capture/engine/atomic_capture.h"
#include "capture/engine/engine.h"
#include "capture/interpreter/interpreter.h"
#include "capture/recording/argument_operands.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"
#include "capture/recording/sources.h"
#include "capture/recording/tensor_attributes.h"
#include "capture/recording/unread_value.h"
#include "capture/recording/waiting_generators.h"
#include "capture/session/filtered_guards.h"
#include "capture/session/plain_scope.h"

namespace stator {
namespace {

// The thread captures while this lives: the hook is in, and no garbage is collected.
class CaptureScope {
 public:
  explicit CaptureScope(Recording& recording)
      : context_(thread_context),
        mode_(context_.change_mode(Mode::capture)),
        handled_(Ref<>::share(PyThreadState_Get()->exc_info->exc_value)) {
    context_.recording = &recording;
    Engine::get().capturing = true;
    Engine::get().acquire_hook();
  }
  ~CaptureScope() {
    Engine::get().capturing = false;
    Engine::get().release_hook();
    context_.recording = nullptr;
    context_.change_mode(mode_);
    // A capture may be given up inside a handler, which then never ends.
    PyErr_SetHandledException(handled_.get());
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  ThreadContext& context_;
  Mode mode_;
  Ref<> handled_;  // the exception that the caller is handling, or the generator that is taken up
  ContextCopy context_copy_;
  CollectionPause no_collection_;
};

const Varying& nothing_varies() {
  static const Varying nothing = [] {
    Varying varying;
    varying.policy = DynamicSizes::never;
    return varying;
  }();
  return nothing;
}

}  // namespace

CaptureAttempt::CaptureAttempt(const Domain& domain, DomainCapture& capture, UserStack& stack,
                               PyObject* function, const Call& call, const CaptureOptions& options,
                               const std::unordered_set<PyObject*>& by_identity)
    : domain_(domain),
      capture_(capture),
      stack_(stack),
      function_(function),
      call_(call),
      options_(options),
      entry_(std::make_unique<Entry>()),
      recording_(domain, capture_, entry_->guards_, stack_) {
  recording_.varying = options.varying != nullptr ? options.varying : &nothing_varies();
  recording_.by_identity = &by_identity;
  capture_.has_effects = [this] { return !recording_.journal.empty(); };
  capture_.must_be_whole = options.whole;
  // Backends in Python are told of the modules that operators belong to.
  if (PyCallable_Check(options.backend))
    stack_.source_of = [this](PyObject* owner) { return source(recording_, owner); };
  capture_.read_attribute = [this](PyObject* tensor, PyObject* name) {
    return read_tensor_attribute(recording_, tensor, name) ? Ref<>::steal(PyObject_GetAttr(tensor, name))
                                                           : Ref<>();
  };
  capture_.make_write = [this](PyObject* tensor, PyObject* name, PyObject* value) {
    make_fresh(recording_, value);  // the program may never read it: nobody else keeps it
    return before_tensor_attribute_write(recording_, tensor, name, value) &&
           PyObject_SetAttr(tensor, name, value) == 0;
  };
}

// Objects of the program may have kept unread values, of which nothing is known from now on.
CaptureAttempt::~CaptureAttempt() {
  for (const Ref<>& kept : recording_.arguments.kept) {
    if (is_unread(kept.get())) forget_argument(kept.get());
  }
}

std::unique_ptr<Entry> CaptureAttempt::make() {
  entry_->modes_ = domain_.modes();
  entry_->keywords_ = Ref<>::share(call_.keywords);
  pin(recording_, function_, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("fn"))});
  if (PyMethod_Check(function_)) {  // it is kept with the compiled function, and so is what it binds
    for (const auto& [part, name] : {std::pair{PyMethod_GET_FUNCTION(function_), "__func__"},
                                     std::pair{PyMethod_GET_SELF(function_), "__self__"}})
      pin(recording_, part, {Origin::attribute, function_, Ref<>::steal(PyUnicode_FromString(name))});
  }
  // A partial's C code reads what it holds before the first frame.
  if (is_partial(function_) && !read_deep(recording_, function_)) {
    give_up_broken(BreakCode::kUnguardable);
    return nullptr;
  }
  if (options_.by_structure) know_by_structure(recording_, reinterpret_cast<PyFunctionObject*>(function_));
  if (!describe_arguments() || !run_function() || !describe_results() || !lift_inputs() || !seal() ||
      !compile())
    return nullptr;
  return std::move(entry_);
}

// Takes the error that is set and puts it into words, as far as that runs no code of the program's.
static std::string take_raised_text() {
  if (is_interrupted()) drop_error();
  const Ref<> raised = PyErr_Occurred() != nullptr ? take_error() : Ref<>();
  if (!raised || !PyExceptionInstance_Check(raised.get())) return {};
  const std::string text = std::string(" ") + Py_TYPE(raised.get())->tp_name;
  PyObject* const arguments = reinterpret_cast<PyBaseExceptionObject*>(raised.get())->args;
  const bool has_text = arguments != nullptr && PyTuple_CheckExact(arguments) &&
                        PyTuple_GET_SIZE(arguments) == 1 &&
                        PyUnicode_CheckExact(PyTuple_GET_ITEM(arguments, 0));
  const char* words = has_text ? PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments, 0)) : nullptr;
  drop_error();
  return words != nullptr ? text + ": " + words : text;
}

bool CaptureAttempt::give_up(BreakCode code, std::string detail, size_t earlier_end) {
  abandon(recording_);
  Engine::get().statistics.unrestored += recording_.journal.roll_back();
  recording_.known.replaced.clear();
  drop_error();
  if (!recording_.stopped.happened()) {
    stop(recording_, code, std::move(detail));
    recording_.stopped.earlier_end = earlier_end;
  }
  const SegmentEnd& end = recording_.end;
  recording_.stopped.place = recording_.stopped.code == BreakCode::kException ? end.raised : end.now;
  drop_error();
  return false;
}

// For the reason that the domain gives.
bool CaptureAttempt::give_up_broken(BreakCode otherwise) {
  const Break* broken = capture_.broken();
  return broken != nullptr ? give_up(broken->code, broken->detail) : give_up(otherwise, {});
}

bool CaptureAttempt::is_own_cell(Py_ssize_t argument) const {
  if (call_.place == nullptr) return false;
  const std::vector<size_t>& cells = call_.place->cells;
  return std::find(cells.begin(), cells.end(), static_cast<size_t>(argument)) != cells.end();
}

// Another cell stands for one of the frame's own; what it holds is an argument by itself.
Ref<> CaptureAttempt::stand_for_cell(Argument& argument) {
  Ref<> cell = Ref<>::steal(PyCell_New(nullptr));
  if (cell) recording_.arguments.by_stand_in.emplace(cell.get(), &argument);
  return cell;
}

bool CaptureAttempt::describe_arguments() {
  if (!prepare_unread_values()) return give_up(BreakCode::kInternal, {});
  const ArgumentNames names(function_);
  const bool lazy = call_.place != nullptr || hands_to_python(function_);
  if (call_.place != nullptr) {
    recording_.takes_up_frame = true;
    entry_->given_slots_ = call_.place->given;
    for (size_t cell : call_.place->cells) recording_.known.frame_cells.insert(call_.arguments[cell]);
  }
  for (Py_ssize_t i = 0; i < call_.total(); i++) {
    const std::string name =
        call_.place != nullptr ? ArgumentNames::slot(*call_.place, i)
        : i < call_.positional
            ? names.positional(i)
            : ArgumentNames::keyword(PyTuple_GET_ITEM(call_.keywords, i - call_.positional));
    Argument& argument = add_argument(recording_, call_.arguments[i], name);
    if (is_own_cell(i)) {
      stand_ins_.push_back(stand_for_cell(argument));
      if (!stand_ins_.back()) return give_up(BreakCode::kInternal, name);
      continue;
    }
    if (!lazy) {
      if (!stand_for(recording_, argument)) return give_up(BreakCode::kUnguardable, name);
      stand_ins_.push_back(argument.stands);
      continue;
    }
    argument.placeholder = make_unread(&argument);
    if (!argument.placeholder) return give_up(BreakCode::kInternal, name);
    recording_.arguments.kept.push_back(argument.placeholder);
    recording_.arguments.are_lazy = true;
    stand_ins_.push_back(argument.placeholder);
  }
  return true;
}

Ref<> CaptureAttempt::call_function() {
  std::vector<PyObject*> given;
  for (const Ref<>& stands : stand_ins_) given.push_back(stands.get());
  return Ref<>::steal(
      PyObject_Vectorcall(function_, given.data(), static_cast<size_t>(call_.positional), call_.keywords));
}

// A frame like the one that the capture takes up, with stand-ins for what that holds.
Ref<> CaptureAttempt::run_frame() {
  PyThreadState* const thread = PyThreadState_Get();
  const cpython::Frame* real = call_.place->frame;
  CodeState* const state = Engine::get().code_state(real->code);
  const DecodedCode* const code = state != nullptr ? decoded(*state, real->code) : nullptr;
  cpython::Frame* const frame = code != nullptr ? cpython::reserve(thread, real->code) : nullptr;
  if (frame == nullptr) {
    stop(recording_, BreakCode::kInternal, "no room for a frame");
    return {};
  }
  auto* function = reinterpret_cast<PyFunctionObject*>(Py_NewRef(function_));
  cpython::initialise(frame, function, real->code, 0);
  size_t next = 0;
  for (size_t i = 0; i < call_.place->slots; i++) {
    PyObject* const own = real->localsplus[i];
    frame->localsplus[i] = Py_XNewRef(call_.place->given[i] ? stand_ins_[next++].get() : own);
  }
  for (size_t i = 0; i < call_.place->cells.size(); i++) {
    if (call_.place->given[call_.place->slots + i])
      PyCell_Set(stand_ins_[call_.place->cells[i]].get(), stand_ins_[next++].get());
  }
  frame->stacktop = static_cast<int>(call_.place->slots);
  cpython::go_on_at(frame, cpython::code_start(real->code) + call_.place->unit);
  auto result = Ref<>::steal(interpret(thread, frame, false, *code));
  if constexpr (!cpython::kEvaluatorClearsFrame) stator_clear_frame(thread, frame);
  return result;
}

bool CaptureAttempt::run_function() {
  const int levels = cpython::python_recursion(PyThreadState_Get());
  std::optional<size_t> left_variable;
  {
    const CaptureScope scope(recording_);
    result_ = call_.place != nullptr ? run_frame() : call_function();
    left_variable = recording_.context_writes.first_left();
  }
  leave(recording_);
  const bool ends_early = recording_.end.reached;
  if (ends_early) {
    recording_.stopped = {};
    drop_error();
  }
  entry_->levels_ = std::max(0, levels - recording_.fewest_levels);
  GivenArguments& given_arguments = recording_.arguments;
  tensors_ = given_arguments.tensors;
  entry_->tensors_ = tensors_.size();
  for (const Ref<>& tensor : recording_.placed.tensors) tensors_.push_back(tensor.get());
  std::unordered_set<PyObject*>& repeated = given_arguments.repeated;
  for (PyObject* tensor : tensors_) {
    if (is_pinned(recording_, tensor)) repeated.insert(tensor);
  }
  for (PyObject* tensor : recording_.wanted_by_identity) repeated.insert(tensor);
  for (PyObject* container : given_arguments.copied) {
    if (is_pinned(recording_, container)) repeated.insert(container);
  }
  if (!repeated.empty())
    return give_up(BreakCode::kUnguardable, "an argument that the function also reaches by itself");
  if (!result_ && !ends_early)
    return give_up(BreakCode::kException, "the function raises" + take_raised_text());
  if (recording_.stopped.happened()) return give_up(BreakCode::kOpcode, {});
  if (const Break* broken = capture_.broken()) return give_up(broken->code, broken->detail);
  if (recording_.end.number != SIZE_MAX && !ends_early)
    return give_up(BreakCode::kInternal, "the second run took another way");
  if (ends_early && capture_.recorded() == 0 && !options_.without_operators)
    return give_up(BreakCode::kOpcode, "nothing but Python code");
  if ((ends_early || call_.place != nullptr) &&
      ((domain_.modes() ^ entry_->modes_) & ~domain_.lasting_modes()) != 0)
    return give_up(BreakCode::kUnsupportedMode, "a mode is entered or left in the middle",
                   recording_.last_mode_call);
  if (left_variable)
    return give_up(BreakCode::kUnknownFunction, "ContextVar.set(), and the variable is not set back",
                   *left_variable);
  if (const auto taken = recording_.locks.first_taken())
    return give_up(BreakCode::kThread, "a lock is taken and not given back", *taken);
  if (leaves_generators(recording_))
    return give_up(BreakCode::kGenerator, "one that waits in a try or with, or that nobody awaits");
  if (!entry_->effects_.collect(recording_.journal, recording_)) return give_up(BreakCode::kInternal, {});
  Engine::get().statistics.unrestored += recording_.journal.roll_back();
  recording_.known.replaced.clear();
  return true;
}

// What the frame held and lets go dies in the middle of the segment, and would run code there. Each run asks
// again of what may be another object then.
bool CaptureAttempt::keeps_finalizers() {
  if (call_.place == nullptr) return true;
  for (size_t i = 0; i < recording_.arguments.roots.size(); i++) {
    const auto& argument = recording_.arguments.roots[i];
    const auto holds = [&](const FrameState& frame) {
      return std::any_of(frame.slots.begin(), frame.slots.end(), [&](const Ref<>& slot) {
        return slot && (slot.get() == argument->placeholder.get() || slot.get() == argument->stands.get());
      });
    };
    const std::vector<FrameState>& frames = recording_.end.frames;
    if (std::any_of(frames.begin(), frames.end(), holds)) continue;
    constexpr Py_ssize_t kFrameAndArgument = 2;
    if (cpython::dies_aloud(argument->real, kFrameAndArgument))
      return stop(recording_, BreakCode::kFinalizer, "a variable with a finalizer is dropped");
    if (argument->kind == Argument::Kind::tensor) entry_->dropped_tensors_.push_back(i);
    if (argument->may_die_aloud()) entry_->dropped_.push_back(i);
  }
  return true;
}

bool CaptureAttempt::describe_results() {
  std::vector<PyObject*> outputs;
  Description description(entry_->rebuild_, recording_, outputs);
  entry_->effects_.name_targets(description);
  bool described = keeps_finalizers();
  if (described && recording_.end.reached) {
    const bool has_frame = call_.place != nullptr || options_.by_structure;
    entry_->snapshot_.emplace();
    described = entry_->snapshot_->describe(recording_.end, has_frame, description);
  } else if (described) {
    entry_->result_ = description.add(result_.get());
    described = entry_->result_ != Description::kStopped;
  }
  if (described && recording_.end.handled_behind) {
    entry_->handled_behind_ = description.add(recording_.end.handled_behind.get());
    described = entry_->handled_behind_ != Description::kStopped;
  }
  if (!described || !entry_->effects_.describe(description))
    return give_up(BreakCode::kUnguardable, "the result");
  return capture_.finish(outputs, inputs_) || give_up_broken(BreakCode::kInternal);
}

bool CaptureAttempt::lift_inputs() {
  for (size_t i = 0; i < inputs_.size(); i++) {
    const Ref<>& tensor = inputs_[i];
    sources_.push_back(tensor ? source(recording_, tensor.get()) : std::string());
    entry_->inputs_.push_back(tensor.get());
    if (!tensor) continue;
    if (!is_pinned(recording_, tensor.get()))
      return give_up(BreakCode::kUnguardable, "a tensor that is neither an argument nor reached through one");
    auto guard = domain_.guard(tensor.get());
    if (!guard) return give_up(BreakCode::kTensorSubclass, sources_.back());
    entry_->guards_.add(PinnedTensorGuard{tensor.get(), std::move(guard)}, tensor.get(),
                        capture_.first_use(i));
  }
  // Tensors of which only the metadata was asked for.
  const std::unordered_set<PyObject*> guarded(entry_->inputs_.begin(), entry_->inputs_.end());
  for (PyObject* tensor : recording_.looked_at) {
    if (guarded.count(tensor) != 0) continue;
    auto guard = domain_.guard(tensor);
    if (!guard) return give_up(BreakCode::kTensorSubclass, source(recording_, tensor));
    entry_->guards_.add(PinnedTensorGuard{tensor, std::move(guard)}, tensor);
  }
  std::unordered_map<PyObject*, size_t> first;
  for (size_t i = 0; i < tensors_.size(); i++)
    entry_->first_of_.push_back(first.emplace(tensors_[i], i).first->second);
  recording_.given_tensors.number_places();
  auto next = recording_.given_tensors.order().begin();
  for (size_t i = 0; i < entry_->inputs_.size(); i++) {
    if (entry_->inputs_[i] != nullptr) continue;
    if (next == recording_.given_tensors.order().end())
      return give_up(BreakCode::kInternal, "an input that no argument is");
    entry_->given_.push_back({i, **next++});
  }
  // What stand-ins may not stand for.
  const bool any_container = !recording_.arguments.copied.empty();
  if (any_container || !tensors_.empty()) {
    for (const auto& [object, origin] : recording_.known.pinned) {
      if (any_container || domain_.is_tensor(object)) entry_->reached_.push_back(object);
    }
    std::sort(entry_->reached_.begin(), entry_->reached_.end());
  }
  return true;
}

void CaptureAttempt::note_caches() {
  std::unordered_map<PyObject*, Py_ssize_t> asked;
  for (const Ref<>& cache : recording_.cached.answered) asked[cache.get()]++;
  for (const auto& [cache, hits] : asked) {
    Ref<> reference = Ref<>::steal(PyWeakref_NewRef(cache, nullptr));
    if (reference) entry_->caches_.emplace_back(std::move(reference), hits);
  }
  drop_error();
}

bool CaptureAttempt::seal() {
  name_guards(recording_);
  entry_->note_lines(stack_);
  for (const auto& argument : recording_.arguments.roots) argument->forget_call();
  entry_->arguments_ = std::move(recording_.arguments.roots);
  note_caches();
  if (!filter_guards(options_.guard_filter, entry_->arguments_, entry_->guards_)) {
    const ErrorScope filters_own;  // put back at the end
    return give_up(BreakCode::kUnguardable, "the filter of guards raised");
  }
  return entry_->guards_.seal(domain_, recording_.arguments.tensors) ||
         give_up(BreakCode::kUnguardable, std::string(kChangedMeanwhile));
}

// With what the backend relied on.
void CaptureAttempt::note_symbols() {
  entry_->symbols_ = capture_.symbols();
  if (entry_->symbols_ != nullptr) {
    entry_->checks_.emplace(*entry_->symbols_);
    for (size_t i = 0; i < entry_->symbols_->check_count(); i++)
      entry_->symbol_guards_.push_back(entry_->symbols_->check_text(i, shape::SymbolText::kSources));
  }
}

bool CaptureAttempt::compile() {
  {
    const PlainScope plain;
    const AtomicScope undone(false);
    entry_->program_ = capture_.compile(options_.backend, sources_);
  }
  if (entry_->program_) {
    entry_->overlap_matters_ = entry_->program_->depends_on_overlap();
    note_symbols();
    return true;
  }
  if (!PyErr_Occurred()) return give_up_broken(BreakCode::kBackendFailed);
  const ErrorScope backends_own;  // put back at the end
  return give_up(BreakCode::kBackendFailed, {});
}

}  // namespace stator
