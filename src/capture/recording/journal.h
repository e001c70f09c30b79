// capture/recording/journal.h: what the objects that a capture wrote to held before, so that every write can
// be undone, and what they hold in the end.
//
// A write is made for real, so that C code sees it; the journal is told just before. Nothing is compared or
// guarded here: which writes are allowed, and what they rely on, is decided in writes.cpp.
#ifndef STATOR_CAPTURE_RECORDING_JOURNAL_H
#define STATOR_CAPTURE_RECORDING_JOURNAL_H

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator {

enum class SetWrite : uint8_t { add, discard };

// One object that was written to.
struct Written {
  // state: like a slot, but the tensor program makes the write again.
  enum class Kind : uint8_t { dict, list, set, deque, cell, slot, type, state };
  Kind kind;
  Ref<> object;
  Ref<> entry;            // everything it held at entry, where any of it may change; a cell's content
  Ref<> keys;             // dict, set, type: each key that is written, with its old value or absent()
  Ref<> order;            // dict: the keys at entry, where one was removed; set: a copy with the same table
  Ref<> removed;          // dict: keys that were removed, whether or not they came back
  Py_ssize_t length = 0;  // list: at entry
  std::map<Py_ssize_t, Ref<>> items;                // list: old items by index
  std::vector<std::pair<bool, Ref<>>> pushed;       // deque: to the left?, the item
  std::vector<std::pair<SetWrite, Ref<>>> changes;  // set: one by one, in their order
  Ref<> descriptor;                                 // slot, state: of its class
  bool is_new(PyObject* key) const;                 // dict: written here, and not there before
};

class Journal {
 public:
  // Each is told before the write that it names; false with a Python error set.
  bool dict_key(PyObject* dict, PyObject* key, PyObject* old);  // old: what is there, or nullptr
  bool dict_removal(PyObject* dict, PyObject* key, PyObject* old);
  bool dict_all(PyObject* dict);
  bool list_tail(PyObject* list);
  bool list_item(PyObject* list, Py_ssize_t index);
  bool list_all(PyObject* list);
  bool set_key(PyObject* set, PyObject* key, SetWrite write);
  bool set_all(PyObject* set);
  bool deque_push(PyObject* deque, bool left, PyObject* item);
  bool cell(PyObject* cell);
  bool slot(PyObject* object, PyObject* descriptor, Written::Kind kind = Written::Kind::slot);
  bool class_attribute(PyTypeObject* type, PyObject* name);

  bool empty() const { return written_.empty(); }
  // Grows with every write, also with one to what was written before.
  uint64_t writes() const { return writes_; }
  const Written* find(PyObject* object) const;
  // A dictionary's key, or an attribute of a class.
  bool wrote_key(PyObject* object, PyObject* key) const;
  bool wrote_slot(PyObject* object, PyObject* descriptor) const {
    return slots_.count({object, descriptor}) != 0;
  }
  // What a dictionary or list held at entry: itself where nothing was written to it. New reference.
  Ref<> dict_at_entry(PyObject* dict) const;
  Ref<> list_at_entry(PyObject* list) const;

  // In the order of the first writes.
  const std::vector<Written>& written() const { return written_; }
  // Puts everything back, the last write first. The number of objects that are not as they were: none, unless
  // there is a fault here.
  size_t roll_back();

  // Stands for "there was nothing".
  static PyObject* absent();

 private:
  Written& at(Written::Kind kind, PyObject* object, PyObject* descriptor = nullptr);

  std::vector<Written> written_;
  uint64_t writes_ = 0;
  std::unordered_map<PyObject*, size_t> index_;  // slots: by object and descriptor, see at()
  std::map<std::pair<PyObject*, PyObject*>, size_t> slots_;
};

}  // namespace stator

#endif
