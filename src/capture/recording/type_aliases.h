// capture/recording/type_aliases.h: `int | str` and `list[int]`, which never change and lead to classes.
#ifndef STATOR_CAPTURE_RECORDING_TYPE_ALIASES_H
#define STATOR_CAPTURE_RECORDING_TYPE_ALIASES_H

#include "capture/recording/recording.h"

namespace stator {

[[nodiscard]] bool read_alias(Recording& recording, PyObject* alias);
[[nodiscard]] bool read_alias_attribute(Recording& recording, PyObject* alias, PyObject* name);

}  // namespace stator

#endif
