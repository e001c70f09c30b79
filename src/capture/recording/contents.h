// capture/recording/contents.h: what C code may see of an object that it is given.
#ifndef STATOR_CAPTURE_RECORDING_CONTENTS_H
#define STATOR_CAPTURE_RECORDING_CONTENTS_H

#include "capture/policy/native_row.h"
#include "capture/recording/recording.h"

namespace stator {

// As deep as a row says.
[[nodiscard]] bool read_argument(Recording& recording, PyObject* object, Sight sight);
// Which items it has, and its class; not what is inside of its items.
[[nodiscard]] bool read_contents(Recording& recording, PyObject* object);
// Which items it holds: they are passed on, and looked at where they are used.
[[nodiscard]] bool read_moved(Recording& recording, PyObject* object);
// Everything that C code may reach from it: for code that compares, formats, hashes or converts. Linear in
// what is reached, and what was walked through is not walked through again until it is written to.
[[nodiscard]] bool read_deep(Recording& recording, PyObject* object);
// What an iterator made here reads when it is advanced. `looks` becomes true where it looks at values that
// Python code gives it, and does not only pass them on.
[[nodiscard]] bool read_iterator(Recording& recording, PyObject* iterator, bool& looks);
// container[key], read or asked for by `in`.
[[nodiscard]] bool read_subscript(Recording& recording, PyObject* container, PyObject* key);
// What a tensor is indexed with.
[[nodiscard]] bool read_index(Recording& recording, PyObject* key);
// A special method of the object's type is about to be used.
[[nodiscard]] bool read_behaviour(Recording& recording, PyObject* object);
// Fields that a class in C lets the program assign to (the factory of a defaultdict, the errno of an
// OSError): C code reads them without a lookup.
[[nodiscard]] bool read_fields_of_c(Recording& recording, PyObject* object);
// False: stopped, or an error is set.
[[nodiscard]] bool pin_items(Recording& recording, PyObject* tuple);

bool is_default_dict(PyObject* object);
bool is_deque(PyObject* object);
// A view of a mapping, which shows it as it is now.
bool is_view(PyObject* object);
// What `vars(SomeClass)` gave: the guard on the class covers it.
bool shows_class(const Recording& recording, PyObject* view);
bool is_partial(PyObject* object);

}  // namespace stator

#endif
