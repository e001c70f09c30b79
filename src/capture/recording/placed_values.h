// capture/recording/placed_values.h: what stands in places that each call reads: symbols for numbers, tracers
// for tensors, and tuples of both.
#ifndef STATOR_CAPTURE_RECORDING_PLACED_VALUES_H
#define STATOR_CAPTURE_RECORDING_PLACED_VALUES_H

#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

class PlacedValues {
 public:
  // A container and a key in it; all borrowed.
  using Place = std::pair<PyObject*, PyObject*>;

  void add(PyObject* container, PyObject* key, Ref<> stands);
  // nullptr: nothing stands there.
  PyObject* in(PyObject* container, PyObject* key) const;
  Place place_of(PyObject* stands) const;

  // The real tensors, in the order of their guards.
  std::vector<Ref<>> tensors;

  // A tuple stands for the one that the call found, and so do those inside of it.
  void add_tuple(PyObject* stands, PyObject* real);
  PyObject* real_tuple(PyObject* stands) const;

 private:
  struct StandIn {
    Ref<> key, stands;
  };
  std::unordered_multimap<PyObject*, StandIn> stand_ins_;  // by container
  std::unordered_map<PyObject*, PyObject*> real_tuples_;
};

}  // namespace stator

#endif
