// src/torch/domain/dynamo.h: TorchDynamo, torch's own engine, as it stands beside ours: whether it is
// switched on in a thread, and the wrappers that it puts around functions.
#ifndef STATOR_TORCH_DOMAIN_DYNAMO_H
#define STATOR_TORCH_DOMAIN_DYNAMO_H

#include "capture/engine/engine_switch.h"

namespace stator {

// nullptr where torch has no such functions.
const EngineSwitch* dynamo_engine();

// For a wrapper of torch's around a function: what becomes of it in captured code.
enum class DynamoWrapper : uint8_t {
  none,      // it is no such wrapper
  compiled,  // torch.compile: looked through
  internal,  // keeps a function of torch's own from Dynamo, which has reasons that we do not: looked through
  disabled,  // torch.compiler.disable of a function of the program's, a hook of FSDP's: never captured
};
DynamoWrapper dynamo_wrapper(PyFunctionObject* function);

}  // namespace stator

#endif
