// capture/recording/given_tensors.h: the tensors that a call brings, and the tracers that stand for them.
#ifndef STATOR_CAPTURE_RECORDING_GIVEN_TENSORS_H
#define STATOR_CAPTURE_RECORDING_GIVEN_TENSORS_H

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/cpython/python.h"

namespace stator {

class GivenTensors {
 public:
  struct Given {
    std::shared_ptr<size_t> index;  // among the tensors of the call; those in places come last
    PyObject* real;
    std::string name;
    std::vector<PyObject*> read;  // names of attributes that are guarded
  };

  // In the order in which they were read. One that is given twice has one tracer, and its first number.
  void add(PyObject* tracer, PyObject* real, const std::string& name, bool is_placed) {
    const size_t index = is_placed ? placed_++ : arguments_++;
    auto shared = std::make_shared<size_t>(index);
    if (!by_tracer_.try_emplace(tracer, Given{shared, real, name, {}}).second) return;
    order_.push_back(shared);
    if (is_placed) placed_numbers_.push_back(std::move(shared));
  }
  // All arguments are read: the tensors in places come behind them.
  void number_places() {
    for (const auto& index : placed_numbers_) *index += arguments_;
    placed_numbers_.clear();
  }
  // The numbers of different ones, in the order in which they became inputs of the graph.
  const std::vector<std::shared_ptr<size_t>>& order() const { return order_; }
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
  std::vector<std::shared_ptr<size_t>> order_, placed_numbers_;
  size_t arguments_ = 0, placed_ = 0;
};

}  // namespace stator

#endif
