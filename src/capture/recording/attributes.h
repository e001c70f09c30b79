// capture/recording/attributes.h: attribute lookups, each step of which is guarded.
#ifndef STATOR_CAPTURE_RECORDING_ATTRIBUTES_H
#define STATOR_CAPTURE_RECORDING_ATTRIBUTES_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool read_attribute(Recording& recording, PyObject* owner, PyObject* name);
[[nodiscard]] bool read_instance_attribute(Recording& recording, PyObject* owner, PyObject* name);
// `owner` is nullptr where the attribute of a class is asked for.
[[nodiscard]] bool read_attribute_behind(Recording& recording, PyObject* after, PyTypeObject* type,
                                         PyObject* owner, PyObject* name);
[[nodiscard]] bool pin_class_attribute(Recording& recording, PyTypeObject* type, PyObject* value,
                                       PyObject* name);
// Another class may be assigned to the object: guards which one it has.
void read_class_of(Recording& recording, PyObject* object);
// What a class is called, in its words or those of its instances.
[[nodiscard]] bool read_class_names(Recording& recording, PyTypeObject* type);
[[nodiscard]] bool read_setter(Recording& recording, PyObject* owner, PyObject* name);

}  // namespace stator

#endif
