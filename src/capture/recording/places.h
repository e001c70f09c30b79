// capture/recording/places.h: numbers and tensors that were replaced between calls, and are read from their
// place on each of them.  While the capture lasts, a symbol or a tracer stands in that place, so that whoever
// reads it sees it. The journal puts the value back.
#ifndef STATOR_CAPTURE_RECORDING_PLACES_H
#define STATOR_CAPTURE_RECORDING_PLACES_H

#include "capture/recording/recording.h"

namespace stator {

// Whether a value is read from its place on each call.
enum class Placed : uint8_t {
  yes,    // a symbol or a tracer stands there, now or already
  no,     // whoever reads it guards it like any other
  ended,  // the capture is stopped, or an error is set
};

[[nodiscard]] bool want_tuple_by_identity(Recording& recording, PyObject* stands);
[[nodiscard]] Placed see_place(Recording& recording, PyObject* container, PyObject* key, PyObject* value);

}  // namespace stator

#endif
