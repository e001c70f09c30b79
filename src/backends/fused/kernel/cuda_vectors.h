// src/backends/fused/kernel/cuda_vectors.h: how many neighbours along the last dimension a thread takes at
// once.
#pragma once

#include <vector>

#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

struct Vectors {
  explicit Vectors(const Kernel& kernel);

  int width = 1;  // elements
  // By number: read or written as one vector of that width. Its address is aligned if that of the memory is
  // (Access::start).
  std::vector<char> loads, stores;
};

}  // namespace stator::fused
