// src/torch/tracing/dispatch_fallback.h: makes sure the fallback for tracers is registered with torch's
// dispatcher.
#pragma once

namespace stator {

void install_dispatch_fallback();

}  // namespace stator
