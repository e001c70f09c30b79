// capture/program/effects.h: the writes of a captured function to objects that existed before it, made again
// on every call.
//
// They are taken from the journal at the end of the capture, by location: what was written twice is written
// once, with its last value. Nobody can look in between, since a program is all that runs.
#ifndef STATOR_CAPTURE_PROGRAM_EFFECTS_H
#define STATOR_CAPTURE_PROGRAM_EFFECTS_H

#include <vector>

#include "capture/program/rebuild.h"

namespace stator {

class Effects {
 public:
  // Reads the final values. Before the journal is rolled back: what is written goes to `rebuild` later, in
  // describe().
  bool collect(const Journal& journal, const Recording& recording);
  // False: stopped.
  bool describe(Rebuild& rebuild, Rebuild::Capture& capture);
  // False with an error set. `values` are those that the rebuild made.
  bool apply(const std::vector<Ref<>>& values, PyObject* const* arguments) const;
  size_t size() const { return effects_.size(); }

 private:
  static constexpr size_t kNothing = SIZE_MAX - 1;
  enum class Kind : uint8_t {
    set_key,     // dictionary
    remove_key,  // dictionary, if it is there
    replace,     // the whole contents of a dictionary, list or set
    set_index,   // list
    append,      // list: several items
    add,         // set
    discard,     // set
    push,        // deque, to the right
    push_left,   // deque
    set_cell,
    set_slot,
    set_class_attribute,
  };
  struct Effect {
    Kind kind;
    PyObject* target = nullptr;                // pinned: the guards prove it; or found by path
    ArgumentPath path;                         // of a container of the arguments, where there is no target
    Ref<> key;                                 // key, index or descriptor
    std::vector<Ref<>> finals;                 // until describe()
    std::vector<size_t> values;                // steps of the rebuild; kNothing: it is emptied
    std::optional<cpython::SetLayout> layout;  // replace of a set
  };
  void note(Kind kind, PyObject* target, PyObject* key, std::vector<Ref<>> finals);
  void collect_keys(const Written& written, const Recording& recording);
  void collect_moved_keys(const Written& written, const Recording& recording);
  void collect_class(const Written& written, const Recording& recording);
  bool apply_one(const Effect& effect, PyObject* target, const std::vector<Ref<>>& values) const;

  std::vector<Effect> effects_;
};

}  // namespace stator

#endif
