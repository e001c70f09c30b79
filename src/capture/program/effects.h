// capture/program/effects.h: the writes of a captured function to objects that existed before it, made again
// on every call.
//
// They are taken from the journal at the end of the capture, by location: what was written twice is written
// once, with its last value. Nobody can look in between, since a program is all that runs.
#ifndef STATOR_CAPTURE_PROGRAM_EFFECTS_H
#define STATOR_CAPTURE_PROGRAM_EFFECTS_H

#include <functional>
#include <vector>

#include "capture/program/description.h"

namespace stator {

// What a write puts there, as this call has made it.
class FinalValues {
 public:
  static constexpr size_t kNothing = SIZE_MAX - 1;
  FinalValues(const std::vector<size_t>& steps, const std::vector<Ref<>>& made)
      : steps_(steps), made_(made) {}
  size_t size() const { return steps_.size(); }
  // Borrowed; nullptr: nothing is there in the end.
  PyObject* operator[](size_t i) const { return steps_[i] != kNothing ? made_[steps_[i]].get() : nullptr; }

 private:
  const std::vector<size_t>& steps_;
  const std::vector<Ref<>>& made_;
};

class Effects {
 public:
  // Makes the write; false with an error set.
  using Apply = std::function<bool(PyObject* target, const FinalValues& values)>;

  // Reads the final values. Before the journal is rolled back: what is written goes to the rebuild later, in
  // describe().
  bool collect(const Journal& journal, const Recording& recording);
  // One write; asked for by what was noted of the object (Written::collect).
  void add(PyObject* target, std::vector<Ref<>> finals, Apply apply);
  void name_targets(Description& description) const;  // before anything is described
  // False: stopped.
  bool describe(Description& description);
  // False with an error set. `values` are those that the rebuild made.
  bool apply(const std::vector<Ref<>>& values, PyObject* const* arguments) const;
  size_t size() const { return effects_.size(); }
  // An iterator is written, which must be made before.
  bool write_iterators() const { return write_iterators_; }

 private:
  struct Effect {
    PyObject* target = nullptr;  // pinned: the guards prove it; or found by path
    ArgumentPath path;           // of a container of the arguments, where there is no target
    std::vector<Ref<>> finals;   // until describe()
    std::vector<size_t> values;  // steps of the rebuild, or FinalValues::kNothing
    Apply apply;
  };

  std::vector<Effect> effects_;
  bool write_iterators_ = false;
};

}  // namespace stator

#endif
