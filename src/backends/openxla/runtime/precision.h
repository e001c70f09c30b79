// src/backends/openxla/runtime/precision.h: how exactly torch's settings want products on a device.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "backends/openxla/emit/builder.h"

namespace stator::openxla {

class Executable;

// On CUDA XLA rounds the operands of products to TF32 unless it is told not to, as torch does only where
// torch.set_float32_matmul_precision, torch.backends.cuda.matmul or torch.backends.cudnn say so. The CPU
// always computes in full.
Precision precision_on(c10::Device place);

// The programs of one graph, by the precision that torch's settings asked for when they were first needed:
// eager code follows the settings of the moment.
class ByPrecision {
 public:
  using Compile = std::function<std::shared_ptr<Executable>(const Precision&)>;
  // `compile` gives null where XLA cannot be called in this process.
  ByPrecision(c10::Device place, Compile compile);

  std::shared_ptr<Executable> current();  // the caller has the GIL
  c10::Device place() const { return place_; }

 private:
  c10::Device place_;
  Compile compile_;
  std::vector<std::pair<Precision, std::shared_ptr<Executable>>> compiled_;
};

}  // namespace stator::openxla
