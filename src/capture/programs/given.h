// capture/programs/given.h: containers of the call's arguments, found again on every call by their place.
#ifndef STATOR_CAPTURE_PROGRAMS_GIVEN_H
#define STATOR_CAPTURE_PROGRAMS_GIVEN_H

#include <optional>
#include <unordered_map>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

// Where a container stands: in which argument, and under which indexes and keys.
struct GivenPath {
  size_t argument = 0;
  std::vector<Ref<>> keys;
  // Borrowed. The arguments are like the captured ones, so every step is there.
  PyObject* find(PyObject* const* arguments) const;
};

// The lists and dictionaries among the arguments, or nothing where one of them occurs twice: a capture stands
// on copies, which are not one and the same.
std::optional<size_t> count_containers(PyObject* const* arguments, Py_ssize_t count);

class GivenContainers {
 public:
  // `stands` is the copy that stood for `real` in the capture.
  void add(PyObject* stands, PyObject* real, const GivenPath& path);
  const GivenPath* find(PyObject* stands) const {
    const auto found = paths_.find(stands);
    return found == paths_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<PyObject*, GivenPath> paths_;
};

}  // namespace stator

#endif
