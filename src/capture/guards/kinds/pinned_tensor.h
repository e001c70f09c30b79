// capture/guards/kinds/pinned_tensor.h: the metadata of a tensor that the capture reached by itself.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_PINNED_TENSOR_H
#define STATOR_CAPTURE_GUARDS_KINDS_PINNED_TENSOR_H

#include <memory>

#include "capture/domain.h"
#include "capture/guards/guard_kind.h"

namespace stator {

struct PinnedTensorGuard {
  PyObject* tensor;
  std::unique_ptr<TensorGuard> guard;

  GuardKey key() const { return {tensor}; }
  bool holds(FoundByGuards found) { return guard->holds(tensor, found.bindings); }
  std::string text() const { return guard->expected(); }
  void words(GuardWords&) const {}  // looked at in a way of their own: TensorWatch
  bool note_changes(Changes&) { return true; }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
