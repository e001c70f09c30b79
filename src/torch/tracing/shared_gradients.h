// torch/tracing/shared_gradients.h: gradients of one backward that lie on the same memory.
#pragma once

#include <Python.h>

#include "capture/cpython/ref.h"

namespace stator {

// What a backward written in Python returns. Torch keeps a gradient that nobody else refers to as it is, and
// adds the next one in place: two views of one memory would then be added to twice, where eager code had one
// tensor with two references, and copied it. Gradients that overlap an earlier one of the tuple are copied;
// the tuple itself where none does. Null: an error is set.
Ref<> without_shared_memory(PyObject* gradients);

}  // namespace stator
