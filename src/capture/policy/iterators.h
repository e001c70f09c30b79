// capture/policy/iterators.h: what the iterators of Python's own modules do when they are advanced.
#ifndef STATOR_CAPTURE_POLICY_ITERATORS_H
#define STATOR_CAPTURE_POLICY_ITERATORS_H

#include "capture/cpython/python.h"

namespace stator {

struct IteratorKind {
  enum Looks : uint8_t {
    nowhere,  // passes on what it iterates over, and what a callable gives
    results,  // at what the callable gives that it was made with: whether that is true, or equal
    items,    // into the items
    either,   // at what its callable gives, or else into the items
  };
  Looks looks;
  bool is_leaf;               // iterates over a container, never over another iterator
  bool makes_tuples = false;  // gives tuples of its own, the last of which it may hold as well
};

// Returns null if the object is no iterator of a kind that is listed.
const IteratorKind* iterator_kind(PyObject* object);

}  // namespace stator

#endif
