// capture/recording/contents.cpp: what C code may see of an object that it is given.
#include "capture/recording/contents.h"

#include "capture/cpython/type_alias.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/object_kind.h"
#include "capture/recording/operands.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/unread_holders.h"
#include "capture/recording/unread_value.h"

namespace stator {
bool read_behaviour(Recording& recording, PyObject* object) {
  if (recording.domain.is_tensor(object) || never_changes(recording, object)) return true;
  return read_type(recording, Py_TYPE(object));
}

// The class alone: a list stays one whatever it holds. Where an object comes from that no guard leads to (the
// node of autograd's that a tracer shows), another call may have one of another class.
static bool read_kind_of(Recording& recording, PyObject* object) {
  if (is_constant(object) || never_changes(recording, object)) return true;
  const bool may_change = Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE &&
                          !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
  if (PyType_Check(object) || PyModule_Check(object) || recording.domain.is_tensor(object) ||
      cpython::is_type_alias(object))
    return read_contents(recording, object);
  if (!may_change)
    return is_known(recording, object) ||
           stop(recording, BreakCode::kUnguardable,
                std::string("the class of an object of unknown origin (") + Py_TYPE(object)->tp_name + ")");
  return reads_freely(recording, object) ? read_type(recording, Py_TYPE(object))
                                         : read_object(recording, object);
}

static bool read_outer(Recording& recording, PyObject* object);

bool read_argument(Recording& recording, PyObject* object, Sight sight) {
  switch (sight) {
    case Sight::nothing:
      return true;
    case Sight::kind:
      return read_kind_of(recording, object);
    case Sight::pairs:
      if (object == nullptr || !(PyDict_Check(object) || Py_IS_TYPE(object, &PyDictProxy_Type)))
        return read_deep(recording, object);
      [[fallthrough]];
    case Sight::items:
      return read_contents(recording, object);
    case Sight::keys:
      return object != nullptr && PyDict_Check(object) ? read_moved(recording, object)
                                                       : read_contents(recording, object);
    case Sight::size:
      return object == nullptr || read_size(recording, object);
    case Sight::truth:
      return object == nullptr || read_truth(recording, object);
    case Sight::everything:
      return read_deep(recording, object);
  }
  return false;
}

bool read_contents(Recording& recording, PyObject* object) {
  if (object == nullptr || is_constant(object)) return true;
  if (is_unread(object))
    return stop(recording, BreakCode::kUnguardable, "C code looks at an argument that was not read before");
  Argument* const argument = find_argument(recording, object);
  if (argument != nullptr && !read_argument_whole(recording, *argument)) return false;
  if (is_holder(recording, object) && !read_holder(recording, object)) return false;
  return argument != nullptr ? read_type(recording, Py_TYPE(object)) : read_outer(recording, object);
}

bool read_moved(Recording& recording, PyObject* object) {
  if (object == nullptr || is_constant(object)) return true;
  if (Argument* argument = find_argument(recording, object))
    return read_type(recording, Py_TYPE(object)) && reach_argument_items(recording, *argument);
  return read_outer(recording, object);
}

static bool read_outer(Recording& recording, PyObject* object) {
  const ObjectKind& kind = kind_of(recording, object);
  if (kind.shows_another) return kind.read(recording, object);
  if (never_changes(recording, object) || reads_freely(recording, object) ||
      recording.domain.is_tensor(object)) {
    if (kind.pin_parts != nullptr) kind.pin_parts(recording, object);
    look_at(recording, object);
    if (!is_fresh(recording, object)) return true;
    bool looks = false;
    return read_type(recording, Py_TYPE(object)) && read_iterator(recording, object, looks);
  }
  return (kind.read != nullptr ? kind : any_instance).read(recording, object);
}

bool read_subscript(Recording& recording, PyObject* container, PyObject* key) {
  if (recording.domain.is_tensor(container)) {
    look_at(recording, container);
    return read_index(recording, key);
  }
  // A key of the program's own class is hashed and compared.
  const auto read_key = PyDict_Check(container) ? &read_hashed : &read_deep;
  if (!is_constant(key) && !read_key(recording, key)) return false;
  if (Argument* argument = find_argument(recording, container)) {
    if (!read_type(recording, Py_TYPE(container))) return false;
    return PyDict_Check(container) || PyAnySet_Check(container)
               ? read_argument_member(recording, *argument, key)
               : read_argument_item(recording, *argument, key);
  }
  return of_kind<&ObjectKind::read_item>(recording, container)(recording, container, key);
}

// Sequences inside of an index become tensors by their values, also by those of tensors in them, which the
// graph does not see.
static bool holds_tensor(const Recording& recording, PyObject* sequence) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence, i);
    if (recording.domain.is_tensor(item)) return true;
    if ((PyList_Check(item) || PyTuple_Check(item)) && holds_tensor(recording, item)) return true;
  }
  return false;
}

bool read_index(Recording& recording, PyObject* key) {
  if (is_constant(key) || recording.domain.is_tensor(key)) return read_contents(recording, key);
  if (!read_deep(recording, key)) return false;
  if (!PyTuple_Check(key) && !PyList_Check(key)) return true;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(key); i++) {
    PyObject* item = PySequence_Fast_GET_ITEM(key, i);
    if ((PyList_Check(item) || PyTuple_Check(item)) && holds_tensor(recording, item))
      return stop(recording, BreakCode::kReadsMemory, "tensors in a sequence inside of an index");
  }
  return true;
}

}  // namespace stator
