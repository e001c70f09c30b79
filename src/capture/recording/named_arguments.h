// capture/recording/named_arguments.h: which arguments of the call that is looked at are given by name.
#ifndef STATOR_CAPTURE_RECORDING_NAMED_ARGUMENTS_H
#define STATOR_CAPTURE_RECORDING_NAMED_ARGUMENTS_H

#include <vector>

#include "capture/cpython/python.h"

namespace stator {

struct Recording;

// So many of them, the last ones.
size_t named_arguments(const Recording& recording, const std::vector<PyObject*>& all);

}  // namespace stator

#endif
