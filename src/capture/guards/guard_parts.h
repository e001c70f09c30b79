// capture/guards/guard_parts.h: the guards that a user's filter is asked about, part by part.
#ifndef STATOR_CAPTURE_GUARDS_GUARD_PARTS_H
#define STATOR_CAPTURE_GUARDS_GUARD_PARTS_H

#include <cstddef>
#include <string>

#include "capture/cpython/ref.h"

namespace stator {

// An item of a dictionary that was read, or a guard as a whole. Objects are borrowed.
struct GuardPart {
  static constexpr size_t kWhole = SIZE_MAX;
  size_t guard;
  size_t read;         // of a dictionary: which of its items
  const char* kind;    // the name of its file under kinds/
  std::string source;  // of the object that is looked at
  PyObject* subject;
  PyObject* key;    // of the item; nullptr for a whole guard
  PyObject* value;  // that is expected; nullptr: nothing, or none is known
};

}  // namespace stator

#endif
