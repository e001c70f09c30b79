// capture/recording/reads.h: reads of objects that existed before the capture, and the guards that make them
// valid. Those of a dictionary, list, class, cell or weak reference are in the file of that kind, under
// capture/objects/.
#ifndef STATOR_CAPTURE_RECORDING_READS_H
#define STATOR_CAPTURE_RECORDING_READS_H

#include "capture/recording/recording.h"

namespace stator {

// Its sizes, dtype and the like may be asked for: a guard on them is needed where it is no input.
void look_at(Recording& recording, PyObject* tensor);
// borrowed; nullptr, with an error set where there was one
PyObject* look_up(Recording& recording, PyObject* dict, PyObject* key);
[[nodiscard]] bool read_dict_item(Recording& recording, PyObject* dict, PyObject* key);
// Keys, order and values. `by_value`: what stands there was read already, so nothing may take its place.
[[nodiscard]] bool read_dict(Recording& recording, PyObject* dict, bool by_value = false);
[[nodiscard]] bool read_list(Recording& recording, PyObject* list);
[[nodiscard]] bool read_list_item(Recording& recording, PyObject* list, PyObject* index);
[[nodiscard]] bool read_type(Recording& recording, PyTypeObject* type);
[[nodiscard]] bool read_cell(Recording& recording, PyObject* cell, PyCodeObject* code, int index);
// The class of an object that is pinned; valid until the next guard is added.
ObjectGuard& guard_class(Recording& recording, PyObject* object);
// a weak one is called
[[nodiscard]] bool read_reference(Recording& recording, PyObject* reference);
// of an OrderedDict
[[nodiscard]] bool read_order(Recording& recording, PyObject* dict);
void read_field(Recording& recording, PyObject* owner, PyObject** field, const char* name);
// A member that C code declares on the class, as a field; borrowed, nullptr where there is none.
PyObject* read_member(Recording& recording, PyObject* owner, const char* name);
[[nodiscard]] bool read_object(Recording& recording, PyObject* object);
// Which dictionary of attributes a pinned object has, if any. False: an error is set.
[[nodiscard]] bool read_place_of_dict(Recording& recording, PyObject* object);
// An object that read_object found without a dictionary gets one: its first attribute is written, or the
// program asks for it. Names that were looked for before and not found are in no guard but this one, that it
// is empty.
[[nodiscard]] bool make_instance_dict(Recording& recording, PyObject* object);

}  // namespace stator

#endif
