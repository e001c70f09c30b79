// capture/recording/operands.h: how far an instruction looks into its operands, beyond contents.h.
#ifndef STATOR_CAPTURE_RECORDING_OPERANDS_H
#define STATOR_CAPTURE_RECORDING_OPERANDS_H

#include "capture/recording/recording.h"

namespace stator {

// The class decides: special methods, pattern matching. Guards which class the object has, and what that
// defines.
[[nodiscard]] bool read_class(Recording& recording, PyObject* object);
// `if x`: of a list its length is enough.
[[nodiscard]] bool read_truth(Recording& recording, PyObject* object);
// len(x)
[[nodiscard]] bool read_size(Recording& recording, PyObject* object);
// A key: hashed and compared, and in tuples and frozensets all that they hold.
[[nodiscard]] bool read_hashed(Recording& recording, PyObject* key);
// The items of a set or the keys of a dictionary are hashed and compared.
[[nodiscard]] bool read_members(Recording& recording, PyObject* container);
// `{**x}`: a dictionary, or an object with keys() and __getitem__.
[[nodiscard]] bool read_mapping(Recording& recording, PyObject* mapping);
// What stands between the brackets of container[key].
[[nodiscard]] bool read_index(Recording& recording, PyObject* container, PyObject* key);

}  // namespace stator

#endif
