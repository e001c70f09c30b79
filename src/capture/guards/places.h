// capture/guards/places.h: what stands in a place: an item of a container, the content of a cell, an
// attribute with a getter.
#ifndef STATOR_CAPTURE_GUARDS_PLACES_H
#define STATOR_CAPTURE_GUARDS_PLACES_H

#include <string>

#include "capture/cpython/ref.h"
#include "capture/guards/held_key.h"
#include "core/shape/bindings.h"

namespace stator {

// What stands in a dictionary, list or cell (whatever the key), or an attribute for which the class has a
// getter in C that gives the same object each time; borrowed, nullptr where there is nothing.
PyObject* item_at(PyObject* container, PyObject* key);
// The same under a key that may be gone.
inline PyObject* item_at(PyObject* container, const HeldKey& key) {
  PyObject* const held = key.get();
  return held != nullptr ? item_at(container, held) : nullptr;
}

// How Varying names an item of the container with this source.
std::string place_name(const std::string& container, PyObject* key);

// Where each call binds the value of an int or float that is a symbol of the capture.
struct NumberBinding {
  bool is_real;
  uint32_t symbol;
};
// Binds a symbol to an int or float of its kind; false for anything else.
bool bind_number(PyObject* value, bool is_real, uint32_t symbol, shape::Bindings& bindings);

}  // namespace stator

#endif
