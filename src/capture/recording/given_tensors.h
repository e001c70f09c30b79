// capture/recording/given_tensors.h: the tensors that a call brings, and the tracers that stand for them.
#ifndef STATOR_CAPTURE_RECORDING_GIVEN_TENSORS_H
#define STATOR_CAPTURE_RECORDING_GIVEN_TENSORS_H

#include <string>
#include <unordered_map>
#include <vector>

#include "capture/cpython/python.h"

namespace stator {

class GivenTensors {
 public:
  struct Given {
    size_t index;  // among the tensors of the call
    PyObject* real;
    std::string name;
    std::vector<PyObject*> read;  // names of attributes that are guarded
  };

  // In the order of the call's tensors. One that is given twice has one tracer, and its first number.
  void add(PyObject* tracer, PyObject* real, const std::string& name) {
    by_tracer_.try_emplace(tracer, Given{count_++, real, name, {}});
  }
  bool contains(PyObject* tracer) const { return by_tracer_.contains(tracer); }
  // nullptr: it stands for none of them.
  Given* find(PyObject* tracer) {
    const auto found = by_tracer_.find(tracer);
    return found != by_tracer_.end() ? &found->second : nullptr;
  }
  template <class Visit>
  void each(Visit&& visit) const {
    for (const auto& [tracer, given] : by_tracer_) visit(given);
  }

 private:
  std::unordered_map<PyObject*, Given> by_tracer_;
  size_t count_ = 0;
};

}  // namespace stator

#endif
