// capture/recording/argument_reads.h: the one way to what the arguments hold: each read is noted, as far as
// it goes.
#ifndef STATOR_CAPTURE_RECORDING_ARGUMENT_READS_H
#define STATOR_CAPTURE_RECORDING_ARGUMENT_READS_H

#include "capture/recording/recording.h"

namespace stator {

// The part of the arguments that this container, instance or function stands for; nullptr: none.
Argument* find_argument(const Recording& recording, PyObject* object);
// The same for what nobody has read.
Argument* find_unread(PyObject* object);

// A set of the arguments, of which single members can be asked for.
bool is_argument_set(const Recording& recording, PyObject* object);

// Makes what stands for the part, if nothing does yet: its type is known from then on, and the value of a
// constant or what a tensor looks like. False: stopped, or an error is set.
[[nodiscard]] bool stand_for(Recording& recording, Argument& argument);
// A root of the arguments.
Argument& add_argument(Recording& recording, PyObject* value, std::string name);

// All of it, and every part is read.
[[nodiscard]] bool read_argument_whole(Recording& recording, Argument& argument);
// All keys or as many items as there are, which may stay unread.
[[nodiscard]] bool reach_argument_items(Recording& recording, Argument& argument);
[[nodiscard]] bool read_argument_length(Recording& recording, Argument& argument);
[[nodiscard]] bool read_argument_truth(Recording& recording, Argument& argument);
// An item of a list or tuple; what raises, or any other key, reads the length or everything.
[[nodiscard]] bool read_argument_item(Recording& recording, Argument& argument, PyObject* index);
// That an item stands there, counted from the front; it stays unread.
[[nodiscard]] bool reach_argument_item(Recording& recording, Argument& argument, Py_ssize_t at);
// An item of a dictionary, or that there is none.
[[nodiscard]] bool read_argument_key(Recording& recording, Argument& argument, PyObject* key);
[[nodiscard]] bool read_argument_member(Recording& recording, Argument& argument, PyObject* item);

}  // namespace stator

#endif
