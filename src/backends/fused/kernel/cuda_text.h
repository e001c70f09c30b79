// src/backends/fused/kernel/cuda_text.h: a kernel as CUDA C++, ready for NVRTC.
#pragma once

#include <string>
#include <vector>

#include "backends/fused/kernel/kernel.h"

namespace stator::fused {

struct CudaText {
  std::string text;                 // of the function
  int threads = 0;                  // of a block
  int64_t per_block = 1;            // rows that a block computes; without reductions, elements
  std::vector<char> reads_vectors;  // by load: the memory must be aligned to 16 bytes
};

// The function `name`: its arguments are the addresses of the loads, those of the stores, and the parameters,
// 8 bytes each. Stores overlap no load and no other store.
CudaText cuda_text(const Kernel& kernel, const std::string& name);

// What functions made by cuda_text call; once a program.
std::string cuda_prelude();

}  // namespace stator::fused
