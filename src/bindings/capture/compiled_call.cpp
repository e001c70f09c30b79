// bindings/capture/compiled_call.cpp: calls of compiled functions, as Python makes them, and what their hooks
// are given.
#include "bindings/capture/compiled.h"
#include "bindings/capture/report.h"

namespace stator {

CompiledFunction as_function(PyObject* object) {
  auto* self = reinterpret_cast<Compiled*>(object);
  return {object,        self->function,     self->backend, self->on_entry,
          self->on_miss, self->guard_filter, *self->state};
}

PyObject* vectorcall_compiled(PyObject* object, PyObject* const* arguments, size_t flags,
                              PyObject* keywords) {
  return call_compiled(as_function(object), arguments, flags, keywords);
}

PyObject* missed_arguments(PyObject*, PyObject*) {
  const auto [function, call] = missed_call();
  if (call == nullptr) Py_RETURN_NONE;
  const auto positional = Ref<>::steal(PyTuple_New(call->positional));
  const auto named = Ref<>::steal(PyDict_New());
  if (!positional || !named) return nullptr;
  for (Py_ssize_t i = 0; i < call->positional; i++)
    PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(call->arguments[i]));
  for (Py_ssize_t i = call->positional; i < call->total(); i++) {
    PyObject* const name = PyTuple_GET_ITEM(call->keywords, i - call->positional);
    if (PyDict_SetItem(named.get(), name, call->arguments[i]) < 0) return nullptr;
  }
  return PyTuple_Pack(3, function, positional.get(), named.get());
}

void add_call_reports() {
  call_reports.entry = [](const Entry& entry) { return entry_row(entry); };
  call_reports.stop = [](const CaptureStop& stop) -> PyObject* {
    const auto rows = Ref<>::steal(stop_rows({stop}));
    return rows ? Py_NewRef(PyList_GET_ITEM(rows.get(), 0)) : nullptr;
  };
  call_reports.guards = &strings;
}

}  // namespace stator
