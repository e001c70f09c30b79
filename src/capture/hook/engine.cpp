// capture/hook/engine.cpp: installing the hook, and the state that hangs on code objects.
#include "capture/hook/engine.h"

#include <new>

#include "capture/cpython/code_extra.h"
#include "capture/cpython/traits.h"
#include "capture/hook/eval_hook.h"

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

bool Engine::hook_installed() const { return is_own_hook(*stator_evaluator_slot(interpreter_)); }

// Only our own hook is taken out: another library may have put its hook on top of ours and chains to it.
void Engine::suspend_hook() {
  if (hook_installed()) stator_set_evaluator(interpreter_, chained_evaluator);
}

void Engine::resume_hook() {
  if (users_ == 0) return;
  const StatorEvaluator hook =
      everything_ || captured_everything_ != nullptr ? &eval_hook_for_everything : &eval_hook;
  if (hook_installed()) {
    if (*stator_evaluator_slot(interpreter_) != hook) stator_set_evaluator(interpreter_, hook);
    return;
  }
  // The activation that sees the tool gone puts it back.
  if (cpython::kToolsSeeHook && cpython::tracing(PyThreadState_Get())) return;
  chained_evaluator = stator_get_evaluator(interpreter_);
  // Interpreting everything is nobody's wish for one function: a hook of another library keeps its place.
  if (everything_ && chained_evaluator != nullptr) return;
  stator_set_evaluator(interpreter_, hook);
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
