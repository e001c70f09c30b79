// capture/recording/placed_values.h: what stands in places that each call reads: symbols for numbers, tracers
// for tensors, and tuples of both.
#ifndef STATOR_CAPTURE_RECORDING_PLACED_VALUES_H
#define STATOR_CAPTURE_RECORDING_PLACED_VALUES_H

#include <unordered_map>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

class PlacedValues {
 public:
  // A container and a key in it; all borrowed. Of a tuple inside of the one that stands there: the way to it.
  struct Place {
    PyObject* container = nullptr;
    PyObject* key = nullptr;
    std::vector<Py_ssize_t> way;
  };

  void add(PyObject* container, PyObject* key, Ref<> stands);
  // nullptr: nothing stands there.
  PyObject* in(PyObject* container, PyObject* key) const;
  // Of a tuple; no container: it stands for none.
  Place place_of(PyObject* stands) const;

  // The real tensors, in the order of their guards.
  std::vector<Ref<>> tensors;

  // A tuple stands for the one that the call found, and so do those inside of it.
  void add_tuple(PyObject* stands, PyObject* real, PyObject* container, PyObject* key);
  PyObject* real_tuple(PyObject* stands) const;

 private:
  struct StandIn {
    Ref<> key, stands;
  };
  std::unordered_multimap<PyObject*, StandIn> stand_ins_;  // by container
  struct Tuple {
    PyObject* real;
    Place place;
  };
  std::unordered_map<PyObject*, Tuple> tuples_;
};

}  // namespace stator

#endif
