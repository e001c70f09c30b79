// capture/recording/constant_places.h: where a capture found constants: among the arguments, in containers,
// on objects.
#ifndef STATOR_CAPTURE_RECORDING_CONSTANT_PLACES_H
#define STATOR_CAPTURE_RECORDING_CONSTANT_PLACES_H

#include <algorithm>
#include <vector>

#include "capture/guards/expected_value.h"

namespace stator {

class ConstantPlaces {
 public:
  // Without a parent each time is a place of its own.
  void add(PyObject* constant, PyObject* parent, PyObject* key) {
    places_.push_back({Ref<>::share(constant), parent, key});
  }

  // In how many of them a constant of this value stands; calls visit(parent) for each time that it was found.
  template <class Visit>
  size_t count(const ExpectedValue& value, Visit&& visit) const {
    std::vector<const Place*> found;
    for (const Place& place : places_) {
      if (!value.matches(place.constant.get())) continue;
      visit(place.parent);
      const auto is_same = [&](const Place* other) {
        return other->parent == place.parent && place.parent != nullptr && other->key == place.key;
      };
      if (std::none_of(found.begin(), found.end(), is_same)) found.push_back(&place);
    }
    return found.size();
  }

 private:
  struct Place {
    Ref<> constant;
    PyObject *parent, *key;  // addresses
  };
  std::vector<Place> places_;
};

}  // namespace stator

#endif
