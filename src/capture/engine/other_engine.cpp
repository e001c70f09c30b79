// capture/engine/other_engine.cpp: what the other library calls to install its evaluator, and switching it
// off.
#include "capture/engine/other_engine.h"

#include <utility>

#include "capture/engine/evaluators.h"
#include "capture/engine/imported_function.h"

namespace stator {

StatorEvaluator other_evaluator = nullptr;

namespace {

const EngineSwitch* other_engine = nullptr;

StatorEvaluator get_evaluator(PyInterpreterState* interpreter) {
  const StatorEvaluator own = stator_default_evaluator();
  if (!Engine::get().belongs_to(interpreter)) {
    const StatorEvaluator found = stator_get_evaluator(interpreter);
    return found != nullptr ? found : own;
  }
  const StatorEvaluator other = Engine::get().other_evaluator_now();
  return other != nullptr ? other : own;
}

void set_evaluator(PyInterpreterState* interpreter, StatorEvaluator evaluator) {
  const bool is_default = evaluator == stator_default_evaluator();
  if (!Engine::get().belongs_to(interpreter)) {
    stator_set_evaluator(interpreter, is_default ? nullptr : evaluator);
    return;
  }
  // It may have remembered our hook before its calls came here.
  Engine::get().set_other_evaluator(is_default || is_own_hook(evaluator) ? nullptr : evaluator);
}

}  // namespace

bool manage_evaluator_of(const char* library) {
  return replace_imported_function(library, "_PyInterpreterState_GetEvalFrameFunc",
                                   reinterpret_cast<void*>(&get_evaluator)) &&
         replace_imported_function(library, "_PyInterpreterState_SetEvalFrameFunc",
                                   reinterpret_cast<void*>(&set_evaluator));
}

void set_other_engine(const EngineSwitch* engine) { other_engine = engine; }

bool detail::other_engine_is_on() { return other_engine != nullptr && other_engine->is_on(); }

void OtherEnginePause::begin() {
  began_ = true;
  inside_ = std::exchange(thread_context.in_other_engine, false);
  if (other_engine != nullptr) state_ = other_engine->switch_off();
}

void OtherEnginePause::end() {
  thread_context.in_other_engine = inside_;
  if (state_ != nullptr) other_engine->switch_on(state_);
}

}  // namespace stator
