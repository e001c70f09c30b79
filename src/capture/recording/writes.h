// capture/recording/writes.h: which writes to objects that existed before can be captured, and what they rely
// on.  A write that can be undone and made again is journaled; any other one ends the capture. A write by
// itself reads nothing: `items.append(x)` does not depend on what the list holds, so it is served however
// long the list is. What is particular to a kind of object is in its file under capture/objects/.
#ifndef STATOR_CAPTURE_RECORDING_WRITES_H
#define STATOR_CAPTURE_RECORDING_WRITES_H

#include "capture/recording/object_kind.h"
#include "capture/recording/recording.h"

namespace stator {

// Who makes the write on later calls.
enum class SlotWrite : uint8_t {
  effect,      // it is made behind the tensor program
  by_program,  // the tensor program, in its place among the operators
};
// The journal is told of a slot, or of an attribute with a setter in C.
[[nodiscard]] bool note_slot(Recording& recording, PyObject* object, PyObject* descriptor,
                             SlotWrite write = SlotWrite::effect);
// The key as Python has it. Null, with the capture stopped or an error set: no write under it can be made
// again.
Ref<> writable_key(Recording& recording, PyObject* key);

// of a kind that only fresh objects allow
[[nodiscard]] bool before_write(Recording& recording, PyObject* object, const char* what);
[[nodiscard]] bool before_advancing(Recording& recording, PyObject* iterator);
[[nodiscard]] bool before_replacing(Recording& recording, PyObject* old);
[[nodiscard]] bool before_key_write(Recording& recording, PyObject* container, PyObject* key);
[[nodiscard]] bool before_whole_write(Recording& recording, PyObject* container);
// `value` is nullptr where an item is removed.
[[nodiscard]] bool before_item_write(Recording& recording, PyObject* container, PyObject* key, bool removes,
                                     PyObject* value = nullptr);
[[nodiscard]] bool before_in_place(Recording& recording, PyObject* left, PyObject* right, OnList on_list);
// `value` is nullptr where the attribute is deleted.
[[nodiscard]] bool before_attribute_write(Recording& recording, PyObject* owner, PyObject* name,
                                          PyObject* value);
[[nodiscard]] bool before_plain_attribute_write(Recording& recording, PyObject* owner, PyObject* name,
                                                PyObject* value);
[[nodiscard]] bool before_dict_attribute_write(Recording& recording, PyObject* dict, PyObject* name,
                                               PyObject* value);
[[nodiscard]] bool before_cell_write(Recording& recording, PyObject* cell);
[[nodiscard]] bool before_method_write(Recording& recording, std::string_view method,
                                       PyObject* const* arguments, size_t count);

}  // namespace stator

#endif
