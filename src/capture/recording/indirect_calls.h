// capture/recording/indirect_calls.h: calls of C objects that lead to other calls: partial, lru_cache,
// itemgetter and the like; and what C code reads in one go: a reduced object, a matched class.
#ifndef STATOR_CAPTURE_RECORDING_INDIRECT_CALLS_H
#define STATOR_CAPTURE_RECORDING_INDIRECT_CALLS_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool before_number_function(Recording& recording, PyObject* function,
                                          PyObject* const* arguments, Py_ssize_t count);
[[nodiscard]] bool read_registry(Recording& recording);
[[nodiscard]] bool read_setting(Recording& recording, PyObject* function);
[[nodiscard]] bool read_reduced(Recording& recording, PyObject* object);
[[nodiscard]] bool before_subscript(Recording& recording, PyObject* container, PyObject* key);
[[nodiscard]] bool before_partial(Recording& recording, PyObject* partial, PyObject* const* arguments,
                                  Py_ssize_t count);
[[nodiscard]] bool before_cached_call(Recording& recording, PyObject* cache, PyObject* const* arguments,
                                      Py_ssize_t count);
[[nodiscard]] bool before_getter(Recording& recording, PyObject* getter, PyObject* const* arguments,
                                 Py_ssize_t count);
[[nodiscard]] bool before_match(Recording& recording, PyObject* subject, PyObject* type, PyObject* names,
                                int count);
[[nodiscard]] bool note_cached_result(Recording& recording, PyObject* result);

}  // namespace stator

#endif
