// capture/recording/contents.h: what C code may see of an object that it is given.
#ifndef STATOR_CAPTURE_RECORDING_CONTENTS_H
#define STATOR_CAPTURE_RECORDING_CONTENTS_H

#include "capture/recording/recording.h"

namespace stator {

bool read_subscript(Recording& recording, PyObject* container, PyObject* key);
// What C code may see of an operand: its items, not what is inside of those.
bool read_contents(Recording& recording, PyObject* object);
// The same for code that compares, formats or hashes, and so looks into containers inside of containers.
bool read_deep(Recording& recording, PyObject* object);
// A special method of the object's type is about to be used.
bool read_behaviour(Recording& recording, PyObject* object);
void pin_items(Recording& recording, PyObject* tuple);
bool is_default_dict(PyObject* object);

}  // namespace stator

#endif
