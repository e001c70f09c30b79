// capture/engine/evaluators.h: the functions that stand in CPython's slot for evaluating frames, as the
// engine and the interpreter know them. hook/eval_hook.cpp defines them.
#ifndef STATOR_CAPTURE_ENGINE_EVALUATORS_H
#define STATOR_CAPTURE_ENGINE_EVALUATORS_H

#include "capture/cpython/frame.h"

namespace stator {

// For frames that a thread wants; those of threads that want none are passed on after one load and compare.
extern "C" PyObject* eval_hook(PyThreadState* thread, StatorFrame* frame, int throwflag);
// While every frame of the process is wanted.
extern "C" PyObject* eval_hook_for_everything(PyThreadState* thread, StatorFrame* frame, int throwflag);

// CPython's own evaluator; without the hook while a tool wants events of the frame and would see others under
// a hook.
PyObject* evaluate_for_tools(PyThreadState* thread, StatorFrame* frame, int throwflag);

inline bool is_own_hook(StatorEvaluator evaluator) {
  return evaluator == &eval_hook || evaluator == &eval_hook_for_everything;
}

}  // namespace stator

#endif
