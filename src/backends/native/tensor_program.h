// src/backends/native/tensor_program.h: the native backend, as captures call it.
#pragma once

#include <memory>

#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator::native {

std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session);

}  // namespace stator::native
