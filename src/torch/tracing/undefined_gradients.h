// torch/tracing/undefined_gradients.h: which gradients of a node written in Python are undefined.
//
// Before such a node's backward is called, torch puts zeros in the place of gradients that do not come, so
// the backward cannot tell them from zeros that came.
#ifndef STATOR_TORCH_TRACING_UNDEFINED_GRADIENTS_H
#define STATOR_TORCH_TRACING_UNDEFINED_GRADIENTS_H

#include <Python.h>

#include <cstddef>
#include <vector>

namespace stator {

// `context`: the `ctx` of a torch.autograd.Function, while its forward runs. False: it is none.
bool watch_gradients(PyObject* context);
// In its backward: the places of the gradients that are undefined.
std::vector<size_t> undefined_gradients(PyObject* context);

}  // namespace stator

#endif
