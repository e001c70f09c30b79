// capture/recording/given_arguments.h: the arguments of the call that is captured.
#ifndef STATOR_CAPTURE_RECORDING_GIVEN_ARGUMENTS_H
#define STATOR_CAPTURE_RECORDING_GIVEN_ARGUMENTS_H

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/arguments/argument.h"
#include "capture/cpython/frame.h"

namespace stator {

struct GivenArguments {
  std::vector<std::unique_ptr<Argument>> roots;
  // Containers, instances, functions and methods that stand for parts of the arguments.
  std::unordered_map<PyObject*, Argument*> by_stand_in;
  std::unordered_map<PyObject*, Argument*> by_tracer;
  std::unordered_map<PyObject*, Argument*> by_symbol;
  std::unordered_map<PyObject*, Argument*> by_array;           // what stands for arrays
  std::unordered_map<PyObject*, Argument*> tensor_attributes;  // dictionaries of tracers that were written to
  std::vector<PyObject*> tensors;          // that were read, borrowed, by Argument::tensor
  std::unordered_set<PyObject*> copied;    // what the stand-ins stand for
  std::unordered_set<PyObject*> repeated;  // those that occur twice: another attempt gives them as they are

  // Unread values are in use: instructions are looked at for them.
  bool are_lazy = false;
  // Tuples, lists and dictionaries of this run that hold unread values: `*args`, `**kwargs`.
  std::unordered_set<PyObject*> holders;
  std::vector<Ref<>> kept;               // holders and unread values
  bool gets_item = false;                // the call that is looked at gives an item as it is: dict.get
  bool builds_holder = false;            // the instruction that comes to its end now makes one
  std::vector<cpython::Frame*> passing;  // frames whose call hands arguments to Python code as they are
};

}  // namespace stator

#endif
