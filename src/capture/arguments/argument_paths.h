// capture/arguments/argument_paths.h: where a part of the arguments stands, so that each call finds its own.
#ifndef STATOR_CAPTURE_ARGUMENTS_ARGUMENT_PATHS_H
#define STATOR_CAPTURE_ARGUMENTS_ARGUMENT_PATHS_H

#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

// One step from a container, instance, function or bound method to a part of it.
struct ArgumentStep {
  enum class Kind : uint8_t {
    root,        // index: which argument
    item,        // index: of a list or tuple
    from_end,    // the same, counted from the end: 1 is the last
    key,         // of a dictionary
    attributes,  // from an instance to its dictionary
    part,        // index: of a function's defaults and cells, in the order of each_part
    function,    // of a bound method
    self,        // of a bound method
  };
  Kind kind = Kind::root;
  Py_ssize_t index = 0;
  Ref<> key;

  // Borrowed; null if it is not there. `whole` is of the type that the captured one had.
  PyObject* find(PyObject* whole) const;
};

struct ArgumentPath {
  size_t argument = 0;
  std::vector<ArgumentStep> steps;
  // Borrowed. The guards have proved that every step is there.
  PyObject* find(PyObject* const* arguments) const;
};

}  // namespace stator

#endif
