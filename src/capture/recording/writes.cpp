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
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_attributes.h"
#include "capture/recording/contents.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/operands.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/sources.h"
#include "capture/recording/symbols.h"
#include "capture/recording/tensor_attributes.h"
#include "capture/recording/unread_holders.h"

namespace stator {
namespace {

bool is_plain_deque(PyObject* object) {
  return std::string_view(Py_TYPE(object)->tp_name) == "collections.deque";
}

// A class whose method of this name is Python code: it is captured as it runs.
bool has_python_method(PyTypeObject* type, const char* name) {
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  PyObject* found = key ? _PyType_Lookup(type, key.get()) : nullptr;
  return found != nullptr && PyFunction_Check(found);
}

// No code of the user's runs where it is looked up.
bool hashes_plainly(PyObject* key) {
  const PyTypeObject* type = Py_TYPE(key);
  return is_plain_key(key) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
         (type->tp_hash == PyBaseObject_Type.tp_hash &&
          type->tp_richcompare == PyBaseObject_Type.tp_richcompare);
}

// Whether `object[key] = value` is that of a dictionary, though the class may have a `__delitem__` of its
// own.
bool sets_items_like_dict(PyTypeObject* type) {
  if (!PyType_IsSubtype(type, &PyDict_Type)) return false;
  const auto name = Ref<>::steal(PyUnicode_InternFromString("__setitem__"));
  PyObject* found = name ? _PyType_Lookup(type, name.get()) : nullptr;
  return found != nullptr && found == _PyType_Lookup(&PyDict_Type, name.get());
}

objobjargproc subscript_writer(PyTypeObject* type) {
  return type->tp_as_mapping != nullptr ? type->tp_as_mapping->mp_ass_subscript : nullptr;
}

}  // namespace

bool before_write(Recording& recording, PyObject* object, const char* what) {
  recording.walked.written(object);
  if (is_fresh(recording, object)) return stays_in_region(recording, object);
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
    if (!stays_in_region(recording, iterator)) return false;
    bool looks = false;
    if (!read_iterator(recording, iterator, looks)) return false;
    note_use(recording, looks ? Given::looked_at : Given::passed_on);
    return true;
  }
  return before_write(recording, iterator, "an iterator");
}

// What is replaced may die, and run code as it does: in the middle of the function, not when its writes are
// made.
bool before_replacing(Recording& recording, PyObject* old) {
  if (const Argument* argument = find_unread(old)) old = argument->real;
  if (old == nullptr || !cpython::has_finalizer(old)) return true;
  return stop(recording, BreakCode::kFinalizer, std::string("a ") + Py_TYPE(old)->tp_name + " is replaced");
}

// Nothing, with the capture stopped or an error set: no write under this key can be made again.
static Ref<> writable_key(Recording& recording, PyObject* given_key) {
  Ref<> key = key_of(recording, given_key);
  if (!key || !is_no_stand_in(recording, key.get())) return {};
  if (is_plain_key(key.get()) || recording.domain.is_immutable(key.get()) ||
      recording.domain.is_tensor(key.get()))
    return key;
  stop(recording, BreakCode::kOutsideEffect, "an item is written under a key of the program's own type");
  return {};
}

bool before_set_write(Recording& recording, PyObject* set, PyObject* given_key, SetWrite write) {
  recording.walked.written(set);
  if (is_fresh(recording, set)) return stays_in_region(recording, set);
  const Ref<> key = writable_key(recording, given_key);
  return key && recording.journal.set_key(set, key.get(), write);
}

bool before_key_write(Recording& recording, PyObject* container, PyObject* given_key) {
  recording.walked.written(container);
  if (is_fresh(recording, container)) return stays_in_region(recording, container);
  const Ref<> plain = writable_key(recording, given_key);
  PyObject* key = plain.get();
  if (key == nullptr) return false;
  PyObject* old = look_up(recording, container, key);
  if (old == nullptr && PyErr_Occurred()) return false;
  return before_replacing(recording, old) && recording.journal.dict_key(container, key, old);
}

bool before_whole_write(Recording& recording, PyObject* container) {
  recording.walked.written(container);
  if (is_fresh(recording, container)) return stays_in_region(recording, container);
  // What it becomes depends on what it was. Items of an argument that nobody looks at are found by their
  // places.
  if (find_argument(recording, container) != nullptr) {
    if (!read_moved(recording, container)) return false;
    if (!PyAnySet_Check(container)) add_holder(recording, container);
  } else if (!read_contents(recording, container)) {
    return false;
  }
  if (PyList_Check(container)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); i++) {
      if (!before_replacing(recording, PyList_GET_ITEM(container, i))) return false;
    }
    return recording.journal.list_all(container);
  }
  if (PyDict_Check(container) && !PyODict_Check(container)) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(container, &position, &key, &value)) {
      if (!before_replacing(recording, key) || !before_replacing(recording, value)) return false;
      // Putting it back would hash and compare it, perhaps while C code waits for just such a comparison.
      if (!hashes_plainly(key) && !recording.domain.is_immutable(key) && !recording.domain.is_tensor(key))
        return stop(recording, BreakCode::kOutsideEffect,
                    "a dictionary with keys of the program's own type is changed");
    }
    return recording.journal.dict_all(container);
  }
  if (PySet_Check(container)) {
    read_set_layout(recording, container);
    return recording.journal.set_all(container);
  }
  return before_write(recording, container, "the contents");
}

static bool before_list_write(Recording& recording, PyObject* list, PyObject* index) {
  recording.walked.written(list);
  if (is_fresh(recording, list)) return stays_in_region(recording, list);
  if (!PyLong_CheckExact(index)) return before_whole_write(recording, list);
  Py_ssize_t at = PyLong_AsSsize_t(index);
  if (at == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return before_whole_write(recording, list);
  }
  // An item of an argument must be there; how many stand behind it does not matter.
  Argument* const argument = at >= 0 && at < PyList_GET_SIZE(list) ? find_argument(recording, list) : nullptr;
  if (!(argument != nullptr ? reach_argument_item(recording, *argument, at) : read_length(recording, list)))
    return false;
  if (at < 0) at += PyList_GET_SIZE(list);
  if (at < 0 || at >= PyList_GET_SIZE(list)) return true;  // raises
  return before_replacing(recording, PyList_GET_ITEM(list, at)) && recording.journal.list_item(list, at);
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
    return stays_in_region(recording, container) && read_behaviour(recording, container);
  PyTypeObject* type = Py_TYPE(container);
  if (has_python_method(type, removes ? "__delitem__" : "__setitem__"))
    return read_behaviour(recording, container);
  if (!is_writable(recording, container)) return before_write(recording, container, "an item");
  if (subscript_writer(type) == subscript_writer(&PyDict_Type)) {
    // A key that goes leaves a place which no other write gives back.
    if (removes) return before_whole_write(recording, container);
    return before_key_write(recording, container, key);
  }
  if (!removes && sets_items_like_dict(type))
    return read_behaviour(recording, container) && before_key_write(recording, container, key);
  if (subscript_writer(type) == subscript_writer(&PyODict_Type) && !removes)
    return before_key_write(recording, container, key);
  if (subscript_writer(type) == subscript_writer(&PyList_Type)) {
    return removes ? before_whole_write(recording, container) : before_list_write(recording, container, key);
  }
  return before_write(recording, container, "an item");
}

bool before_in_place(Recording& recording, PyObject* left, PyObject* right, OnList on_list) {
  recording.walked.written(left);
  if (never_changes(recording, left) || recording.domain.is_tensor(left) || is_fresh(recording, left))
    return true;
  if (PyList_CheckExact(left) && is_writable(recording, left))
    return on_list == OnList::extends ? read_contents(recording, right) && recording.journal.list_tail(left)
                                      : before_whole_write(recording, left);
  if ((PySet_Check(left) || PyDict_CheckExact(left)) && is_writable(recording, left))
    return before_whole_write(recording, left);
  // Classes of the program's: what they do is Python code, unless a base in C does it.
  PyTypeObject* type = Py_TYPE(left);
  const bool inherits_c = PyList_Check(left) || PyDict_Check(left) || PyAnySet_Check(left) || is_deque(left);
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE && !inherits_c) return read_behaviour(recording, left);
  return before_write(recording, left, "an operand");
}

bool before_attribute_write(Recording& recording, PyObject* owner, PyObject* name, PyObject* value) {
  if (!is_no_stand_in(recording, owner)) return false;
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
  if (PyModule_Check(owner)) {
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
      return stays_in_region(recording, owner) && (value != nullptr || read_setter(recording, owner, name));
    if (cpython::is_reference(on_type) && is_writable(recording, owner)) {
      // An empty slot cannot be emptied.
      if (!(value != nullptr ? read_object(recording, owner)
                             : read_instance_attribute(recording, owner, name)))
        return false;
      return before_replacing(recording, read_slot(owner, on_type).get()) &&
             recording.journal.slot(owner, on_type);
    }
    return before_write(recording, owner, "an attribute");
  }
  if (is_fresh(recording, owner)) return stays_in_region(recording, owner);
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

bool before_dict_attribute_write(Recording& recording, PyObject* dict, PyObject* name, PyObject* value) {
  if (value != nullptr) return before_key_write(recording, dict, name);
  if (!read_dict_item(recording, dict, name)) return false;
  PyObject* old = look_up(recording, dict, name);
  if (old == nullptr) return !PyErr_Occurred();  // raises
  return before_replacing(recording, old) && recording.journal.dict_removal(dict, name, old);
}

bool before_cell_write(Recording& recording, PyObject* cell) {
  // Cells that are not pinned were made by this capture.
  if (!is_no_stand_in(recording, cell) || !is_no_frame_cell(recording, cell)) return false;
  if (find_argument(recording, cell) != nullptr)
    return before_replacing(recording, PyCell_GET(cell)) && recording.journal.cell(cell);
  if (!is_pinned(recording, cell)) return true;
  if (recording.known.proven_cells.count(cell) != 0)
    return stop(recording, BreakCode::kOutsideEffect,
                "a variable of the function that made this one is written");
  return before_replacing(recording, PyCell_GET(cell)) && recording.journal.cell(cell);
}

// Keys that are known before need no look at what is there; those of keywords are not looked for.
static bool before_update(Recording& recording, PyObject* dict, PyObject* const* arguments, size_t count) {
  if (count != 1 || recording.keywords != 0 || !PyDict_CheckExact(arguments[0]))
    return before_whole_write(recording, dict);
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(arguments[0], &position, &key, &value)) {
    if (!before_key_write(recording, dict, key)) return false;
  }
  return true;
}

// A C method that writes to its first argument. What it looks at is read already.
bool before_method_write(Recording& recording, std::string_view method, PyObject* const* arguments,
                         size_t count) {
  PyObject* self = arguments[0];
  recording.walked.written(self);
  if (is_fresh(recording, self)) return stays_in_region(recording, self);
  if (!is_writable(recording, self)) return before_write(recording, self, "the contents");
  const bool has_key = count >= 2;
  if (PyDict_Check(self)) {
    if (has_key && method == "__setitem__") return before_key_write(recording, self, arguments[1]);
    if (has_key && method == "setdefault") {
      recording.arguments.gets_item = true;  // what is there is given, and not looked at
      const bool read = read_dict_item(recording, self, arguments[1]);
      recording.arguments.gets_item = false;
      return read && before_key_write(recording, self, arguments[1]);
    }
    if (method == "update") return before_update(recording, self, arguments + 1, count - 1);
  } else if (PyList_Check(self)) {
    if (method == "append" || method == "extend" || method == "__iadd__")
      return recording.journal.list_tail(self);
    if (has_key && method == "__setitem__") return before_list_write(recording, self, arguments[1]);
  } else if (PySet_Check(self)) {
    if (has_key && (method == "add" || method == "discard"))
      return before_set_write(recording, self, arguments[1],
                              method == "add" ? SetWrite::add : SetWrite::discard);
  } else if (is_plain_deque(self)) {
    if (count == 2 && (method == "append" || method == "appendleft"))
      return recording.journal.deque_push(self, method == "appendleft", arguments[1]);
  }
  return before_whole_write(recording, self);
}

}  // namespace stator
