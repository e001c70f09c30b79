// src/backends/native/tensor_program.h: the native backend, as captures call it.
#pragma once

#include <memory>

#include "backends/native/program.h"
#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator::native {

std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session);
// The same with a schedule of somebody else's. `program` is one of the session's graph.
std::unique_ptr<TensorProgram> make_tensor_program(std::shared_ptr<Session> session, Program program);

}  // namespace stator::native
