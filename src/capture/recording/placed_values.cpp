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
  const auto found = std::find_if(stand_ins_.begin(), stand_ins_.end(),
                                  [&](const auto& known) { return known.second.stands.get() == stands; });
  return found != stand_ins_.end() ? Place(found->first, found->second.key.get()) : Place();
}

void PlacedValues::add_tuple(PyObject* stands, PyObject* real) {
  real_tuples_.emplace(stands, real);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(stands); i++) {
    if (PyObject* item = PyTuple_GET_ITEM(stands, i); PyTuple_CheckExact(item)) add_tuple(item, real);
  }
}

PyObject* PlacedValues::real_tuple(PyObject* stands) const {
  const auto found = real_tuples_.find(stands);
  return found != real_tuples_.end() ? found->second : nullptr;
}

}  // namespace stator
