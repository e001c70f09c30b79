// capture/recording/unread_holders.cpp: unread values on the stack, and objects of the run that hold some.
#include "capture/recording/unread_holders.h"

#include "capture/recording/argument_reads.h"
#include "capture/recording/contents.h"
#include "capture/recording/object_kind.h"
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

bool read_holder(Recording& recording, PyObject* holder) {
  const Ref<> kept = Ref<>::share(holder);
  recording.arguments.holders.erase(holder);
  return of_kind<&ObjectKind::read_unread>(recording, holder)(recording, holder);
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
    if (local != nullptr && of_kind<&ObjectKind::holds_unread>(recording, local)(local))
      add_holder(recording, local);
  }
}

}  // namespace stator
