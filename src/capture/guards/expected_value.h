// capture/guards/expected_value.h: a value that a capture read, and how it is known again.
#ifndef STATOR_CAPTURE_GUARDS_EXPECTED_VALUE_H
#define STATOR_CAPTURE_GUARDS_EXPECTED_VALUE_H

#include <string>
#include <vector>

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {

// A value that was read: the same object, or for constants an equal one of the same type.
struct ExpectedValue {
  PyObject* object = nullptr;  // nullptr: there was none
  Ref<> constant;              // kept when it is compared by value
  // Another guard looks at what is there.
  static ExpectedValue anything();
  bool matches(PyObject* found) const;
  // The same, and takes an equal constant as its own: its address is compared from now on, so it must live.
  bool is_now(PyObject* found);
};

// Constants are compared by value: numbers, strings, bytes, None and the like.
bool is_constant(PyObject* object);
ExpectedValue expect(PyObject* object);

// The items of a set or a deque in the order of iteration.
std::vector<ExpectedValue> expect_items(PyObject* container);

// What a getter in C gives; nothing, with an error set, where it raises.
Ref<> read_getter(PyObject* object, PyObject* descriptor);

// What a context variable was set to; nothing where it was not, whether it has a default or not.
Ref<> read_context_variable(PyObject* variable);

// What a slot holds, through a member descriptor; nothing where it is empty.
Ref<> read_slot(PyObject* object, PyObject* descriptor);

// Calls `visit` with each item (borrowed) until it returns false. False: stopped, or the container is of no
// kind that is known.
template <class Visit>
bool each_item(PyObject* container, Visit&& visit) {
  if (PyAnySet_Check(container)) {
    Py_ssize_t position = 0;
    PyObject* key;
    Py_hash_t hash;
    while (_PySet_NextEntry(container, &position, &key, &hash)) {
      if (!visit(key)) return false;
    }
    return true;
  }
  const Py_ssize_t count = PySequence_Size(container);
  for (Py_ssize_t i = 0; i < count; i++) {
    auto item = Ref<>::steal(PySequence_GetItem(container, i));
    if (!item) drop_error();
    if (!item || !visit(item.get())) return false;
  }
  return count >= 0;
}

// "?" for anything but a text, or where an error is set, which is cleared.
std::string utf8(PyObject* text);
// Of constants and the like: runs no code of the user's. "?" where there is none.
std::string repr_of(PyObject* object);
// In words. An object that is compared by identity may be gone by now: nothing is asked of it.
std::string text_of(const ExpectedValue& value);

}  // namespace stator

#endif
