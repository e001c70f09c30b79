// src/torch/guards/swap_notices.cpp: torch's function, wrapped.
#include "torch/guards/swap_notices.h"

#include "capture/cpython/interrupts.h"
#include "torch/tracing/imported_module.h"

namespace stator {

uint64_t SwapNotices::count_ = 0;

// torch's own definition of the function; it is written to once, and stays so until the process ends.
struct SwapNotices::Wrapped {
  static inline PyCFunction swap = nullptr;
  bool told = false;

  Wrapped() {
    const Ref<> module = module_of("torch._C");
    const auto function =
        Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "_swap_tensor_impl") : nullptr);
    if (!function) drop_error();
    if (!function || !PyCFunction_CheckExact(function.get())) return;
    PyMethodDef* const definition = reinterpret_cast<PyCFunctionObject*>(function.get())->m_ml;
    if (definition->ml_flags != METH_VARARGS) return;
    swap = definition->ml_meth;
    definition->ml_meth = &count_swap;
    told = true;
  }

  static PyObject* count_swap(PyObject* self, PyObject* arguments) {
    count_++;
    return swap(self, arguments);
  }
};

bool SwapNotices::told() {
  static const Wrapped wrapped;
  return wrapped.told;
}

}  // namespace stator
