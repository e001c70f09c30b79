// capture/recording/placed_values.cpp: looking them up, by place and by what stands there.
#include "capture/recording/placed_values.h"

#include <algorithm>

namespace stator {

void PlacedValues::add(PyObject* container, PyObject* key, Ref<> stands) {
  stand_ins_.emplace(container, StandIn{Ref<>::share(key), std::move(stands)});
}

PyObject* PlacedValues::in(PyObject* container, PyObject* key) const {
  const auto [first, end] = stand_ins_.equal_range(container);
  const auto found = std::find_if(first, end, [&](const auto& known) {
    return PyObject_RichCompareBool(known.second.key.get(), key, Py_EQ) == 1;
  });
  return found != end ? found->second.stands.get() : nullptr;
}

PlacedValues::Place PlacedValues::place_of(PyObject* stands) const {
  const auto found = tuples_.find(stands);
  return found != tuples_.end() ? found->second.place : Place();
}

void PlacedValues::add_tuple(PyObject* stands, PyObject* real, PyObject* container, PyObject* key) {
  std::vector<std::pair<PyObject*, std::vector<Py_ssize_t>>> left{{stands, {}}};
  while (!left.empty()) {
    auto [tuple, way] = std::move(left.back());
    left.pop_back();
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
      if (!PyTuple_CheckExact(PyTuple_GET_ITEM(tuple, i))) continue;
      left.emplace_back(PyTuple_GET_ITEM(tuple, i), way);
      left.back().second.push_back(i);
    }
    tuples_.emplace(tuple, Tuple{real, {container, key, std::move(way)}});
  }
}

PyObject* PlacedValues::real_tuple(PyObject* stands) const {
  const auto found = tuples_.find(stands);
  return found != tuples_.end() ? found->second.real : nullptr;
}

}  // namespace stator
