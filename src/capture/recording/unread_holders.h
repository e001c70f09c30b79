// capture/recording/unread_holders.h: unread values on the stack, and tuples, lists and dictionaries of the
// run that hold some: `*args`, `**kwargs`, what is built to be passed on or returned.
#ifndef STATOR_CAPTURE_RECORDING_UNREAD_HOLDERS_H
#define STATOR_CAPTURE_RECORDING_UNREAD_HOLDERS_H

#include "capture/recording/recording.h"

namespace stator {

// Each of these: false: stopped, or an error is set.
// An unread value in this place is read.
[[nodiscard]] bool read_at(Recording& recording, PyObject*& place);
// The value and, where it holds unread values, all of them.
[[nodiscard]] bool read_fully(Recording& recording, PyObject*& place);
// It is hashed: a tuple with all that it holds.
[[nodiscard]] bool read_key(Recording& recording, PyObject*& place);
// All that it holds is read.
[[nodiscard]] bool read_holder(Recording& recording, PyObject* holder);

bool is_holder(const Recording& recording, PyObject* object);
void add_holder(Recording& recording, PyObject* object);
// A list or dictionary keeps an unread value, or one that holds some, like any other.
void keep_unread(Recording& recording, PyObject* container, PyObject* value);
// A frame begins: its `*args` and `**kwargs` may hold unread values.
void note_bound_holders(Recording& recording, cpython::Frame* frame);

}  // namespace stator

#endif
