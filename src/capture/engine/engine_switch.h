// capture/engine/engine_switch.h: how to ask a second engine (TorchDynamo) whether it is on, and to switch it
// off.
#ifndef STATOR_CAPTURE_ENGINE_ENGINE_SWITCH_H
#define STATOR_CAPTURE_ENGINE_ENGINE_SWITCH_H

#include "capture/cpython/python.h"

namespace stator {

// Given by the layer that knows the other engine; see hook/other_engine.h.
struct EngineSwitch {
  // Whether it wants the frames of this thread.
  bool (*is_on)();
  // Switches it off in this thread. Returns what switches it on again (new reference), or nullptr if it was
  // off.
  PyObject* (*switch_off)();
  // Takes the reference. Leaves the current Python error as it is.
  void (*switch_on)(PyObject* state);
};

}  // namespace stator

#endif
