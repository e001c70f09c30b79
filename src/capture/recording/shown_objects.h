// capture/recording/shown_objects.h: objects that are put into words.
#ifndef STATOR_CAPTURE_RECORDING_SHOWN_OBJECTS_H
#define STATOR_CAPTURE_RECORDING_SHOWN_OBJECTS_H

#include "capture/recording/contents.h"
#include "capture/recording/recording.h"

namespace stator {

// An object made here, or a copy that stands for an argument, lies elsewhere in each run: its address may
// not be put into words. `as_text`: by str() or format(), not by repr().
[[nodiscard]] bool before_showing(Recording& recording, PyObject* object, bool as_text);

[[nodiscard]] inline bool before_formatting(Recording& recording, PyObject* object, bool as_text) {
  return before_showing(recording, object, as_text) && read_deep(recording, object);
}

[[nodiscard]] inline bool before_text(Recording& recording, PyObject* object) {
  return before_formatting(recording, object, true);
}
// Either way.
[[nodiscard]] inline bool before_words(Recording& recording, PyObject* object) {
  return before_formatting(recording, object, false);
}

}  // namespace stator

#endif
