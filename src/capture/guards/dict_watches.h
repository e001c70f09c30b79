// capture/guards/dict_watches.h: sets of guards that hear when one of their dictionaries changes.
//
// From 3.12 on CPython gives notice, so that a call that hits looks at no dictionary at all. Before that, and
// where every slot for such notices is taken, versions are compared.
#ifndef STATOR_CAPTURE_GUARDS_DICT_WATCHES_H
#define STATOR_CAPTURE_GUARDS_DICT_WATCHES_H

#include <unordered_set>

#include "capture/cpython/ref.h"

namespace stator {

// The dictionaries of one set of guards.
class DictWatches {
 public:
  DictWatches() = default;
  ~DictWatches();
  DictWatches(const DictWatches&) = delete;
  DictWatches& operator=(const DictWatches&) = delete;

  // False: it must be looked at on every call. Changes its version. Adding one twice does nothing.
  bool add(PyObject* dict);
  void remove(PyObject* dict);
  bool empty() const { return dicts_.empty(); }
  // Whether one of them has changed, or was about to, since the last settle().
  bool changed() const { return changed_; }
  // Whether one of them died since then.
  bool lost() const { return lost_; }
  void settle() { changed_ = lost_ = false; }

 private:
  struct Registry;
  std::unordered_set<PyObject*> dicts_;  // addresses; they may be gone
  bool changed_ = false;
  bool lost_ = false;
};

}  // namespace stator

#endif
