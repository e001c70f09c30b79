// capture/recording/class_reads.h: in which ways a capture came to know what classes hold.
#ifndef STATOR_CAPTURE_RECORDING_CLASS_READS_H
#define STATOR_CAPTURE_RECORDING_CLASS_READS_H

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "capture/cpython/python.h"

namespace stator {

class ClassReads {
 public:
  // An attribute of this name (interned) was read on some class. False: it was noted already.
  bool note(PyObject* name) { return names_.insert(name).second; }
  bool has(PyObject* name) const { return names_.contains(name); }

  // A class was given to C code, or its dictionary to anybody: reads of it are not noted.
  void give_out(PyTypeObject* type) { given_out_.insert(type); }
  bool is_given_out(PyTypeObject* type) const { return given_out_.contains(type); }
  // The same of it or a class derived from it.
  bool is_seen_through(PyTypeObject* type) const {
    return std::any_of(given_out_.begin(), given_out_.end(),
                       [&](PyTypeObject* given) { return PyType_IsSubtype(given, type) != 0; });
  }

  // Dictionaries of classes of which single items are guarded.
  void add_dict(PyObject* dict, PyTypeObject* type) { dicts_.emplace(dict, type); }
  bool has_dicts() const { return !dicts_.empty(); }
  // nullptr: another dictionary.
  PyTypeObject* class_with(PyObject* dict) const {
    const auto found = dicts_.find(dict);
    return found != dicts_.end() ? found->second : nullptr;
  }

 private:
  std::unordered_set<PyObject*> names_;
  std::unordered_set<PyTypeObject*> given_out_;
  std::unordered_map<PyObject*, PyTypeObject*> dicts_;
};

}  // namespace stator

#endif
