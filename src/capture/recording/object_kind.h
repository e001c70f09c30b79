// capture/recording/object_kind.h: all that a capture does with objects of one kind, as one row of functions.
//
// Each kind is one file under capture/objects/, and objects.def lists them. A function that is nullptr means
// that the kind is treated as any instance. Those that give a bool give false where the capture is stopped or
// an error is set.
#ifndef STATOR_CAPTURE_RECORDING_OBJECT_KIND_H
#define STATOR_CAPTURE_RECORDING_OBJECT_KIND_H

#include <string_view>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

class Description;
struct Recording;

// What the in-place form of an operator does to a list.
enum class OnList : uint8_t { extends, rewrites };

struct ObjectKind {
  // Reads of an object that existed before. ------------------------------------------------------------

  // What C code may see of it: which items it has, and its class; not what is inside of its items.
  bool (*read)(Recording& recording, PyObject* object) = nullptr;
  // It shows another object as that is now: it is read though it was made here.
  bool shows_another = false;
  // How many items it has, where that can be known alone; asked of instances of `type` itself only.
  const PyTypeObject* type = nullptr;
  bool (*read_length)(Recording& recording, PyObject* object) = nullptr;
  // object[key], where that can be known alone; otherwise it reads all.
  bool (*read_item)(Recording& recording, PyObject* object, PyObject* key) = nullptr;
  // Says how the objects were reached that it leads to, where itself it never changes.
  void (*pin_parts)(Recording& recording, PyObject* object) = nullptr;
  // Adds the objects that C code may go on to from it; its own contents are read.
  void (*add_reached)(Recording& recording, PyObject* object, std::vector<PyObject*>& found) = nullptr;
  // Whether a part of the arguments that nobody has read lies in it; and reads those that do.
  bool (*holds_unread)(PyObject* object) = nullptr;
  bool (*read_unread)(Recording& recording, PyObject* object) = nullptr;

  // Writes to one that existed before, and may be written to. ----------------------------------------

  // Any of it may change.
  bool (*before_whole_write)(Recording& recording, PyObject* object) = nullptr;
  bool (*before_item_write)(Recording& recording, PyObject* object, PyObject* key, bool removes) = nullptr;
  // A method in C that writes to its first argument.
  bool (*before_method_write)(Recording& recording, std::string_view method, PyObject* const* arguments,
                              size_t count) = nullptr;
  // Also of one that may not be written to.
  bool (*before_in_place)(Recording& recording, PyObject* object, PyObject* right, OnList on_list) = nullptr;
  // Lets something stand in the place of a value that each call reads from there; the journal is told.
  bool (*put)(Recording& recording, PyObject* object, PyObject* key, PyObject* old,
              PyObject* stands) = nullptr;

  // Of one that was made here and outlives the capture. ------------------------------------------------

  // Says how each later call makes it: program/description.h.
  bool (*describe)(Description& description, size_t step, PyObject* object) = nullptr;
};

// What no other row includes is an instance.
const ObjectKind& kind_of(const Recording& recording, PyObject* object);
// The row of instances, every function of which is there that another row may leave out.
extern const ObjectKind any_instance;

// A function of the object's kind, or that of instances.
template <auto member>
auto of_kind(const Recording& recording, PyObject* object) {
  const ObjectKind& kind = kind_of(recording, object);
  return kind.*member != nullptr ? kind.*member : any_instance.*member;
}

}  // namespace stator

#endif
