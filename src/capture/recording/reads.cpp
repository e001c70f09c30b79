// capture/recording/reads.cpp: reads of objects that existed before the capture, and the guards that make
// them valid.
#include "capture/recording/reads.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/instance_dict.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/places.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/recording.h"
#include "capture/recording/symbols.h"

namespace stator {

void look_at(Recording& recording, PyObject* tensor) {
  if (recording.domain.is_tensor(tensor) && is_pinned(recording, tensor)) recording.looked_at.insert(tensor);
}

bool read_object(Recording& recording, PyObject* object) {
  if (!read_type(recording, Py_TYPE(object))) return false;
  if (is_of_call(recording, object)) return true;
  // One of a tensor of this call; read_attribute and the guards on objects see to others.
  if (recording.domain.is_ragged_size(object) && !is_pinned(recording, object)) return true;
  if (object == reinterpret_cast<PyObject*>(recording.known.proven_function))
    return stop(recording, BreakCode::kUnguardable,
                "an attribute of a function that may be made anew on every call");
  if (!is_pinned(recording, object)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("an object of unknown origin is read (") + Py_TYPE(object)->tp_name + ")");
  }
  pin(recording, reinterpret_cast<PyObject*>(Py_TYPE(object)), {Origin::type_of, object, {}});
  return read_place_of_dict(recording, object);
}

bool read_place_of_dict(Recording& recording, PyObject* object) {
  ObjectGuard& guard = guard_class(recording, object);
  if (guard.with_dict) return true;
  guard.with_dict = true;
  if (PyObject** slot = cpython::noticing_dict(object)) {
    guard.dict_slot = slot;
    guard.dict = *slot;
    if (*slot != nullptr) pin(recording, *slot, {Origin::dict_of, object, {}});
  } else if (PyErr_Occurred()) {
    return false;
  }
  return true;
}

bool make_instance_dict(Recording& recording, PyObject* object) {
  // That of the object which stands for it would be another one.
  if (const Argument* argument = find_argument(recording, object)) {
    recording.arguments.repeated.insert(argument->real);
    return stop(recording, BreakCode::kUnguardable, "attributes of an OrderedDict among the arguments");
  }
  const auto dict = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict) return false;
  recording.guards.object(object).dict = dict.get();
  pin(recording, dict.get(), {Origin::dict_of, object, {}});
  return read_dict(recording, dict.get());
}

ObjectGuard& guard_class(Recording& recording, PyObject* object) {
  ObjectGuard& guard = recording.guards.object(object);
  const auto origin = recording.known.pinned.find(object);
  if (origin != recording.known.pinned.end() && origin->second.kind == Origin::item &&
      PyDict_Check(origin->second.parent)) {
    guard.holder = origin->second.parent;
    guard.holder_key = origin->second.key.get();
  }
  return guard;
}

void read_field(Recording& recording, PyObject* owner, PyObject** field, const char* name) {
  recording.guards.add(FieldGuard{field, name, expect(*field)}, owner);
  if (*field != nullptr)
    pin(recording, *field, {Origin::attribute, owner, Ref<>::steal(PyUnicode_FromString(name))});
}

PyObject* read_member(Recording& recording, PyObject* owner, const char* name) {
  const auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  PyObject* member = key ? _PyType_Lookup(Py_TYPE(owner), key.get()) : nullptr;
  if (member == nullptr || !Py_IS_TYPE(member, &PyMemberDescr_Type)) return nullptr;
  const PyMemberDef* definition = reinterpret_cast<PyMemberDescrObject*>(member)->d_member;
  auto** const field = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(owner) + definition->offset);
  read_field(recording, owner, field, name);
  return *field;
}

}  // namespace stator
