// capture/program/description.h: describing the objects that outlive a capture, so that a Rebuild makes them
// on every later call.
//
// What stands for something that each call brings or that the guards prove (a tensor, a part of the
// arguments, a pinned object, a constant) is treated here; how an object that was made in the run is made
// anew is said by its kind.
#ifndef STATOR_CAPTURE_PROGRAM_DESCRIPTION_H
#define STATOR_CAPTURE_PROGRAM_DESCRIPTION_H

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "capture/arguments/argument_paths.h"
#include "capture/cpython/interrupts.h"
#include "capture/program/rebuild.h"
#include "capture/recording/recording.h"

namespace stator {

class Description {
 public:
  using Values = Rebuild::Values;
  static constexpr size_t kStopped = SIZE_MAX;

  // `tensors` receives the outputs that the tensor program must have (borrowed).
  Description(Rebuild& rebuild, Recording& recording, std::vector<PyObject*>& tensors)
      : recording(recording), rebuild_(rebuild), tensors_(tensors) {}

  Recording& recording;

  // The step that makes `value`; kStopped: the capture is stopped.
  size_t add(PyObject* value);

  // For the kinds of objects. Steps are known by number; adding one may move the others.

  // Adds the part, and its step to the parts. False: stopped.
  bool add_part(std::vector<size_t>& parts, PyObject* part);
  // The same for a key, which must be hashed without running code of the program's.
  bool add_key(std::vector<size_t>& parts, PyObject* key);
  // Its attributes, each by itself or as the dictionary that others know too.
  bool add_attributes(size_t step, PyObject* value);
  // Nobody but the objects of the run can hold it.
  bool is_made_here(PyObject* value) const;
  // False, and the capture is stopped: nothing can make such an object.
  bool refuse(PyObject* value);
  // The same object on every call, which the step stands for; nullptr: it is another one each time.
  PyObject* constant(size_t step) const { return rebuild_.steps_[step].constant.get(); }

  void stay(size_t step, PyObject* constant) { rebuild_.steps_[step].constant = Ref<>::share(constant); }
  void begin(size_t step, Rebuild::Begin begin) { rebuild_.steps_[step].begin = std::move(begin); }
  // In the order of the calls: parts first. What holds something that is made late is made or filled late.
  void make_whole(size_t step, Rebuild::Whole make);
  void fill(size_t step, Rebuild::Fill fill);
  void make_late(size_t step, Rebuild::Whole make) { rebuild_.late_.push_back({step, std::move(make)}); }
  bool is_late(size_t step) const { return rebuild_.steps_[step].is_late; }
  // An older object that the run writes to; all are named before anything is described. By now it is as it
  // was.
  void note_written(PyObject* target) { written_.insert(target); }
  bool is_written(PyObject* object) const { return written_.count(object) != 0; }
  // Of an iterator: what it goes through.
  void note_walk(PyObject* through) {
    walks_through_written_ = walks_through_written_ || is_written(through);
  }
  bool walks_through_written() const { return walks_through_written_; }
  // The number of this output of the tensor program.
  size_t add_output(PyObject* tensor);
  // Around the description of what is made late: from objects that are filled by then.
  template <class Describe>
  bool describe_late(size_t step, PyObject* value, Describe&& describe) {
    rebuild_.steps_[step].is_late = true;
    late_depth_++;
    const bool described = describe();
    late_depth_--;
    if (described) return true;
    drop_error();
    return refuse(value);
  }

 private:
  size_t describe(PyObject* value);
  bool describe_step(size_t step, PyObject* value);

  Rebuild& rebuild_;
  std::vector<PyObject*>& tensors_;
  std::unordered_map<PyObject*, size_t> made_;
  std::unordered_map<PyObject*, size_t> owners_;  // of dictionaries of attributes: the instance's step
  // Of each object around the one that is described: its step, whether a part of it is made late, and
  // whether it contains itself.
  struct Open {
    size_t step = kStopped;
    bool has_late_part = false;
    bool is_in_circle = false;
  };
  std::vector<Open> open_;
  size_t late_depth_ = 0;
  std::unordered_set<PyObject*> written_;
  bool walks_through_written_ = false;
};

// The place of the part of the arguments that this object stands for, read or not; nullopt if it stands for
// none.
std::optional<ArgumentPath> path_behind(const Recording& recording, PyObject* value);

}  // namespace stator

#endif
