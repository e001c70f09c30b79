// src/torch/domain/torch_domain.h: the torch layer as the domain of the capture layer.
#pragma once

namespace stator {

// Gives the capture layer (stator._capture, which must be imported) torch's tensors. False with a Python error set.
bool install_torch_domain();

}  // namespace stator
