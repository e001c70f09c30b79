// src/torch/domain/torch_domain.h: the torch layer as the domain of the capture layer.
#pragma once

#include <memory>

namespace stator {

class Session;
class TensorProgram;

// Makes a captured graph ready to run. Throws where it cannot.
using GraphBackend = std::unique_ptr<TensorProgram> (*)(std::shared_ptr<Session>);

// Gives the capture layer (stator._capture, which must be imported) torch's tensors. False with a Python
// error set.
bool install_torch_domain(GraphBackend backend);

}  // namespace stator
