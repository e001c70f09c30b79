// src/torch/tracing/data_parallel.cpp: DistributedDataParallel, which exchanges gradients while a backward
// runs.
#include "torch/tracing/data_parallel.h"

#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"

namespace stator {

Ref<> active_data_parallel() {
  if (!PyGILState_Check()) return {};  // operators are traced outside of any program
  PyObject* const module = PyDict_GetItemString(PyImport_GetModuleDict(), "torch.nn.parallel.distributed");
  if (module == nullptr) return {};
  const ErrorScope outer;
  const auto type = Ref<>::steal(PyObject_GetAttrString(module, "DistributedDataParallel"));
  Ref<> active = type ? Ref<>::steal(PyObject_GetAttrString(type.get(), "_active_ddp_module")) : Ref<>();
  drop_error();
  return active && active.get() != Py_None ? std::move(active) : Ref<>();
}

}  // namespace stator
