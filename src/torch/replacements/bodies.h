// src/torch/replacements/bodies.h: functions that an operator takes (torch.cond): the code of each is
// recorded between two marks, and torch.fx gets it as a graph inside of the graph (stator/runtime/bodies.py).
#pragma once

#include <Python.h>

namespace stator {

class Session;

// Called once, when the module is initialised.
void prepare_bodies();

// The C functions by which bodies begin and end, and their operator is recorded.
bool is_body_call(PyObject* callable);
// Whether this call begins or ends a body that lies in no other one.
bool marks_outermost_body(PyObject* callable);

// Python functions of torch's around such operators (torch.while_loop, flex_attention) that check arguments
// and then call the operator. They are captured like the program's code, and told that they are compiled.
bool is_followed_wrapper(PyCodeObject* code);

// Whether a body has begun and not ended.
bool has_open_body(const Session& session);

}  // namespace stator
