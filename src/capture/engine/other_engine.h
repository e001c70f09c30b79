// capture/engine/other_engine.h: a second library that evaluates frames (TorchDynamo) in the same process.
//
// CPython has one slot for an evaluator, and such libraries stack theirs by remembering what was there. Two
// that come and go in any order, in several threads, would bury or lose one another, or end up calling each
// other forever. Therefore the functions through which the other library reads and writes the slot are
// replaced by ours (see imported_function.h): it never sees our hook, and the slot holds ours above the
// other one's, or one of them, or none.
//
// Which of both gets a frame: the engine that was entered last in the thread. A compiled function of ours
// switches the other engine off for its call (OtherEnginePause); while the other one is switched on, its
// frames and all that it runs below them are passed on to it.
#ifndef STATOR_CAPTURE_ENGINE_OTHER_ENGINE_H
#define STATOR_CAPTURE_ENGINE_OTHER_ENGINE_H

#include "capture/cpython/frame.h"
#include "capture/engine/engine.h"
#include "capture/engine/engine_switch.h"

namespace stator {

// The other library's evaluator, to which frames are passed on; nullptr if it has none installed.
extern StatorEvaluator other_evaluator;

// From now on the library whose file name begins so installs its evaluator through ours. False where it is
// not loaded or installs none.
bool manage_evaluator_of(const char* library);
void set_other_engine(const EngineSwitch* engine);

namespace detail {
bool other_engine_is_on();
}

// Whether frames that start in this thread belong to the other engine.
inline bool other_engine_takes_frames() {
  return other_evaluator != nullptr && (thread_context.in_other_engine || detail::other_engine_is_on());
}

// The other engine is off in this thread while this lives: a compiled function of ours was called.
class OtherEnginePause {
 public:
  OtherEnginePause() {
    if (other_evaluator != nullptr) [[unlikely]]
      begin();
  }
  ~OtherEnginePause() {
    if (began_) [[unlikely]]
      end();
  }
  OtherEnginePause(const OtherEnginePause&) = delete;
  OtherEnginePause& operator=(const OtherEnginePause&) = delete;

 private:
  void begin();
  void end();

  PyObject* state_ = nullptr;
  bool began_ = false;
  bool inside_ = false;
};

}  // namespace stator

#endif
