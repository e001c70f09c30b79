// capture/recording/sources.h: how an object was reached, as the steps that lead to it.
#ifndef STATOR_CAPTURE_RECORDING_SOURCES_H
#define STATOR_CAPTURE_RECORDING_SOURCES_H

#include "capture/recording/recording.h"

namespace stator {

// A longer text is cut.
constexpr size_t kLongestSource = 2000;

std::string source(Recording& recording, PyObject* object);
// Says of every guard how its object was reached.
void name_guards(Recording& recording);

}  // namespace stator

#endif
