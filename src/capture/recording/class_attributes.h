// capture/recording/class_attributes.h: attributes of classes that a capture reads and writes.  A guard on a
// class covers all that it holds, so a read has none of its own. An attribute that is written, or that
// changes between calls, is set apart: guards on classes leave it out, and what was read of it is guarded as
// an item of the class's dictionary.
#ifndef STATOR_CAPTURE_RECORDING_CLASS_ATTRIBUTES_H
#define STATOR_CAPTURE_RECORDING_CLASS_ATTRIBUTES_H

#include "capture/recording/places.h"
#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool before_class_attribute_write(Recording& recording, PyTypeObject* type, PyObject* name,
                                                PyObject* value);
// A value that was found on a class or one of its bases.
void note_class_read(Recording& recording, PyObject* name, PyObject* value);
// `yes`: a symbol or tracer stands there, or what this run wrote; no guard on the class covers it.
[[nodiscard]] Placed stands_apart(Recording& recording, PyTypeObject* type, PyObject* name, PyObject* value);

}  // namespace stator

#endif
