// src/torch/guards/tensor_watch.h: the tensors that a capture reaches by itself, compared in one go.
#pragma once

#include <memory>
#include <vector>

#include "capture/domain.h"

namespace stator {

std::unique_ptr<TensorWatch> watch_tensors(const std::vector<PinnedTensor>& tensors);

}  // namespace stator
