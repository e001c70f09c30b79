// src/torch/domain/backend_traits.h: what a backend can do with a captured graph, as it said when it was
// registered (stator/backends/traits.py).
#pragma once

#include <torch/csrc/python_headers.h>

namespace stator {

struct BackendTraits {
  bool runs_python = false;      // each node runs in its place in every run, those of Python code included
  bool changes_tensors = false;  // nodes that change what a tensor is are run in order
  bool takes_wrappers = false;   // operators on tensors of classes with a __torch_dispatch__ are nodes
  bool reads_integers = false;   // ints that are read off tensors are symbols that get their values in a run
  bool reads_values = false;     // a graph may end with operators whose result depends on values

  // None, and the name of a program of the engine's own (Traits.engine), stand for backends without limits.
  static BackendTraits of(PyObject* backend);
};

}  // namespace stator
