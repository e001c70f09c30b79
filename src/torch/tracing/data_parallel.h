// src/torch/tracing/data_parallel.h: DistributedDataParallel, which exchanges gradients while a backward
// runs.
#ifndef STATOR_TORCH_TRACING_DATA_PARALLEL_H
#define STATOR_TORCH_TRACING_DATA_PARALLEL_H

#include "capture/cpython/ref.h"

namespace stator {

// The DistributedDataParallel in whose forward the program stands; null outside of one.
Ref<> active_data_parallel();

}  // namespace stator

#endif
