// src/backends/fx/fx_program.h: a program that a Python backend made of the graph's torch.fx form.
#pragma once

#include <memory>

#include "capture/domain.h"
#include "torch/tracing/session.h"

namespace stator::fx {

// nullptr: the backend declined, or raised and the Python error is set.
std::unique_ptr<TensorProgram> make_fx_program(std::shared_ptr<Session> session, PyObject* backend,
                                               const std::vector<std::string>& sources);

}  // namespace stator::fx
