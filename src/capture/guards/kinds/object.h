// capture/guards/kinds/object.h: the class of an object, and where it keeps its attributes.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_OBJECT_H
#define STATOR_CAPTURE_GUARDS_KINDS_OBJECT_H

#include "capture/cpython/interrupts.h"
#include "capture/guards/guard_kind.h"

namespace stator {

struct ObjectGuard {
  PyObject* object;
  PyTypeObject* type;
  Ref<> type_name;                 // the class may die before the guard is put into words
  bool with_dict = false;          // attributes were read: the place of its dictionary counts, if it has one
  PyObject** dict_slot = nullptr;  // where the object keeps its dictionary
  PyObject* dict = nullptr;
  // The dictionary and key that it was reached through; nullptr: it was reached in another way.
  PyObject *holder = nullptr, *holder_key = nullptr;

  explicit ObjectGuard(PyObject* object) : object(object), type(Py_TYPE(object)) {
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
      type_name = Ref<>::share(reinterpret_cast<PyHeapTypeObject*>(type)->ht_name);
    else
      type_name = Ref<>::steal(PyUnicode_InternFromString(type->tp_name));
    if (!type_name) drop_error();
  }

  GuardKey key() const { return {object}; }
  bool holds(FoundByGuards) {
    return Py_TYPE(object) == type && (dict_slot == nullptr || *dict_slot == dict);
  }
  std::string text() const { return "is a " + utf8(type_name.get()); }
  void words(GuardWords& words) const {
    words.add(&object->ob_type);
    if (dict_slot != nullptr) words.add(dict_slot);
  }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
