// capture/recording/marked_calls.h: calls of callables that the user has marked.
#ifndef STATOR_CAPTURE_RECORDING_MARKED_CALLS_H
#define STATOR_CAPTURE_RECORDING_MARKED_CALLS_H

#include "capture/recording/recording.h"

namespace stator {

// A call of a function whose result the user wants kept as a constant: made outside of the capture.
PyObject* constant_result(Recording& recording, PyObject* function, PyObject* const* arguments, size_t flags,
                          PyObject* keywords);
// A call that becomes one node of the graph.
PyObject* opaque_result(Recording& recording, PyObject* function, PyObject* const* arguments, size_t flags,
                        PyObject* keywords);
[[nodiscard]] bool before_marked_call(Recording& recording, const struct Marked& marked, PyObject* callable,
                                      PyObject* const* arguments, Py_ssize_t count);
// Whether a function that was marked as skipped in place, `graph_break` say, is called by code of the domain
// itself. It has reasons that hold for the domain's own engine: optimizers do that. Such a call does nothing.
bool is_domains_own_break(const Recording& recording);
// Returns nullopt for a `__call__` that carries no mark.
std::optional<bool> before_marked_method(Recording& recording, PyObject* method, PyObject* self,
                                         PyObject* const* arguments, Py_ssize_t count);

}  // namespace stator

#endif
