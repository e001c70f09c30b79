// capture/programs/entry.cpp: capturing a call, and serving later ones.
#include "capture/programs/entry.h"

#include <algorithm>
#include <utility>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/exported.h"
#include "capture/hook/engine.h"
#include "capture/programs/argument_names.h"

namespace stator {
namespace {

// The thread captures while this lives: the hook is in, and no garbage is collected.
class CaptureScope {
 public:
  explicit CaptureScope(Recording& recording)
      : context_(thread_context),
        mode_(context_.mode),
        handled_(Ref<>::steal(PyErr_GetHandledException())),
        collects_(PyGC_Disable() != 0) {
    context_.mode = Mode::capture;
    context_.recording = &recording;
    Engine::get().capturing = true;
    Engine::get().acquire_hook();
  }
  ~CaptureScope() {
    Engine::get().capturing = false;
    Engine::get().release_hook();
    context_.recording = nullptr;
    context_.mode = mode_;
    // A capture may be given up inside a handler, which then never ends.
    PyErr_SetHandledException(handled_.get());
    if (collects_) PyGC_Enable();
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  ThreadContext& context_;
  Mode mode_;
  Ref<> handled_;  // the exception that the caller is handling
  bool collects_;
};

// What a program runs (backends in Python among it) is nobody's to capture.
class PlainScope {
 public:
  PlainScope()
      : mode_(std::exchange(thread_context.mode, Mode::off)),
        outer_(std::exchange(thread_context.plain, true)) {}
  ~PlainScope() {
    thread_context.mode = mode_;
    thread_context.plain = outer_;
  }
  PlainScope(const PlainScope&) = delete;
  PlainScope& operator=(const PlainScope&) = delete;

 private:
  Mode mode_;
  bool outer_;
};

}  // namespace

std::unique_ptr<Entry> Entry::capture(const Domain& domain, PyObject* function, const Call& call,
                                      const CaptureOptions& options, CaptureStop& why) {
  const auto& [arguments, count, keywords] = call;
  if (Engine::get().capturing) {
    why.code = BreakCode::kCaptureRunning;
    return nullptr;
  }
  auto entry = std::make_unique<Entry>();
  UserStack stack;
  std::unique_ptr<DomainCapture> capture = domain.begin(stack.lines(), stack);
  if (!capture) {
    PyErr_Clear();
    why.code = BreakCode::kUnsupportedMode;
    return nullptr;
  }
  Recording recording(domain, *capture, entry->guards_, stack);
  const auto give_up = [&](BreakCode code, std::string detail) {
    recording.abandon();
    Engine::get().statistics.unrestored += recording.journal().roll_back();
    if (PyErr_Occurred()) PyErr_Clear();
    if (!recording.stopped().happened()) recording.stop(code, std::move(detail));
    PyErr_Clear();
    why = recording.stopped();
    return nullptr;
  };
  static const Varying kNothing = [] {
    Varying varying;
    varying.policy = DynamicSizes::never;
    return varying;
  }();
  const Varying& varying = options.varying != nullptr ? *options.varying : kNothing;
  recording.expect_changes(&varying);
  entry->modes_ = domain.modes();
  entry->keywords_ = Ref<>::share(keywords);
  recording.pin(function, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("fn"))});
  if (options.by_structure) recording.know_by_structure(reinterpret_cast<PyFunctionObject*>(function));
  const ArgumentNames names(function);
  std::vector<PyObject*> tensors;
  std::vector<Ref<>> stand_ins;
  const Py_ssize_t total = call.total();
  // Before anything is copied: one that contains itself occurs twice as well.
  if (const auto containers = count_containers(arguments, total)) {
    entry->containers_ = *containers;
  } else {
    return give_up(BreakCode::kUnguardable, "one list or dictionary is given twice");
  }
  for (Py_ssize_t i = 0; i < total; i++) {
    const std::string name =
        i < count ? names.positional(i) : ArgumentNames::keyword(PyTuple_GET_ITEM(keywords, i - count));
    entry->arguments_.emplace_back();
    ArgumentSpec spec;
    Ref<> stands = ArgumentSpec::describe(arguments[i], name, varying, recording, *capture, tensors, spec);
    entry->arguments_.back() = std::move(spec);
    if (!stands) return give_up(BreakCode::kUnguardable, name);
    stand_ins.push_back(std::move(stands));
  }
  for (PyObject* tensor : tensors) {
    const auto first = std::find(tensors.begin(), tensors.end(), tensor);
    entry->first_of_.push_back(static_cast<size_t>(first - tensors.begin()));
  }
  std::vector<PyObject*> given;
  for (const Ref<>& stands : stand_ins) given.push_back(stands.get());

  Ref<> result;
  {
    CaptureScope scope(recording);
    result = Ref<>::steal(PyObject_Vectorcall(function, given.data(), static_cast<size_t>(count), keywords));
  }
  recording.leave();
  if (!result) return give_up(BreakCode::kException, "the function raises");
  if (recording.stopped().happened()) return give_up(BreakCode::kOpcode, {});
  if (const Break* broken = capture->broken()) return give_up(broken->code, broken->detail);
  if (recording.holds_locks()) return give_up(BreakCode::kThread, "a lock is taken and not given back");
  if (recording.leaves_generators()) return give_up(BreakCode::kGenerator, "one that waits in a try or with");
  if (!entry->effects_.collect(recording.journal(), recording)) return give_up(BreakCode::kInternal, {});
  Engine::get().statistics.unrestored += recording.journal().roll_back();

  GivenContainers containers;
  for (size_t i = 0; i < stand_ins.size(); i++) containers.add(stand_ins[i].get(), arguments[i], {i, {}});
  std::vector<PyObject*> outputs;
  Rebuild::Capture describing{recording, containers, outputs, {}, {}};
  entry->result_ = entry->rebuild_.add(result.get(), describing);
  if (entry->result_ == Rebuild::kStopped || !entry->effects_.describe(entry->rebuild_, describing))
    return give_up(BreakCode::kUnguardable, "the result");
  std::vector<Ref<>> captured;
  if (!capture->finish(outputs, captured)) {
    const Break* broken = capture->broken();
    return broken != nullptr ? give_up(broken->code, broken->detail) : give_up(BreakCode::kInternal, {});
  }
  std::vector<std::string> sources;
  entry->symbols_ = capture->symbols();
  if (entry->symbols_ != nullptr) {
    entry->checks_.emplace(*entry->symbols_);
    for (size_t i = 0; i < entry->symbols_->check_count(); i++)
      entry->symbol_guards_.push_back(entry->symbols_->check_text(i, shape::SymbolText::kSources));
  }
  for (size_t i = 0; i < captured.size(); i++) {
    const Ref<>& tensor = captured[i];
    sources.push_back(tensor ? recording.source(tensor.get()) : std::string());
    if (tensor) {
      if (!recording.is_pinned(tensor.get()))
        return give_up(BreakCode::kUnguardable,
                       "a tensor that is neither an argument nor reached through one");
      auto guard = domain.guard(tensor.get());
      if (!guard) return give_up(BreakCode::kTensorSubclass, recording.source(tensor.get()));
      entry->guards_.add(PinnedTensorGuard{tensor.get(), std::move(guard)}, tensor.get(),
                         capture->first_use(i));
    }
    entry->inputs_.push_back(tensor.get());
  }
  size_t next = 0;
  for (size_t i = 0; i < entry->inputs_.size(); i++) {
    if (entry->inputs_[i] != nullptr) continue;
    while (entry->first_of_[next] != next) next++;  // a tensor that was given twice is one input
    entry->given_.push_back({i, next++});
  }
  entry->reached_ = entry->inputs_;
  std::sort(entry->reached_.begin(), entry->reached_.end());
  for (PyObject* tensor : tensors) {
    if (recording.is_pinned(tensor))
      return give_up(BreakCode::kUnguardable, "an argument that the function also reaches by itself");
  }
  recording.name_guards();
  entry->note_lines(stack);
  if (!entry->guards_.seal(domain))
    return give_up(BreakCode::kUnguardable, "another thread changed what the capture read");
  {
    const PlainScope plain;
    entry->program_ = capture->compile(options.backend, sources);
  }
  if (!entry->program_) {
    if (PyErr_Occurred()) {
      ErrorScope backends_own;  // put back when give_up is done
      return give_up(BreakCode::kBackendFailed, {});
    }
    const Break* broken = capture->broken();
    return broken != nullptr ? give_up(broken->code, broken->detail) : give_up(BreakCode::kBackendFailed, {});
  }
  return entry;
}

bool Entry::has_keywords(const Call& call) const {
  if (call.keywords == keywords_.get()) return true;
  return call.keywords != nullptr && keywords_ &&
         PyObject_RichCompareBool(call.keywords, keywords_.get(), Py_EQ) == 1;
}

bool Entry::serves(const Domain& domain, const Call& call, CallValues& values, std::string* failed) {
  std::vector<PyObject*>& tensors = values.tensors;
  tensors.clear();
  const auto fail = [&](const std::string& text) {
    if (failed != nullptr) *failed = text;
    return false;
  };
  const Py_ssize_t total = call.total();
  if (total != static_cast<Py_ssize_t>(arguments_.size())) return fail("another number of arguments");
  if (!has_keywords(call)) return fail("other keyword arguments");
  if (domain.modes() != modes_)
    return fail("the modes of torch (grad, autocast, default dtype) are the same");
  for (Py_ssize_t i = 0; i < total; i++) {
    const ArgumentSpec& spec = arguments_[static_cast<size_t>(i)];
    if (!spec.matches(call.arguments[i], tensors, values.bindings))
      return fail(failed != nullptr ? spec.text() : std::string());
  }
  if (containers_ > 1 && !count_containers(call.arguments, total))
    return fail("no list or dictionary is given twice");
  // Which arguments are one tensor is part of what was captured.
  for (size_t i = 0; i < tensors.size(); i++) {
    for (size_t j = 0; j <= i; j++) {
      if (tensors[j] != tensors[i]) continue;
      if (j != first_of_[i]) return fail("the same arguments are one and the same tensor");
      break;
    }
    if (std::binary_search(reached_.begin(), reached_.end(), tensors[i])) {
      return fail("no argument is a tensor that the function reaches by itself");
    }
  }
  if (!guards_.check(failed, values.bindings)) return false;
  if (!checks_) return true;
  const auto broken = checks_->first_failure(values.bindings);
  if (!broken) return true;
  const LineId line = lines_->outside_library(symbols_->check_line(*broken));
  return fail(symbol_guards_[*broken] +
              (line == LineId::kNone ? std::string() : "  # " + lines_->short_text(line)));
}

void Entry::note_changes(const Call& call, Varying& varying) const {
  if (call.total() != static_cast<Py_ssize_t>(arguments_.size()) || !has_keywords(call)) return;
  bool same = true;
  for (size_t i = 0; i < arguments_.size(); i++)
    same = arguments_[i].note_changes(call.arguments[i], varying) && same;
  // What another object led to may be gone.
  if (same) guards_.note_changes(varying);
}

PyObject* Entry::run(const Call& call, CallValues& values, RunFailure& failure) const {
  values.inputs = inputs_;
  for (const Given& given : given_) values.inputs[given.input] = values.tensors[given.tensor];
  const PlainScope plain;
  if (!program_->run(values.inputs.data(), values.bindings, values.outputs, failure)) {
    if (!failure.untouched) show_line(failure.line);
    return nullptr;
  }
  if (!rebuild_.make(values.outputs, call.arguments, values.made) ||
      !effects_.apply(values.made, call.arguments))
    return nullptr;
  return values.made[result_].release();
}

// The error that is set comes out of the frames that would stand there natively.
void Entry::show_line(LineId line) const {
  for (; line != LineId::kNone; line = (*lines_)[line].caller) {
    const UserLine& frame = (*lines_)[line];
    _PyTraceback_Add(lines_->text(frame.function).c_str(), lines_->text(frame.file).c_str(), frame.line);
  }
}

void Entry::note_lines(UserStack& stack) {
  lines_ = stack.lines();
  defined_ = stack.first_line();
  stack.place();
}

std::vector<UserFrame> Entry::guard_places() const {
  std::vector<LineId> ids(arguments_.size(), defined_);
  ids.insert(ids.end(), guards_.lines().begin(), guards_.lines().end());
  for (size_t i = 0; i < symbol_guards_.size(); i++) ids.push_back(symbols_->check_line(i));
  std::vector<UserFrame> places;
  for (LineId id : ids) {
    const UserLine& line = (*lines_)[lines_->outside_library(id != LineId::kNone ? id : defined_)];
    places.push_back({lines_->text(line.file), lines_->text(line.function), line.line});
  }
  return places;
}

std::vector<std::string> Entry::guards() const {
  std::vector<std::string> all;
  for (const ArgumentSpec& spec : arguments_) all.push_back(spec.text());
  for (std::string& text : guards_.describe()) all.push_back(std::move(text));
  all.insert(all.end(), symbol_guards_.begin(), symbol_guards_.end());
  return all;
}

}  // namespace stator
