// src/torch/domain/ragged_sizes.h: which inputs of a graph have one ragged size, as nested tensors have them.
#pragma once

#include <memory>

#include "capture/domain.h"

namespace stator {

class Session;

// The program, which serves a call only where the same inputs have one ragged size as in the capture. It is
// returned as it is where no input can have any.
std::unique_ptr<TensorProgram> with_ragged_sizes(std::unique_ptr<TensorProgram> program, Ref<> holds,
                                                 size_t inputs);

// A function that says so of the inputs of a call; nothing: none of them has a ragged size.
Ref<> ragged_sizes_of(const Session& session);

}  // namespace stator
