// capture/guards/kinds/dict.h: items of a dictionary, or all of them in their order.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_DICT_H
#define STATOR_CAPTURE_GUARDS_KINDS_DICT_H

#include "capture/cpython/dict_version.h"
#include "capture/guards/guard_kind.h"
#include "capture/guards/held_key.h"
#include "capture/guards/places.h"

namespace stator {

struct DictGuard {
  PyObject* dict;
  bool whole = false;  // iterated: keys and their order count
  struct Read {
    HeldKey key;
    ExpectedValue value;
    // What the dictionary holds under the key; nullptr: nothing, also where the key is gone.
    PyObject* found_in(PyObject* dict) const { return item_at(dict, key); }
  };
  std::vector<Read> reads;

  GuardKey key() const { return {dict}; }
  bool holds(FoundByGuards) {
    if (whole) return holds_whole();
    for (const Read& read : reads) {
      if (!read.value.matches(read.found_in(dict))) return false;
    }
    return true;
  }
  std::string text() const {
    if (whole) return "has the same " + std::to_string(reads.size()) + " items";
    std::string all;
    for (const Read& read : reads) {
      if (!all.empty()) all += ", ";
      all += "[" + text_of(expect(read.key.get())) + "] is " + text_of(read.value);
    }
    return all;
  }
  void words(GuardWords& words) const { words.add(cpython::dict_version_address(dict)); }
  bool note_changes(Changes& changes) {
    if (whole && PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(reads.size())) return false;
    for (const Read& read : reads) {
      if (!read.key.get() || !changes.note(read.value, read.key.get(), read.found_in(dict))) return false;
    }
    return true;
  }
  template <class Visit>
  void each_expected(Visit&& visit) {
    for (Read& read : reads) visit(read.value);
  }

 private:
  bool holds_whole() const {
    if (PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(reads.size())) return false;
    PyObject *found_key, *value;
    Py_ssize_t position = 0;
    for (const Read& read : reads) {
      if (!PyDict_Next(dict, &position, &found_key, &value)) return false;
      PyObject* const expected = read.key.get();
      if (expected == nullptr || !expect(expected).matches(found_key) || !read.value.matches(value))
        return false;
    }
    return true;
  }
};

}  // namespace stator

#endif
