// capture/session/compiled_function.cpp: a call of a compiled function: served by a capture, captured, or run
// eagerly; and who is told.
#include "capture/session/compiled_function.h"

#include <algorithm>
#include <utility>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/frame.h"
#include "capture/cpython/interrupts.h"
#include "capture/engine/atomic_capture.h"
#include "capture/engine/engine.h"
#include "capture/engine/other_engine.h"
#include "capture/no_tensors.h"
#include "capture/session/call_settings.h"
#include "capture/session/callee_notes.h"
#include "capture/session/stop_text.h"

namespace stator {
namespace {

Ref<> unicode(const std::string& text) {
  return Ref<>::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

const Domain* installed_domain = &no_tensors();  // or the torch layer's

int limit_of(const CompiledState& state) { return state.limit < 0 ? settings.recompile_limit : state.limit; }

void raise_not_whole(const CaptureStop& stop) { set_capture_error("break", not_whole_text(stop)); }

// Whether the program is in a region in which it wants breaks to be errors.
bool is_in_error_region() {
  PyObject* flag = settings.error_region != nullptr && settings.error_region != Py_None
                       ? PyDict_GetItemWithError(PyTuple_GET_ITEM(settings.error_region, 0),
                                                 PyTuple_GET_ITEM(settings.error_region, 1))
                       : nullptr;  // borrowed
  return flag == Py_True;
}

thread_local MissedCall current_miss;

// Tells the user's hooks what the captures of one function do.
class Hooks final : public CacheListener {
 public:
  // `call`: the one that is made, where there is one.
  explicit Hooks(const CompiledFunction& self, const Call* call = nullptr) : self_(self), call_(call) {}

  bool guard_raised() override {
    if (is_interrupted()) return false;
    const Ref<> error = take_error();
    PyObject* hook = settings.guard_error_hook;
    if (!is_set(hook)) return true;
    return static_cast<bool>(
        Ref<>::steal(PyObject_CallFunctionObjArgs(hook, self_.function, error.get(), nullptr)));
  }

  bool captures_again(const std::string& guard) override {
    const MissedCall outer = std::exchange(current_miss, {self_.function, call_});
    const bool goes_on = tell_miss(guard);
    current_miss = outer;
    return goes_on;
  }

  bool tell_miss(const std::string& guard) {
    if (settings.error_on_recompile || current_stance() == Stance::fail_on_recompile) {
      set_capture_error("recompile",
                        "stator: a second capture is needed, since this no longer holds: " + guard);
      return false;
    }
    for (PyObject* hook : {self_.on_miss, settings.miss_hook}) {
      if (!is_set(hook)) continue;
      const Ref<> text = unicode(guard);
      if (!text) return false;
      auto done = Ref<>::steal(hook == self_.on_miss
                                   ? PyObject_CallOneArg(hook, text.get())
                                   : PyObject_CallFunctionObjArgs(hook, self_.function, text.get(), nullptr));
      if (!done) return false;
    }
    return true;
  }

  bool reached_limit(const std::string& guard) override {
    const std::string message =
        "stator: " + std::to_string(limit_of(self_.state)) +
        " captures of one function; it runs without capture from now on. The guard that failed last: " +
        guard;
    if (is_set(settings.limit_hook)) {
      return static_cast<bool>(
          Ref<>::steal(PyObject_CallFunction(settings.limit_hook, "Os", self_.function, message.c_str())));
    }
    return PyErr_WarnEx(PyExc_RuntimeWarning, message.c_str(), 1) == 0;
  }

  bool captured(const Entry& entry) override {
    if (is_set(settings.capture_hook) && !told(settings.capture_hook, call_reports.entry(entry)))
      return false;
    if (entry.snapshot() && !stopped_by(settings.break_hook, self_.state.cache.breaks())) return false;
    if (self_.on_entry == Py_None) return true;
    auto guards = Ref<>::steal(call_reports.guards(entry.guards()));
    return guards && Ref<>::steal(PyObject_CallOneArg(self_.on_entry, guards.get()));
  }

  // A capture stopped; false with an error set.
  bool stopped(PyObject* hook) { return stopped_by(hook, self_.state.cache.stops()); }

 private:
  // By the last of these.
  bool stopped_by(PyObject* hook, const std::vector<CaptureStop>& stops) {
    if (!is_set(hook) || stops.empty()) return true;
    return told(hook, call_reports.stop(stops.back()));
  }

  // Steals `row`.
  bool told(PyObject* hook, PyObject* row) {
    const auto owned = Ref<>::steal(row);
    return owned && Ref<>::steal(PyObject_CallFunctionObjArgs(hook, self_.function, owned.get(), nullptr));
  }

  const CompiledFunction& self_;
  const Call* call_;
};

// Whether a debugger, tracer or profiler wants to see the function's own frames.
bool is_observed() { return cpython::tracing(PyThreadState_Get()); }

// Whether operators were captured, of the function or of those that it calls.
bool has_operators(const CompiledState& state) {
  const auto any = [](const CaptureCache& cache) {
    return std::any_of(cache.entries().begin(), cache.entries().end(),
                       [](const auto& serving) { return serving.entry->node_count() != 0; });
  };
  if (any(state.cache)) return true;
  return state.callees &&
         std::any_of(state.callees->codes().begin(), state.callees->codes().end(), [&](const auto& of) {
           const auto& segments = of.second->segments;
           return any(of.second->cache) || std::any_of(segments.begin(), segments.end(),
                                                       [&](const auto& each) { return any(each.second); });
         });
}

PyObject* call_natively(const CompiledFunction& self, PyObject* const* arguments, size_t flags,
                        PyObject* keywords) {
  CompiledState& state = self.state;
  const Stance stance = current_stance();
  const bool alone = (stance != Stance::normal && stance != Stance::eager_then_compile) || settings.disable ||
                     state.whole || state.skipped;
  if (alone || thread_context.recording != nullptr || thread_context.plain || is_observed())
    return PyObject_Vectorcall(self.function, arguments, flags, keywords);
  if (state.calls_until_notice > 0 && --state.calls_until_notice == 0 && is_set(settings.nothing_hook) &&
      !has_operators(state) && !Hooks(self).stopped(settings.nothing_hook))
    return nullptr;
  const CalleesScope scope(callees_of(self), true);
  return PyObject_Vectorcall(self.function, arguments, flags, keywords);
}

// After a program of a capture failed and left nothing behind.
PyObject* call_plainly(const CompiledFunction& self, PyObject* const* arguments, size_t flags,
                       PyObject* keywords, bool backend_raised) {
  if (is_interrupted()) return nullptr;
  const Ref<> error = take_error();
  const bool outer = std::exchange(thread_context.plain, true);
  PyObject* result = PyObject_Vectorcall(self.function, arguments, flags, keywords);
  thread_context.plain = outer;
  if (result == nullptr || !backend_raised) return result;
  // A handler of the function's own may have caught the same error; or the fault is the backend's alone.
  if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                       "stator: what the backend made of a graph raised %R; the function ran natively",
                       error.get()) == 0)
    return result;
  Py_DECREF(result);
  return nullptr;
}

// Calls a hook with (function, `given`, which it steals); nothing the callee's program would see.
void tell_of_callee(PyObject* hook, PyObject* function, PyObject* given) {
  const auto owned = Ref<>::steal(given);
  const auto told =
      Ref<>::steal(owned ? PyObject_CallFunctionObjArgs(hook, function, owned.get(), nullptr) : nullptr);
  if (!told && is_interrupted()) return drop_error();
  if (!told) PyErr_WriteUnraisable(function);
}

// A function that a compiled one calls broke.
void note_callee_break(PyObject* function, const CaptureStop& stop) {
  if (!is_set(settings.break_hook)) return;
  tell_of_callee(settings.break_hook, function, call_reports.stop(stop));
}

void note_callee_capture(PyObject* function, const Entry& entry) {
  if (is_set(settings.capture_hook))
    tell_of_callee(settings.capture_hook, function, call_reports.entry(entry));
}

void note_callee_miss(PyObject* function, const std::string& guard) {
  if (is_set(settings.miss_hook)) tell_of_callee(settings.miss_hook, function, unicode(guard).release());
}

}  // namespace

CallReports call_reports;

void install_domain(const Domain* domain) {
  installed_domain = domain;
  stop_policy = {&is_in_error_region, &raise_not_whole, &note_callee_break};
  callee_notes = {&note_callee_capture, &note_callee_miss};
  if (domain->library() == nullptr) return;
  keep_gil_in(domain->library());
  if (manage_evaluator_of(domain->library())) {
    set_other_engine(domain->other_engine());
    Engine::get().find_other_evaluator();
  }
}

CalleeCaptures* callees_of(const CompiledFunction& self) {
  CompiledState& state = self.state;
  if (!state.callees) {
    const CaptureOptions options{self.backend, self.guard_filter, &state.cache.varying};
    state.callees = std::make_unique<CalleeCaptures>(*installed_domain, options, limit_of(state), false);
  }
  return state.callees.get();
}

MissedCall missed_call() { return current_miss; }

PyObject* call_compiled(const CompiledFunction& self, PyObject* const* arguments, size_t flags,
                        PyObject* keywords) {
  CompiledState& state = self.state;
  const Stance stance = current_stance();
  if (stance == Stance::force_eager || settings.disable || thread_context.recording != nullptr)
    return call_natively(self, arguments, flags, keywords);
  if (is_set(settings.backend_hook)) [[unlikely]] {
    const auto other = Ref<>::steal(PyObject_CallOneArg(settings.backend_hook, self.object));
    if (!other) return nullptr;
    if (other.get() != self.object) return PyObject_Vectorcall(other.get(), arguments, flags, keywords);
  }
  const OtherEnginePause other_engine_off;
  if (state.cache.given_up() || is_observed()) return call_natively(self, arguments, flags, keywords);
  if (stance == Stance::eager_then_compile && !std::exchange(state.ran_once, true))
    return PyObject_Vectorcall(self.function, arguments, flags, keywords);
  if (stance == Stance::fail_on_recompile && state.cache.entries().empty()) {
    set_capture_error("recompile", "stator: a call is to be captured");
    return nullptr;
  }
  try {
    const Call call{arguments, PyVectorcall_NARGS(flags), keywords};
    CaptureOptions options{self.backend, self.guard_filter};
    options.whole = state.whole;
    options.may_end_early = !state.whole;
    Hooks hooks(self, &call);
    PyObject* result = nullptr;
    OpenEnd end;
    const auto answer = state.cache.call(*installed_domain, self.function, call, options, limit_of(state),
                                         stance != Stance::run_only, hooks, &result, end);
    switch (answer) {
      case CaptureCache::Answer::open: {
        const CalleesScope scope(callees_of(self), false);
        return callees_of(self)->go_on(PyThreadState_Get(), end);
      }
      case CaptureCache::Answer::served:
        return result;
      case CaptureCache::Answer::raised:
        return nullptr;
      case CaptureCache::Answer::undone:
      case CaptureCache::Answer::undone_by_backend:
        return call_plainly(self, arguments, flags, keywords,
                            answer == CaptureCache::Answer::undone_by_backend);
      case CaptureCache::Answer::stopped:
        if (!hooks.stopped(settings.break_hook)) return nullptr;
        if (state.whole || state.cache.stops().back().is_error) {
          raise_not_whole(state.cache.stops().back());
          return nullptr;
        }
        CalleeCaptures::note_break(state.cache.stops().back().place);
        [[fallthrough]];
      case CaptureCache::Answer::native:
        return call_natively(self, arguments, flags, keywords);
    }
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    installed_domain->raise_caught(error);
  }
  return nullptr;
}

}  // namespace stator
