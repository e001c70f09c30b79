// capture/recording/origin.h: how a pinned object was reached.
#ifndef STATOR_CAPTURE_RECORDING_ORIGIN_H
#define STATOR_CAPTURE_RECORDING_ORIGIN_H

#include "capture/cpython/ref.h"
#include "capture/guards/source_text.h"

namespace stator {

struct Origin {
  using enum SourceStep;
  SourceStep kind = root;
  PyObject* parent = nullptr;
  Ref<> key;  // root: its text; item: the key; attribute: the name
};

}  // namespace stator

#endif
