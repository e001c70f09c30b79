// capture/engine/engine.cpp: installing the hook, and the state that hangs on code objects.
#include "capture/engine/engine.h"

#include <dlfcn.h>

#include <new>
#include <string>

#include "capture/cpython/code_extra.h"
#include "capture/cpython/traits.h"
#include "capture/engine/evaluators.h"
#include "capture/engine/other_engine.h"

namespace stator {

constinit thread_local ThreadContext thread_context;

Engine& Engine::get() {
  static Engine engine;
  return engine;
}

// CPython calls this for every code object that has any library's data, also where ours is NULL.
static void free_code_state(void* state) { delete static_cast<CodeState*>(state); }

bool Engine::start() {
  interpreter_ = PyInterpreterState_Get();
  extra_index_ = cpython::request_code_extra(&free_code_state);
  if (extra_index_ < 0) {
    PyErr_SetString(PyExc_ImportError,
                    "stator: CPython has no room left for per-code data of another library");
    return false;
  }
  return true;
}

CodeState* Engine::code_state(PyCodeObject* code) {
  void* state = cpython::get_code_extra(code, extra_index_);
  if (state != nullptr) return static_cast<CodeState*>(state);
  auto* fresh = new (std::nothrow) CodeState;
  if (fresh == nullptr) return nullptr;
  if (!cpython::set_code_extra(code, extra_index_, fresh)) {
    delete fresh;
    return nullptr;
  }
  return fresh;
}

void Engine::acquire_hook() {
  users_++;
  resume_hook();
}

void Engine::release_hook() {
  if (--users_ == 0) {
    suspend_hook();
  } else {
    resume_hook();  // those who are left may want the other one
  }
}

bool Engine::hook_installed() const { return buried_ || is_own_hook(*stator_evaluator_slot(interpreter_)); }

// Only our own hook is taken out: another library may have put its evaluator on top of ours and chain to it.
void Engine::suspend_hook() {
  if (!is_own_hook(*stator_evaluator_slot(interpreter_))) return;
  stator_set_evaluator(interpreter_, other_evaluator);
  placed_ = false;
}

// An evaluator of a library that was not managed so far stands in the slot. If it came while ours was there,
// it passes frames on to ours: putting ours above it would make a circle.
void Engine::meet_other_evaluator(StatorEvaluator found) {
  Dl_info library;
  if (dladdr(reinterpret_cast<void*>(found), &library) != 0 && library.dli_fname != nullptr) {
    const std::string path = library.dli_fname;
    manage_evaluator_of(path.substr(path.rfind('/') + 1).c_str());
  }
  buried_ = placed_;
  if (!buried_) other_evaluator = found;
}

void Engine::find_other_evaluator() {
  const StatorEvaluator found = stator_get_evaluator(interpreter_);
  if (found != nullptr && !is_own_hook(found)) meet_other_evaluator(found);
}

StatorEvaluator Engine::other_evaluator_now() const {
  const StatorEvaluator found = stator_get_evaluator(interpreter_);
  return is_own_hook(found) ? other_evaluator : found;
}

void Engine::set_other_evaluator(StatorEvaluator evaluator) {
  buried_ = false;
  const bool ours = is_own_hook(*stator_evaluator_slot(interpreter_));
  other_evaluator = evaluator;
  if (!ours) {
    stator_set_evaluator(interpreter_, evaluator);
    placed_ = false;
    resume_hook();  // ours lay below
  }
}

void Engine::resume_hook() {
  if (users_ == 0) return;
  const StatorEvaluator hook =
      everything_ || captured_everything_ != nullptr ? &eval_hook_for_everything : &eval_hook;
  if (buried_) {
    const StatorEvaluator above = stator_get_evaluator(interpreter_);
    if (above != nullptr && !is_own_hook(above)) return;
    buried_ = false;  // it went, with ours or without
  }
  if (hook_installed()) {
    if (*stator_evaluator_slot(interpreter_) != hook) stator_set_evaluator(interpreter_, hook);
    return;
  }
  // The activation that sees the tool gone puts it back.
  if (cpython::kToolsSeeHook && cpython::tracing(PyThreadState_Get())) return;
  const StatorEvaluator found = stator_get_evaluator(interpreter_);
  if (found != other_evaluator) {
    other_evaluator = nullptr;
    if (found != nullptr) meet_other_evaluator(found);
    if (buried_) return;
  }
  // Interpreting everything is nobody's wish for one function: a hook of another library keeps its place.
  if (everything_ && other_evaluator != nullptr) return;
  stator_set_evaluator(interpreter_, hook);
  placed_ = true;
}

void Engine::capture_everything(CalleeCaptures* captures) {
  const bool before = captured_everything_ != nullptr, after = captures != nullptr;
  captured_everything_ = captures;
  if (after && !before) {
    acquire_hook();
  } else if (before && !after) {
    release_hook();
  } else {
    resume_hook();
  }
}

void Engine::interpret_everything(bool on) {
  if (on == everything_) {
    resume_hook();
    return;
  }
  everything_ = on;
  if (on) {
    acquire_hook();
  } else {
    release_hook();
  }
}

}  // namespace stator
