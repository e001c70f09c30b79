// capture/recording/indirect_calls.h: calls of C objects that lead to other calls: partial, lru_cache,
// itemgetter and the like; and what C code reads in one go: a reduced object, a matched class.
#ifndef STATOR_CAPTURE_RECORDING_INDIRECT_CALLS_H
#define STATOR_CAPTURE_RECORDING_INDIRECT_CALLS_H

#include "capture/recording/recording.h"

namespace stator {

bool before_number_function(Recording& recording, PyObject* function, PyObject* const* arguments,
                            Py_ssize_t count);
bool read_registry(Recording& recording);
bool read_setting(Recording& recording, PyObject* function);
bool read_reduced(Recording& recording, PyObject* object);
bool before_subscript(Recording& recording, PyObject* container, PyObject* key);
bool before_partial(Recording& recording, PyObject* partial, PyObject* const* arguments, Py_ssize_t count);
bool before_cached_call(Recording& recording, PyObject* cache, PyObject* const* arguments, Py_ssize_t count);
bool before_getter(Recording& recording, PyObject* getter, PyObject* const* arguments, Py_ssize_t count);
bool before_match(Recording& recording, PyObject* subject, PyObject* type, PyObject* names, int count);
bool note_cached_result(Recording& recording, PyObject* result);

}  // namespace stator

#endif
