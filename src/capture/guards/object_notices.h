// capture/guards/object_notices.h: notice of objects that are given another class or another dictionary.
//
// Python code does either in one way only: through the setter behind `object.__class__`, and the one behind
// the `__dict__` of classes. Both are wrapped by ones that count, so a call that hits need not look at the
// class and the dictionary's place of every object that the capture went through.
#ifndef STATOR_CAPTURE_GUARDS_OBJECT_NOTICES_H
#define STATOR_CAPTURE_GUARDS_OBJECT_NOTICES_H

#include <cstdint>

#include "capture/cpython/ref.h"

namespace stator {

class ObjectNotices {
 public:
  // Whether every change of the object's class, and of its dictionary's place if `with_dict`, is counted.
  // False: it has setters of its own (exceptions, functions), and must be looked at.
  static bool tell_of(PyObject* object, bool with_dict);
  // Whether some object was changed since the last settle().
  bool came() const { return seen_ != count_; }
  void settle() { seen_ = count_; }

 private:
  static uint64_t count_;
  uint64_t seen_ = count_;

  struct Setters;
};

}  // namespace stator

#endif
