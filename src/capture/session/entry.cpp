// capture/session/entry.cpp: capturing a call, and serving later ones.
#include "capture/session/entry.h"

#include <algorithm>

#include "capture/cpython/cache_counts.h"
#include "capture/cpython/error_scope.h"
#include "capture/cpython/exported.h"
#include "capture/cpython/finalizers.h"
#include "capture/cpython/interrupts.h"
#include "capture/engine/atomic_capture.h"
#include "capture/engine/engine.h"
#include "capture/session/attempt.h"
#include "capture/session/capturing_threads.h"
#include "capture/session/plain_scope.h"

namespace stator {

// The backend has failed with a graph that reads values, and takes none from now on.
static bool was_refused(const Domain& domain, const CaptureOptions& options) {
  bool refused = false;
  {
    const ErrorScope backends_own;
    refused = !domain.takes_values(options.backend);
  }
  if (refused) drop_error();
  return refused;
}

std::unique_ptr<Entry> Entry::capture(const Domain& domain, PyObject* function, const Call& call,
                                      const CaptureOptions& options, CaptureStop& why) {
  if (another_capture_runs()) {
    why.code = BreakCode::kCaptureRunning;
    return nullptr;
  }
  // An attempt may find that some arguments must be given as they are, or that a module must be loaded or
  // something of the domain's be done first; each one finds others. One that breaks after the program asked
  // whether it is captured may be made once more with the other answer.
  std::unordered_set<PyObject*> by_identity;
  std::unordered_set<std::string> modules;
  constexpr int kMostChanges = 3;
  int changes = 0;
  struct Stopped {
    CaptureStop why;
    size_t operators;
  };
  std::optional<Stopped> first_answer;  // how the capture ended that was told the first one
  for (;;) {
    std::string module;
    bool is_last = true;
    size_t operators = 0;
    {
      const AtomicScope until_undone(true);
      UserStack stack;
      std::unique_ptr<DomainCapture> capture;
      if (domain.captures_now())
        capture = domain.begin(stack.lines(), stack, options.backend, first_answer.has_value());
      if (!capture) {
        drop_error();
        why.code = BreakCode::kUnsupportedMode;
        return nullptr;
      }
      const bool takes_values = domain.takes_values(options.backend);
      CaptureAttempt attempt(domain, *capture, stack, function, call, options, by_identity);
      std::unique_ptr<Entry> entry = attempt.make();
      if (interrupt_waits()) return nullptr;
      if (!entry && takes_values && was_refused(domain, options)) continue;
      const size_t known = by_identity.size();
      by_identity.insert(attempt.one_and_the_same().begin(), attempt.one_and_the_same().end());
      if (by_identity.size() != known || (!entry && attempt.wants_another())) continue;
      if (entry) {
        entry->told_captured = capture->told_captured();
        return entry;
      }
      why = attempt.stopped();
      operators = capture->recorded();
      if (why.detail == kChangedMeanwhile && changes++ < kMostChanges) continue;
      module = attempt.wanted_import();
      // What raises when it is told what eager code is told, raises; an error that is set is the backend's.
      is_last = first_answer || !capture->has_other_answer() || why.code == BreakCode::kException ||
                PyErr_Occurred() != nullptr;
    }
    const PlainScope plain;
    if (domain.clear_the_way()) continue;
    if (!module.empty() && modules.insert(module).second) {
      if (Ref<>::steal(PyImport_ImportModule(module.c_str()))) continue;
      drop_error();  // the function will raise it, or knows what to do
      is_last = true;
    }
    if (is_last) {
      // Both break: the answer that leads further, or else the first one.
      const bool other_answer = first_answer && operators > first_answer->operators && !why.is_error &&
                                why.code != BreakCode::kException && options.may_end_early;
      if (first_answer && !other_answer) why = std::move(first_answer->why);
      return options.may_end_early && !why.is_error
                 ? capture_until(domain, function, call, options, by_identity, other_answer, why)
                 : nullptr;
    }
    first_answer = {why, operators};
  }
}

// Up to the break that ended a whole capture, and behind it where what it reads can be the last thing that
// the graph gives. It begins once more, since the instruction that led there may have done half of its work.
std::unique_ptr<Entry> Entry::capture_until(const Domain& domain, PyObject* function, const Call& call,
                                            const CaptureOptions& options,
                                            const std::unordered_set<PyObject*>& by_identity,
                                            bool other_answer, CaptureStop& why) {
  if (PyErr_Occurred() || !domain.captures_now()) return nullptr;
  const bool reads_values =
      why.code == BreakCode::kDataDependentOperator || why.code == BreakCode::kDataDependentBranch;
  if (reads_values && why.place.number > 0) {
    const bool takes_values = domain.takes_values(options.backend);
    if (auto entry = capture_until(domain, function, call, options, by_identity, other_answer, true, why))
      return entry;
    if (is_interrupted() || interrupt_waits()) return nullptr;
    if (takes_values && was_refused(domain, options)) return capture(domain, function, call, options, why);
    drop_error();
  }
  // What was begun by then may have to end in the same capture (inference mode, a lock that is held), or the
  // frames hold what no later call can make: the capture ends before that.
  constexpr int kMostEnds = 6;
  why.not_kept.clear();
  const size_t at_break = why.place.number;
  for (int i = 0; i < kMostEnds && why.place.number > 1; i++) {
    const size_t end = why.place.number;
    why.earlier_end = 0;
    if (auto entry = capture_until(domain, function, call, options, by_identity, other_answer, false, why))
      return entry;
    if (PyErr_Occurred() || is_interrupted() || interrupt_waits()) break;
    if (why.earlier_end == 0 || why.earlier_end >= end) break;
    why.place.number = why.earlier_end;
  }
  why.place.number = at_break;
  return nullptr;
}

std::unique_ptr<Entry> Entry::capture_until(const Domain& domain, PyObject* function, const Call& call,
                                            const CaptureOptions& options,
                                            const std::unordered_set<PyObject*>& by_identity,
                                            bool other_answer, bool behind, CaptureStop& why) {
  const AtomicScope until_undone(true);
  UserStack stack;
  const auto capture = domain.begin(stack.lines(), stack, options.backend, other_answer);
  if (!capture) {
    drop_error();
    return nullptr;
  }
  CaptureAttempt attempt(domain, *capture, stack, function, call, options, by_identity);
  std::unique_ptr<Entry> entry = attempt.make_until(why.place.number, behind);
  const CaptureStop& stopped = attempt.stopped();
  if (!entry) {
    why.not_kept = stopped.detail.empty() ? reason(*stopped.code).code : stopped.detail;
    why.earlier_end = stopped.earlier_end;
    return nullptr;
  }
  entry->told_captured = capture->told_captured();
  if (!why.not_kept.empty()) {  // it ends earlier
    why.code = BreakCode::kUnguardable;
    why.detail = std::exchange(why.not_kept, {}) + ", up to a break";
    why.stack = stopped.stack;
    why.place = {why.place.number, Ref<PyCodeObject>::share(entry->snapshot()->code()),
                 entry->snapshot()->unit()};
  }
  return entry;
}

bool Entry::has_keywords(const Call& call) const {
  if (call.keywords == keywords_.get()) return true;
  return call.keywords != nullptr && keywords_ &&
         PyObject_RichCompareBool(call.keywords, keywords_.get(), Py_EQ) == 1;
}

// What dies with the exception that is handled runs code in the middle of the run.
static bool handled_dies_aloud() {
  const auto handled = Ref<>::steal(PyErr_GetHandledException());
  return handled && cpython::dies_aloud(handled.get(), Py_REFCNT(handled.get()));
}

bool Entry::serves(const Domain& domain, const Call& call, CallValues& values, std::string* failed) {
  values.tensors.assign(tensors_, nullptr);
  values.containers.clear();
  const auto fail = [&](const std::string& text) {
    if (failed != nullptr) *failed = text;
    return false;
  };
  const Py_ssize_t total = call.total();
  if (total != static_cast<Py_ssize_t>(arguments_.size())) return fail("another number of arguments");
  if (call.place != nullptr && call.place->given != given_slots_) return fail("the same variables are set");
  if (!has_keywords(call)) return fail("other keyword arguments");
  // Frames that are not made could not be made either: run natively, the function raises RecursionError.
  PyThreadState* const thread = PyThreadState_Get();
  if (cpython::python_recursion(thread) < levels_) return fail("the recursion limit is far away");
  if (snapshot_ && !snapshot_->has_room(thread)) return fail("there is room for the frames at the break");
  if (handled_behind_ && handled_dies_aloud()) return fail("the exception that is handled has no finalizer");
  const auto drops_aloud = [&](size_t i) { return cpython::dies_aloud(call.arguments[i], /*holders=*/1); };
  const auto drops_watched = [&](size_t i) { return cpython::has_weak_callback(call.arguments[i]); };
  if (std::any_of(dropped_.begin(), dropped_.end(), drops_aloud) ||
      std::any_of(dropped_tensors_.begin(), dropped_tensors_.end(), drops_watched))
    return fail("a variable with a finalizer is dropped");
  if (domain.modes() != modes_) return fail(std::string("the ") + domain.modes_in_words() + " are the same");
  for (Py_ssize_t i = 0; i < total; i++) {
    const Argument& argument = *arguments_[static_cast<size_t>(i)];
    if (!argument.matches(call.arguments[i], values))
      return fail(failed != nullptr ? argument.difference(call.arguments[i], values) : std::string());
  }
  if (!guards_.check(failed, {values.bindings, values.tensors})) return false;
  if (!are_apart(values)) return fail(failed != nullptr ? identity_text(values) : std::string());
  if (overlap_matters_) {
    gather_inputs(values);
    if (!program_->overlaps_as_captured(values.inputs.data()))
      return fail("the same tensors overlap in memory, at the same places");
  }
  if (!checks_) return true;
  const auto broken = checks_->first_failure(values.bindings);
  if (!broken) return true;
  const LineId line = lines_->outside_library(symbols_->check_line(*broken));
  return fail(symbol_guards_[*broken] +
              (line == LineId::kNone ? std::string() : "  # " + lines_->short_text(line)));
}

// Which arguments are one and the same is part of what was captured, and none of them is an object that the
// function reaches by itself.
bool Entry::are_apart(CallValues& values) const {
  const auto reaches = [&](PyObject* object) {
    return std::binary_search(reached_.begin(), reached_.end(), object);
  };
  const auto repeats = [](std::vector<PyObject*>& objects) {
    if (objects.size() < 2) return false;
    std::sort(objects.begin(), objects.end());
    return std::adjacent_find(objects.begin(), objects.end()) != objects.end();
  };
  std::vector<PyObject*>& different = values.inputs;  // not in use yet
  different.clear();
  for (size_t i = 0; i < values.tensors.size(); i++) {
    PyObject* tensor = values.tensors[i];
    if (tensor != values.tensors[first_of_[i]] || reaches(tensor)) return false;
    if (first_of_[i] == i) different.push_back(tensor);
  }
  for (PyObject* container : values.containers) {
    if (reaches(container)) return false;
  }
  return !repeats(different) && !repeats(values.containers);
}

// The tensors of an argument, in its order.
static void list_tensors(const Argument& argument, std::vector<const Argument*>& tensors) {
  if (argument.kind == Argument::Kind::tensor) tensors.push_back(&argument);
  for (const auto& child : argument.children) list_tensors(*child, tensors);
}

std::string Entry::identity_text(const CallValues& values) const {
  std::vector<const Argument*> tensors;
  for (const auto& argument : arguments_) list_tensors(*argument, tensors);
  for (size_t i = 0; i < tensors.size(); i++) {
    for (size_t j = 0; j < i; j++) {
      const size_t a = tensors[j]->tensor, b = tensors[i]->tensor;
      const bool were_one = first_of_[a] == first_of_[b], are_one = values.tensors[a] == values.tensors[b];
      if (were_one != are_one)
        return tensors[j]->name() + (were_one ? " is " : " is not ") + tensors[i]->name();
    }
  }
  return "the same arguments are one and the same object";
}

void Entry::note_changes(const Domain& domain, const Call& call, Varying& varying) const {
  if (call.total() != static_cast<Py_ssize_t>(arguments_.size()) || !has_keywords(call)) return;
  bool same = true;
  for (size_t i = 0; i < arguments_.size(); i++)
    same = arguments_[i]->note_changes(call.arguments[i], varying) && same;
  // What another object led to may be gone.
  if (same) guards_.note_changes(domain, varying);
}

void Entry::gather_inputs(CallValues& values) const {
  values.inputs = inputs_;
  for (const Given& given : given_) values.inputs[given.input] = values.tensors[given.tensor];
}

void Entry::count_cache_hits() const {
  for (const auto& [reference, hits] : caches_) {
    const Ref<> cache = Ref<>::share(PyWeakref_GET_OBJECT(reference.get()));
    cpython::add_cache_hits(cache.get(), hits);
  }
}

PyObject* Entry::run(const Call& call, CallValues& values, RunFailure& failure) const {
  gather_inputs(values);
  const PlainScope plain;
  if (!program_->run(values.inputs.data(), values.bindings, values.outputs, failure)) {
    // Out of memory: the backend says what to do about it, and the function would need the memory too.
    if (failure.of_backend && PyErr_ExceptionMatches(PyExc_MemoryError)) failure.untouched = false;
    if (!failure.untouched) show_line(failure.line);
    return nullptr;
  }
  const bool iterators_first = effects_.write_iterators();
  if (!rebuild_.make(values.outputs, call.arguments, values.made) ||
      (iterators_first && !rebuild_.make_last(values.made)) || !effects_.apply(values.made, call.arguments) ||
      (!iterators_first && !rebuild_.make_last(values.made)))
    return nullptr;
  if (handled_behind_) {
    PyObject* const handled = values.made[*handled_behind_].get();
    PyErr_SetHandledException(handled != Py_None ? handled : nullptr);
  }
  count_cache_hits();
  return snapshot_ ? nullptr : values.made[result_].release();
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
  const auto is_read = [](const auto& argument) { return argument->is_compared(); };
  std::vector<LineId> ids(static_cast<size_t>(std::count_if(arguments_.begin(), arguments_.end(), is_read)),
                          defined_);
  ids.insert(ids.end(), guards_.lines().begin(), guards_.lines().end());
  for (size_t i = 0; i < symbol_guards_.size(); i++) ids.push_back(symbols_->check_line(i));
  std::vector<UserFrame> places;
  for (LineId id : ids) {
    const LineId known = id != LineId::kNone ? id : defined_;
    if (known == LineId::kNone) {  // a C function: no frame was entered
      places.push_back({});
      continue;
    }
    const UserLine& line = (*lines_)[lines_->outside_library(known)];
    places.push_back({lines_->text(line.file), lines_->text(line.function), line.line});
  }
  return places;
}

std::vector<std::string> Entry::guards() const {
  std::vector<std::string> all;
  for (const auto& argument : arguments_) {
    if (argument->is_compared()) all.push_back(argument->describe());
  }
  for (std::string& text : guards_.describe()) all.push_back(std::move(text));
  all.insert(all.end(), symbol_guards_.begin(), symbol_guards_.end());
  return all;
}

}  // namespace stator
