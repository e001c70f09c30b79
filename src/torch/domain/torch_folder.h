// src/torch/domain/torch_folder.h: where torch's own Python files are.
#pragma once

#include <string>

namespace stator {

// Ends with a slash.
const std::string& torch_folder();

}  // namespace stator
