// capture/programs/given.cpp: the places of the arguments' containers.
#include "capture/programs/given.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace stator {

PyObject* GivenPath::find(PyObject* const* arguments) const {
  PyObject* at = arguments[argument];
  for (const Ref<>& key : keys) {
    if (PyDict_CheckExact(at)) {
      at = PyDict_GetItemWithError(at, key.get());
    } else {
      at = PySequence_Fast_GET_ITEM(at, PyLong_AsSsize_t(key.get()));
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

namespace {

// The containers seen so far. Few calls have many, and a call that hits allocates nothing for these.
struct Seen {
  std::array<PyObject*, 16> first{};
  size_t count = 0;
  std::unordered_set<PyObject*> more;

  bool add(PyObject* container) {
    const auto end = first.begin() + static_cast<std::ptrdiff_t>(std::min(count, first.size()));
    if (std::find(first.begin(), end, container) != end) return false;
    if (count < first.size()) {
      first[count++] = container;
      return true;
    }
    count++;
    return more.insert(container).second;
  }
};

bool note(PyObject* value, Seen& seen) {
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
    if (PyList_CheckExact(value) && !seen.add(value)) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
      if (!note(PySequence_Fast_GET_ITEM(value, i), seen)) return false;
    }
  } else if (PyDict_CheckExact(value)) {
    if (!seen.add(value)) return false;
    PyObject *key, *item;
    Py_ssize_t position = 0;
    while (PyDict_Next(value, &position, &key, &item)) {
      if (!note(item, seen)) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<size_t> count_containers(PyObject* const* arguments, Py_ssize_t count) {
  Seen seen;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!note(arguments[i], seen)) return std::nullopt;
  }
  return seen.count;
}

void GivenContainers::add(PyObject* stands, PyObject* real, const GivenPath& path) {
  if (stands == real) return;
  const bool is_sequence = PyTuple_CheckExact(real) || PyList_CheckExact(real);
  if (!is_sequence && !PyDict_CheckExact(real)) return;
  paths_.emplace(stands, path);
  const auto descend = [&](Ref<> key, PyObject* inner, PyObject* inner_real) {
    GivenPath deeper = path;
    deeper.keys.push_back(std::move(key));
    add(inner, inner_real, deeper);
  };
  if (is_sequence) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(real); i++) {
      descend(Ref<>::steal(PyLong_FromSsize_t(i)), PySequence_Fast_GET_ITEM(stands, i),
              PySequence_Fast_GET_ITEM(real, i));
    }
    return;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(real, &position, &key, &value)) {
    if (PyObject* inner = PyDict_GetItemWithError(stands, key)) descend(Ref<>::share(key), inner, value);
  }
}

}  // namespace stator
