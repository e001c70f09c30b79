// src/backends/empty/empty_program.h: a program that computes once and answers every later call from memory,
// so that what a call costs is the engine's own work.
#pragma once

#include <memory>

#include "capture/domain.h"

namespace stator {

std::unique_ptr<TensorProgram> make_empty_program(std::unique_ptr<TensorProgram> first);

}  // namespace stator
