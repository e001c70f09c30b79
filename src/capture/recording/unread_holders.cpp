// capture/recording/unread_holders.cpp: unread values on the stack, and objects of the run that hold some.
#include "capture/recording/unread_holders.h"

#include "capture/recording/argument_reads.h"
#include "capture/recording/contents.h"
#include "capture/recording/unread_value.h"

namespace stator {

using cpython::Frame;

bool read_at(Recording& recording, PyObject*& place) {
  if (!is_unread(place)) return true;
  Argument* const argument = argument_of(place);
  if (argument == nullptr) return !PyErr_Occurred() && PyObject_IsTrue(place) >= 0;  // ends the capture
  if (!stand_for(recording, *argument)) return false;
  Py_SETREF(place, Py_NewRef(argument->stands.get()));
  return true;
}

bool is_holder(const Recording& recording, PyObject* object) {
  return object != nullptr && recording.arguments.holders.contains(object);
}

void add_holder(Recording& recording, PyObject* object) {
  if (recording.arguments.holders.insert(object).second)
    recording.arguments.kept.push_back(Ref<>::share(object));
}

void keep_unread(Recording& recording, PyObject* container, PyObject* value) {
  if (is_unread(value) || is_holder(recording, value)) add_holder(recording, container);
}

static bool holds_unread(PyObject* container) {
  if (PyTuple_CheckExact(container) || PyList_CheckExact(container)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(container); i++) {
      if (is_unread(PySequence_Fast_GET_ITEM(container, i))) return true;
    }
    return false;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_CheckExact(container) && PyDict_Next(container, &position, &key, &value)) {
    if (is_unread(value)) return true;
  }
  return false;
}

// Items that a container of the arguments had at entry, and nobody asked for, stay as they are.
bool read_holder(Recording& recording, PyObject* holder) {
  const Ref<> kept = Ref<>::share(holder);
  recording.arguments.holders.erase(holder);
  if (PyDict_Check(holder)) {
    std::vector<std::pair<Ref<>, Ref<>>> unread;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(holder, &position, &key, &value)) {
      if (is_unread(value) && value != unread_item())
        unread.emplace_back(Ref<>::share(key), Ref<>::share(value));
    }
    for (auto& [name, place] : unread) {
      PyObject* read = place.release();
      const bool done = read_at(recording, read) && PyDict_SetItem(holder, name.get(), read) == 0;
      Py_DECREF(read);
      if (!done) return false;
    }
    return true;
  }
  if (!PyTuple_Check(holder) && !PyList_Check(holder)) return true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(holder); i++) {
    PyObject*& item = PySequence_Fast_ITEMS(holder)[i];
    if (item != unread_item() && !read_at(recording, item)) return false;
  }
  return true;
}

bool read_fully(Recording& recording, PyObject*& place) {
  if (!read_at(recording, place)) return false;
  return !is_holder(recording, place) || read_holder(recording, place);
}

bool read_key(Recording& recording, PyObject*& place) {
  if (!read_fully(recording, place)) return false;
  return !PyTuple_Check(place) || find_argument(recording, place) == nullptr || read_deep(recording, place);
}

void note_bound_holders(Recording& recording, Frame* frame) {
  if (!recording.arguments.are_lazy) return;
  const PyCodeObject* code = frame->code;
  int index = code->co_argcount + code->co_kwonlyargcount;
  for (const int flag : {CO_VARARGS, CO_VARKEYWORDS}) {
    if (!(code->co_flags & flag)) continue;
    PyObject* const local = frame->localsplus[index++];
    if (local != nullptr && holds_unread(local)) add_holder(recording, local);
  }
}

}  // namespace stator
