// src/backends/openxla/runtime/precision.cpp: torch's settings in StableHLO's words.
#include "backends/openxla/runtime/precision.h"

#include <ATen/Context.h>

namespace stator::openxla {

Precision precision_on(c10::Device place) {
  if (place.is_cpu()) return {};
  const at::Context& settings = at::globalContext();
  const auto of = [](bool rounded) { return std::string(rounded ? "DEFAULT" : "HIGHEST"); };
  const bool product = settings.float32Precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL) ==
                       at::Float32Precision::TF32;
  return {.product = of(product), .convolution = of(settings.allowTF32CuDNN(at::Float32Op::CONV))};
}

ByPrecision::ByPrecision(c10::Device place, Compile compile) : place_(place), compile_(std::move(compile)) {}

std::shared_ptr<Executable> ByPrecision::current() {
  const Precision wanted = precision_on(place_);
  for (const auto& [precision, executable] : compiled_) {
    if (precision == wanted) return executable;
  }
  std::shared_ptr<Executable> made = compile_(wanted);
  if (made) compiled_.emplace_back(wanted, made);
  return made;
}

}  // namespace stator::openxla
