// capture/recording/random_numbers.h: generators of random numbers outside of torch: Python's and NumPy's.
#ifndef STATOR_CAPTURE_RECORDING_RANDOM_NUMBERS_H
#define STATOR_CAPTURE_RECORDING_RANDOM_NUMBERS_H

#include <string_view>
#include <vector>

#include "capture/cpython/python.h"

namespace stator {

struct Recording;

// Whether a call of this class makes a generator of Python's that gives the same numbers each time.
bool is_seeded_generator(PyTypeObject* type, PyObject* const* arguments, Py_ssize_t count);
// Whether a callable is a method of one of NumPy's generators.
bool draws_random_numbers(PyObject* callable);

[[nodiscard]] bool before_draw(Recording& recording, PyObject* method, std::string_view name,
                               const std::vector<PyObject*>& arguments);

}  // namespace stator

#endif
