// capture/no_tensors.h: the domain of programs without tensors: what is left is Python alone.
#ifndef STATOR_CAPTURE_NO_TENSORS_H
#define STATOR_CAPTURE_NO_TENSORS_H

#include "capture/domain.h"

namespace stator {

// Used until a layer that knows tensors installs its own.
const Domain& no_tensors();

}  // namespace stator

#endif
