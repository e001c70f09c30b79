// capture/objects/dict.h: dictionaries, OrderedDicts and default dictionaries.
#ifndef STATOR_CAPTURE_OBJECTS_DICT_H
#define STATOR_CAPTURE_OBJECTS_DICT_H

#include "capture/program/description.h"
#include "capture/recording/object_kind.h"

namespace stator {

struct DictKind {
  static bool includes(const Recording&, PyObject* object) { return PyDict_Check(object); }
  static const ObjectKind row;
};

// The keys and values of a dictionary, or of an instance of a class over one.
[[nodiscard]] bool describe_pairs(Description& description, size_t step, PyObject* dict);

}  // namespace stator

#endif
