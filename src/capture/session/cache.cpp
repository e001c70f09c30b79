// capture/session/cache.cpp: finding a capture that serves a call, or making one.
#include "capture/session/cache.h"

#include <algorithm>
#include <chrono>

#include "capture/cpython/interrupts.h"
#include "capture/engine/engine.h"
#include "capture/session/capturing_threads.h"

namespace stator {

static bool is_known(const CaptureCache::Serving& serving, PyObject* function) {
  return !serving.function || serving.function->matches(reinterpret_cast<PyFunctionObject*>(function));
}

// Looks for a capture that serves the call. nullopt: none does; `failed` names the last one's guard.
std::optional<CaptureCache::Answer> CaptureCache::find(const Domain& domain, PyObject* function,
                                                       const Call& call, CacheListener& listener,
                                                       CallValues& values, std::string& failed,
                                                       PyObject** result, OpenEnd& end) {
  for (size_t i = 0; i < entries_.size(); i++) {
    if (!is_known(entries_[i], function)) {
      failed = "the function has other cells or defaults";
      continue;
    }
    const std::shared_ptr<Entry> entry = entries_[i].entry;
    const bool last = i + 1 == entries_.size();
    if (!entry->serves(domain, call, values, last ? &failed : nullptr)) {
      if (PyErr_Occurred() && !listener.guard_raised()) return Answer::raised;
      continue;
    }
    entry->hits++;
    Engine::get().statistics.served++;
    return serve(entry, call, values, result, end);
  }
  return std::nullopt;
}

CaptureCache::Answer CaptureCache::call(const Domain& domain, PyObject* function, const Call& call,
                                        CaptureOptions options, int limit, bool may_capture,
                                        CacheListener& listener, PyObject** result, OpenEnd& end) {
  if (given_up_) return Answer::native;
  const LeasedValues leased;
  CallValues& values = *leased;
  // Guards may let other threads run. What these capture meanwhile may serve this call.
  constexpr int kMostSearches = 3;
  for (int search = 1;; search++) {
    const size_t before = captures_ended();
    std::string failed;
    const auto found = find(domain, function, call, listener, values, failed, result, end);
    if (found) return *found;
    if (!options.whole && awaits_module()) return Answer::native;
    const bool breaks_often = !options.whole && static_cast<int>(stops_.size()) >= limit;
    if (!may_capture || breaks_often || another_capture_runs()) return Answer::native;
    if (!options.whole && !domain.captures_now()) return await_modes();
    if (captures_ended() == before) {
      if (!entries_.empty()) {
        misses_.push_back(failed);
        if (!listener.captures_again(failed)) return Answer::raised;
      }
      if (captures_ended() == before) break;
    }
    if (search == kMostSearches) return Answer::native;
  }
  options.varying = &varying;
  return capture(domain, function, call, options, limit, listener, values, result, end);
}

CaptureCache::Answer CaptureCache::capture(const Domain& domain, PyObject* function, const Call& call,
                                           const CaptureOptions& options, int limit, CacheListener& listener,
                                           CallValues& values, PyObject** result, OpenEnd& end) {
  std::optional<CapturingScope> others_wait(std::in_place);
  note_changes(domain, function, call);
  if (static_cast<int>(entries_.size()) >= limit && !make_room(limit)) {
    given_up_ = true;
    return listener.reached_limit(misses_.empty() ? "none" : misses_.back()) ? Answer::native
                                                                             : Answer::raised;
  }
  CaptureStop why;
  std::optional<FunctionSpec> spec;
  if (options.by_structure) spec.emplace(reinterpret_cast<PyFunctionObject*>(function));
  const auto start = std::chrono::steady_clock::now();
  std::shared_ptr<Entry> entry;
  {
    InterruptsWait interrupts;
    entry = Entry::capture(domain, function, call, options, why);
    // What was given up for it says nothing of the function, and what was made may lack what it cut off.
    if (interrupts.raise()) return Answer::raised;
  }
  Statistics& statistics = Engine::get().statistics;
  if (!entry) {
    // Neither says anything of the function.
    if (why.code == BreakCode::kCaptureRunning || why.code == BreakCode::kAsynchronousEvent)
      return Answer::native;
    if (options.whole && static_cast<int>(stops_.size()) >= limit) stops_.erase(stops_.begin());
    stops_.push_back(std::move(why));
    statistics.stops++;
    if (PyErr_Occurred()) return Answer::raised;  // the backend's own
    // A call that raises tells nothing about the next one.
    const bool raised = stops_.back().code == BreakCode::kException;
    given_up_ = !options.whole && entries_.empty() && !raised && !awaits_module();
    return Answer::stopped;
  }
  if (entry->snapshot()) breaks_.push_back(std::move(why));
  statistics.captures++;
  entry->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  entries_.push_back({std::move(spec), entry});
  captures_++;
  others_wait.reset();
  if (!listener.captured(*entry)) return Answer::raised;
  std::string failed;
  if (!entry->serves(domain, call, values, &failed)) {
    if (PyErr_Occurred() && !listener.guard_raised()) return Answer::raised;
    misses_.push_back(failed);
    return Answer::native;
  }
  statistics.served++;
  return serve(entry, call, values, result, end);
}

CaptureCache::Answer CaptureCache::serve(const std::shared_ptr<Entry>& entry, const Call& call,
                                         CallValues& values, PyObject** result, OpenEnd& end) {
  RunFailure failure;
  *result = entry->run(call, values, failure);
  if (*result == nullptr && entry->snapshot() && !PyErr_Occurred()) {
    end.entry = entry;
    end.values = std::move(values.made);
    return Answer::open;
  }
  if (*result != nullptr || !failure.untouched) return Answer::served;
  return failure.of_backend ? Answer::undone_by_backend : Answer::undone;
}

void CaptureCache::note_changes(const Domain& domain, PyObject* function, const Call& call) {
  for (Serving& known : entries_) {
    if (!is_known(known, function)) continue;
    const size_t notes = varying.notes();
    known.entry->note_changes(domain, call, varying);
    if (varying.notes() != notes) known.outdated = true;
  }
}

// A function whose captures serve more calls than they cost may be captured again, for what it has shown to
// vary: generating text takes a few captures until sizes and caches are known as such, once for each kind of
// batch. One that is captured on every call has no claim to it, and there is an end to it in any case.
bool CaptureCache::make_room(int limit) {
  constexpr size_t kMostTimesLimit = 8;
  size_t hits = 0;
  for (const Serving& known : entries_) hits += known.entry->hits;
  if (hits <= captures_ || captures_ >= kMostTimesLimit * static_cast<size_t>(limit)) return false;
  return std::erase_if(entries_,
                       [](const Serving& known) { return known.outdated && known.entry->hits == 0; }) != 0;
}

// The function runs eagerly until the module is there whose loading ended its first capture.
bool CaptureCache::awaits_module() const {
  if (!entries_.empty() || stops_.empty() || stops_.back().module.empty()) return false;
  const auto name = Ref<>::steal(PyUnicode_FromString(stops_.back().module.c_str()));
  const bool is_loaded = name && PyDict_GetItemWithError(PyImport_GetModuleDict(), name.get()) != nullptr;
  drop_error();
  return !is_loaded;
}

// The function runs eagerly until the caller has left modes under which nothing is captured; told once.
CaptureCache::Answer CaptureCache::await_modes() {
  const auto is_told = [](const CaptureStop& stop) { return stop.code == BreakCode::kUnsupportedMode; };
  if (std::none_of(stops_.begin(), stops_.end(), is_told)) {
    CaptureStop why;
    why.code = BreakCode::kUnsupportedMode;
    stops_.push_back(std::move(why));
    Engine::get().statistics.stops++;
  }
  return Answer::native;
}

void CaptureCache::give_up() {
  entries_.clear();
  given_up_ = true;
}

void CaptureCache::reset() {
  entries_.clear();
  stops_.clear();
  breaks_.clear();
  misses_.clear();
  captures_ = 0;
  varying.clear();
  given_up_ = false;
}

}  // namespace stator
