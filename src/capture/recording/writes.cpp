// capture/recording/writes.cpp: which writes to objects that existed before can be captured, and what they
// rely on.
//
// A write that can be undone and made again is journaled; any other one ends the capture. A write by itself
// reads nothing: `items.append(x)` does not depend on what the list holds, so it is served however long the
// list is.
#include "capture/recording/writes.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/finalizers.h"
#include "capture/cpython/instance_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/policy/iterators.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_attributes.h"
#include "capture/recording/contents.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/object_kind.h"
#include "capture/recording/operands.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/results.h"
#include "capture/recording/sources.h"
#include "capture/recording/symbols.h"
#include "capture/recording/tensor_attributes.h"
#include "capture/recording/unread_holders.h"

namespace stator {
namespace {

// A class whose method of this name is Python code: it is captured as it runs.
bool has_python_method(PyTypeObject* type, const char* name) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  PyObject* found = key ? _PyType_Lookup(type, key.get()) : nullptr;
  return found != nullptr && PyFunction_Check(found);
}

// Of modules: what stands before the dictionary (`__class__`, a property of a class of the program's).
bool has_setter(PyTypeObject* type, PyObject* name) {
  PyObject* const found = _PyType_Lookup(type, name);
  return found != nullptr && Py_TYPE(found)->tp_descr_set != nullptr;
}

}  // namespace

bool before_write(Recording& recording, PyObject* object, const char* what) {
  recording.walked.written(object);
  if (is_fresh(recording, object)) return before_region_write(recording, object);
  return stop(recording, BreakCode::kOutsideEffect,
              std::string(what) + " of an object that existed before (" + source(recording, object) + ")");
}

// Taking a value out of an iterator writes to it. One of the program's own classes does so in Python code.
bool before_advancing(Recording& recording, PyObject* iterator) {
  if (is_known(recording, iterator) && has_python_method(Py_TYPE(iterator), "__next__")) {
    note_use(recording, Given::passed_on);
    return read_behaviour(recording, iterator);
  }
  if (is_fresh(recording, iterator)) {
    if (!before_region_write(recording, iterator)) return false;
    bool looks = false;
    if (!read_iterator(recording, iterator, looks)) return false;
    note_use(recording, looks ? Given::looked_at : Given::passed_on);
    if (const IteratorKind* kind = iterator_kind(iterator); kind != nullptr && kind->makes_tuples)
      expect_tuple_of(recording, iterator);
    return true;
  }
  return before_write(recording, iterator, "an iterator");
}

// What is replaced may die, and run code as it does: in the middle of the function, not when its writes are
// made.
bool before_replacing(Recording& recording, PyObject* old) {
  if (const Argument* argument = find_unread(old)) old = argument->real;
  if (const Argument* argument = old != nullptr ? find_argument(recording, old) : nullptr)
    old = argument->real;
  // One that many hold lives on, with all that it holds.
  constexpr Py_ssize_t kOwnHolders = 4;
  if (old == nullptr || recording.domain.is_immutable(old)) return true;
  // A loop that empties a large container looks at all that is left of it again and again.
  constexpr size_t kMostReplaced = 1 << 20;
  if (recording.known.replaced.size() >= kMostReplaced)
    return stop(recording, BreakCode::kFinalizer, "too many objects are replaced to look at each");
  if (!cpython::runs_code_at_death(old) && !cpython::dies_aloud(old, kOwnHolders)) {
    recording.known.replaced.push_back(Ref<>::share(old));
    return true;
  }
  return stop(recording, BreakCode::kFinalizer, std::string("a ") + Py_TYPE(old)->tp_name + " is replaced");
}

Ref<> writable_key(Recording& recording, PyObject* given_key) {
  Ref<> key = key_of(recording, given_key);
  if (!key || !require_no_stand_in(recording, key.get())) return {};
  if (is_plain_key(key.get()) || recording.domain.is_immutable(key.get()) ||
      recording.domain.is_tensor(key.get()))
    return key;
  stop(recording, BreakCode::kOutsideEffect, "an item is written under a key of the program's own type");
  return {};
}

bool before_whole_write(Recording& recording, PyObject* container) {
  recording.walked.written(container);
  if (is_fresh(recording, container)) return before_region_write(recording, container);
  // What it becomes depends on what it was. Items of an argument that nobody looks at are found by their
  // places.
  if (find_argument(recording, container) != nullptr) {
    if (!read_moved(recording, container)) return false;
    if (!PyAnySet_Check(container)) add_holder(recording, container);
  } else if (!read_contents(recording, container)) {
    return false;
  }
  return of_kind<&ObjectKind::before_whole_write>(recording, container)(recording, container);
}

bool before_item_write(Recording& recording, PyObject* container, PyObject* key, bool removes,
                       PyObject* value) {
  recording.walked.written(container);
  if (recording.domain.is_tensor(container)) return read_index(recording, key) && read_deep(recording, value);
  // A key of the program's own class is hashed and compared, and what a slice is replaced by is iterated
  // over.
  const auto read_key = PyDict_Check(container) ? &read_hashed : &read_deep;
  if (!is_constant(key) && !read_key(recording, key)) return false;
  if (PySlice_Check(key) && !read_contents(recording, value)) return false;
  if (is_fresh(recording, container))
    return before_region_write(recording, container) && read_behaviour(recording, container);
  PyTypeObject* type = Py_TYPE(container);
  if (has_python_method(type, removes ? "__delitem__" : "__setitem__"))
    return read_behaviour(recording, container);
  if (!is_writable(recording, container)) return before_write(recording, container, "an item");
  return of_kind<&ObjectKind::before_item_write>(recording, container)(recording, container, key, removes);
}

bool before_in_place(Recording& recording, PyObject* left, PyObject* right, OnList on_list) {
  recording.walked.written(left);
  if (never_changes(recording, left) || recording.domain.is_tensor(left) || is_fresh(recording, left))
    return true;
  return of_kind<&ObjectKind::before_in_place>(recording, left)(recording, left, right, on_list);
}

bool before_attribute_write(Recording& recording, PyObject* owner, PyObject* name, PyObject* value) {
  if (!require_no_stand_in(recording, owner)) return false;
  PyTypeObject* type = Py_TYPE(owner);
  if (has_python_method(type, value != nullptr ? "__setattr__" : "__delattr__"))
    return read_behaviour(recording, owner);
  // C code of a class's own (that of threading.local, say) may write anywhere.
  const bool is_plain = type->tp_setattro == PyObject_GenericSetAttr || PyModule_Check(owner) ||
                        type->tp_setattro == PyType_Type.tp_setattro || recording.domain.is_tensor(owner) ||
                        has_python_method(type, value != nullptr ? "__delattr__" : "__setattr__");
  if (!is_plain) return before_write(recording, owner, "an attribute");
  return before_plain_attribute_write(recording, owner, name, value);
}

// The write of object.__setattr__ and type.__setattr__.
bool before_plain_attribute_write(Recording& recording, PyObject* owner, PyObject* name, PyObject* value) {
  PyTypeObject* type = Py_TYPE(owner);
  if (PyModule_Check(owner) && !has_setter(type, name)) {
    if (!is_known(recording, owner) || value == nullptr)
      return before_write(recording, owner, "an attribute");
    PyObject* dict = PyModule_GetDict(owner);
    pin(recording, dict, {Origin::dict_of, owner, {}});
    return before_key_write(recording, dict, name);
  }
  if (recording.domain.is_tensor(owner)) return before_tensor_attribute_write(recording, owner, name, value);
  if (PyType_Check(owner))
    return before_class_attribute_write(recording, reinterpret_cast<PyTypeObject*>(owner), name, value);
  if (!read_behaviour(recording, owner)) return false;
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type != nullptr) note_class_read(recording, name, on_type);
  if (on_type != nullptr && Py_TYPE(on_type)->tp_descr_set != nullptr) {
    if (Py_IS_TYPE(on_type, &PyProperty_Type)) return pin_class_attribute(recording, type, on_type, name);
    if (has_python_method(Py_TYPE(on_type), value != nullptr ? "__set__" : "__delete__"))
      return pin_class_attribute(recording, type, on_type, name);
    if (is_fresh(recording, owner))
      return before_region_write(recording, owner) &&
             (value != nullptr || read_setter(recording, owner, name));
    if (cpython::is_read_only(on_type)) return true;  // raises
    if (cpython::is_reference(on_type) && is_writable(recording, owner)) {
      // An empty slot cannot be emptied.
      if (!(value != nullptr ? read_object(recording, owner)
                             : read_instance_attribute(recording, owner, name)))
        return false;
      return before_replacing(recording, read_slot(owner, on_type).get()) &&
             note_slot(recording, owner, on_type);
    }
    return before_write(recording, owner, "an attribute");
  }
  if (is_fresh(recording, owner)) return before_region_write(recording, owner);
  if (!is_writable(recording, owner) || !read_object(recording, owner))
    return before_write(recording, owner, "an attribute");
  PyObject** slot = _PyObject_GetDictPtr(owner);
  if (slot == nullptr) return before_write(recording, owner, "an attribute");
  if (*slot == nullptr) {
    if (value == nullptr) return true;  // raises
    if (!make_instance_dict(recording, owner)) return false;
  }
  return before_dict_attribute_write(recording, *slot, name, value);
}

// A C method that writes to its first argument. What it looks at is read already.
bool before_method_write(Recording& recording, std::string_view method, PyObject* const* arguments,
                         size_t count) {
  PyObject* self = arguments[0];
  recording.walked.written(self);
  if (is_fresh(recording, self)) return before_region_write(recording, self);
  if (!is_writable(recording, self)) return before_write(recording, self, "the contents");
  return of_kind<&ObjectKind::before_method_write>(recording, self)(recording, method, arguments, count);
}

}  // namespace stator
