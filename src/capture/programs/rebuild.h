// capture/programs/rebuild.h: how the value that a captured function returned is made again on every call.
#ifndef STATOR_CAPTURE_PROGRAMS_REBUILD_H
#define STATOR_CAPTURE_PROGRAMS_REBUILD_H

#include <unordered_map>
#include <vector>

#include "capture/recording/recording.h"

namespace stator {

// The objects of a result in the order in which they are made; one that occurs twice is made once.
class Rebuild {
 public:
  // Describes `value`; tensors in it are appended to `tensors` (borrowed). False: stopped.
  bool describe(PyObject* value, Recording& recording, std::vector<PyObject*>& tensors);
  // A new reference, or nullptr with an error set. `tensors` are the outputs of the tensor program.
  PyObject* make(const std::vector<Ref<>>& tensors) const;

 private:
  enum class Kind : uint8_t { tensor, object, tuple, list, dict, instance };
  struct Step {
    Kind kind;
    size_t tensor = 0;
    Ref<> object;                  // object: what is returned; instance and tuple: the class
    std::vector<size_t> parts;     // steps of the items; of a dictionary: keys and values in turn
    size_t attributes = SIZE_MAX;  // instance: the step of its dictionary
  };
  size_t add(PyObject* value, Recording& recording, std::vector<PyObject*>& tensors, bool& ok);
  size_t add_instance(PyObject* value, Recording& recording, std::vector<PyObject*>& tensors, bool& ok);
  std::vector<Step> steps_;
  std::unordered_map<PyObject*, size_t> made_;
};

}  // namespace stator

#endif
