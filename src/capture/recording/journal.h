// capture/recording/journal.h: what the objects that a capture wrote to held before, so that every write can
// be undone, and what they hold in the end.
//
// A write is made for real, so that C code sees it; the journal is told just before. Nothing is compared or
// guarded here: which writes are allowed, and what they rely on, is decided before (writes.h). What is noted
// of an object, and how it is put back, is the matter of its kind: capture/objects/.
#ifndef STATOR_CAPTURE_RECORDING_JOURNAL_H
#define STATOR_CAPTURE_RECORDING_JOURNAL_H

#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

class Effects;
struct Recording;

// One object that was written to. Each kind of object has a class of its own for it.
class Written {
 public:
  explicit Written(PyObject* object) : object(Ref<>::share(object)) {}
  virtual ~Written() = default;
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;

  const Ref<> object;
  Ref<> entry;  // everything it held at entry, where any of it may change; a cell's or slot's content

  // Makes it hold what it held at entry; false with a Python error set.
  virtual bool put_back() const = 0;
  // Whether it does: the same objects in the same places.
  virtual bool is_as_before() const = 0;
  // Adds the writes that a later call makes, from what the object holds now. A Python error may be set.
  virtual void collect(Effects& effects, const Recording& recording) const = 0;

  // Whether this key of a dictionary or attribute of a class was written.
  virtual bool wrote_key(PyObject* /*key*/) const { return false; }
  // Of a list: whether this item was written, and how many it had at entry.
  virtual bool wrote_item(Py_ssize_t /*index*/) const { return false; }
  virtual Py_ssize_t entry_length() const { return 0; }
  // Whether code that is not captured might look an attribute up that was written.
  virtual bool is_seen_by_lookups() const { return false; }
};

class Journal {
 public:
  // What is noted of the object, made before its first write. Counts one more write.
  template <class Kind>
  Kind& note(PyObject* object) {
    const auto [found, is_new] = index_.try_emplace(object, written_.size());
    return note_at<Kind>(found->second, is_new, object);
  }
  // The same for one slot of it, by its descriptor.
  template <class Kind>
  Kind& note(PyObject* object, PyObject* descriptor) {
    const auto [found, is_new] = slots_.try_emplace({object, descriptor}, written_.size());
    return note_at<Kind>(found->second, is_new, object, descriptor);
  }

  bool empty() const { return written_.empty(); }
  // Grows with every write, also with one to what was written before.
  uint64_t writes() const { return writes_; }
  // nullptr: nothing was written to it but slots.
  const Written* find(PyObject* object) const;
  template <class Kind>
  const Kind* find(PyObject* object) const {
    return static_cast<const Kind*>(find(object));
  }
  // A dictionary's key, or an attribute of a class.
  bool wrote_key(PyObject* object, PyObject* key) const;
  bool wrote_slot(PyObject* object, PyObject* descriptor) const {
    return slots_.count({object, descriptor}) != 0;
  }

  // In the order of the first writes.
  const std::vector<std::unique_ptr<Written>>& written() const { return written_; }
  // Puts everything back, the last write first. The number of objects that are not as they were: none, unless
  // there is a fault here.
  size_t roll_back();

  // Stands for "there was nothing".
  static PyObject* absent();
  // The same as nullptr.
  static PyObject* or_null(PyObject* noted) { return noted == absent() ? nullptr : noted; }

 private:
  template <class Kind, class... Of>
  Kind& note_at(size_t place, bool is_new, Of... of) {
    writes_++;
    if (is_new) written_.push_back(std::make_unique<Kind>(of...));
    return static_cast<Kind&>(*written_[place]);
  }

  std::vector<std::unique_ptr<Written>> written_;
  uint64_t writes_ = 0;
  std::unordered_map<PyObject*, size_t> index_;
  std::map<std::pair<PyObject*, PyObject*>, size_t> slots_;
};

}  // namespace stator

#endif
