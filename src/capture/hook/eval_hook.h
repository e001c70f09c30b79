// capture/hook/eval_hook.h: the function that CPython calls for every Python frame while it is installed.
#ifndef STATOR_CAPTURE_HOOK_EVAL_HOOK_H
#define STATOR_CAPTURE_HOOK_EVAL_HOOK_H

#include "capture/cpython/frame.h"

namespace stator {

// The evaluator that was there before ours; nullptr for CPython's own.
extern StatorEvaluator chained_evaluator;

// CPython's own evaluator; without the hook while a tool wants events of the frame and would see others under
// a hook.
PyObject* evaluate_for_tools(PyThreadState* thread, StatorFrame* frame, int throwflag);

extern "C" PyObject* eval_hook(PyThreadState* thread, StatorFrame* frame, int throwflag);

}  // namespace stator

#endif
