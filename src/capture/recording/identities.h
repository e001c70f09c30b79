// capture/recording/identities.h: which object something is, where a later call may have another one in its
// place.
#ifndef STATOR_CAPTURE_RECORDING_IDENTITIES_H
#define STATOR_CAPTURE_RECORDING_IDENTITIES_H

#include "capture/recording/contents.h"
#include "capture/recording/recording.h"

namespace stator {

// `a is b` asks what guards do not tell of constants, which are compared by value.
[[nodiscard]] bool before_identity(Recording& recording, PyObject* a, PyObject* b);
[[nodiscard]] bool read_identity(Recording& recording, PyObject* object);
// An object made here, or a copy that stands for an argument, lies elsewhere in each run: its address may
// not be hashed. By a set or dictionary, and by hash(), whose number the program sees.
[[nodiscard]] bool before_hashing(Recording& recording, PyObject* object);
[[nodiscard]] bool before_hash_call(Recording& recording, PyObject* object);

}  // namespace stator

#endif
