// capture/program/rebuild.h: how the objects that a captured function made, and that outlive it, are made
// again on every call.
//
// Each object is a step. What it takes to make one is said once by its kind (capture/objects/) through a
// Description, as functions for the passes in which make() goes over the steps: an object that may contain
// itself is begun empty and filled when all are there, one that never changes is made whole of its parts,
// and iterators come last, when what they walk through is complete: also what the run writes to older
// objects.
#ifndef STATOR_CAPTURE_PROGRAM_REBUILD_H
#define STATOR_CAPTURE_PROGRAM_REBUILD_H

#include <functional>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

// What is returned and what is written to older objects. An object that occurs twice is made once; objects
// may contain each other.
class Rebuild {
 public:
  // What step i stands for, by its number.
  using Values = std::vector<Ref<>>;
  // What a call brings.
  struct Given {
    const std::vector<Ref<>>& tensors;  // outputs of the tensor program
    PyObject* const* arguments;
  };
  // Null with an error set.
  using Begin = std::function<Ref<>(const Given& given)>;
  using Whole = std::function<Ref<>(const Values& values)>;
  // False with an error set.
  using Fill = std::function<bool(PyObject* begun, const Values& values)>;

  // Makes every object but those that come last. False with an error set.
  bool make(const std::vector<Ref<>>& tensors, PyObject* const* arguments, Values& values) const;
  bool make_last(Values& values) const;

 private:
  friend class Description;
  struct Step {
    Ref<> constant;  // the same object on every call
    Begin begin;     // unset where it is made whole
    bool is_late = false;
  };
  template <class Function>
  struct Pass {
    size_t step;
    Function function;
  };

  std::vector<Step> steps_;
  std::vector<Pass<Whole>> whole_;                     // in the order in which they can be made
  std::vector<Pass<Fill>> filled_;                     // begun empty, or made whole before
  std::vector<std::pair<size_t, size_t>> attributed_;  // instances that take over a dictionary, once all are
                                                       // filled: the steps of both
  std::vector<Pass<Whole>> late_;                      // iterators, those first that others walk through
};

}  // namespace stator

#endif
