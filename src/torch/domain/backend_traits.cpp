// src/torch/domain/backend_traits.cpp: reads what a backend said when it was registered.
#include "torch/domain/backend_traits.h"

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/ref.h"

namespace stator {

static bool says(PyObject* traits, const char* name) {
  const auto answer = Ref<>::steal(PyObject_GetAttrString(traits, name));
  if (!answer) drop_error();
  return answer.get() == Py_True;
}

BackendTraits BackendTraits::of(PyObject* backend) {
  const bool is_engines_own = backend == Py_None || PyUnicode_Check(backend);
  if (is_engines_own) {
    const auto is = [&](const char* name) { return PyUnicode_CompareWithASCIIString(backend, name) == 0; };
    const bool calls_operators = backend == Py_None || is("native") || is("empty");
    return {.runs_python = true,
            .changes_tensors = true,
            .takes_wrappers = calls_operators,
            .reads_integers = backend == Py_None || is("native"),
            .reads_values = true};
  }
  const Ref<> ask = module_attribute("stator.backends.traits", "takes_reads");
  const auto reads = Ref<>::steal(ask ? PyObject_CallOneArg(ask.get(), backend) : nullptr);
  if (!reads) drop_error();
  const bool reads_values = reads.get() == Py_True;
  const auto traits = Ref<>::steal(PyObject_GetAttrString(backend, "stator_traits"));
  if (!traits) {
    drop_error();
    return {.takes_wrappers = true, .reads_values = reads_values};
  }
  return {says(traits.get(), "runs_python"), says(traits.get(), "changes_tensors"),
          says(traits.get(), "takes_wrappers"), false, reads_values};
}

}  // namespace stator
