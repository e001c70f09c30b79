// capture/recording/tensor_attributes.cpp: attributes of tensors that a capture reads and writes.
//
// A tensor has attributes that its class defines in C, which the domain knows, and those of a dictionary, as
// any object. A tracer that stands for a tensor of the call has a dictionary of its own: what is read there
// is fetched from the tensor and guarded, what is written is made again on the tensor of each call.
#include "capture/recording/tensor_attributes.h"

#include <algorithm>

#include "capture/cpython/exported.h"
#include "capture/cpython/instance_values.h"
#include "capture/cpython/interrupts.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/places.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/writes.h"

namespace stator {

static bool read_object_attribute(Recording& recording, PyObject* tensor, PyObject* name,
                                  PyObject* descriptor);

void make_given_tensor(Recording& recording, PyObject* tracer, PyObject* real, const std::string& name,
                       bool is_placed) {
  make_given(recording, tracer);
  recording.given_tensors.add(tracer, real, name, is_placed);
}

// Another attempt gives the tensor as it is.
static bool want_by_identity(Recording& recording, PyObject* tracer) {
  if (const GivenTensors::Given* given = recording.given_tensors.find(tracer))
    recording.wanted_by_identity.insert(given->real);
  // Parameters among the arguments come in numbers: not an attempt for each.
  recording.given_tensors.each([&](const GivenTensors::Given& given) {
    if (recording.domain.keeps_objects(given.real)) recording.wanted_by_identity.insert(given.real);
  });
  return stop(recording, BreakCode::kUnguardable, "an attribute of an argument that is a tensor");
}

static bool read_given_attribute(Recording& recording, PyObject* tracer, PyObject* name) {
  GivenTensors::Given* const given = recording.given_tensors.find(tracer);
  if (given == nullptr) return true;
  PyObject** own = _PyObject_GetDictPtr(tracer);
  if (own != nullptr && *own != nullptr &&
      (recording.journal.wrote_key(*own, name) || PyDict_GetItemWithError(*own, name) != nullptr))
    return true;
  if (std::find(given->read.begin(), given->read.end(), name) != given->read.end()) return true;
  PyObject** dict = stator_has_no_attributes(given->real) ? nullptr : _PyObject_GetDictPtr(given->real);
  PyObject* value = dict != nullptr && *dict != nullptr ? item_at(*dict, name) : nullptr;
  if (value != nullptr && !is_constant(value)) return want_by_identity(recording, tracer);
  given->read.push_back(name);
  recording.guards.add(GivenAttributeGuard{given->index, given->name, Ref<>::share(name), expect(value)},
                       nullptr);
  return value == nullptr || PyObject_GenericSetAttr(tracer, name, value) == 0;
}

// What the class has under this name gives way to what the tensor's own dictionary has, unless it is a getter
// with a setter. Most tensors have no dictionary.
static bool read_own_attribute(Recording& recording, PyObject* tensor, PyObject* name) {
  if (reads_freely(recording, tensor)) return read_given_attribute(recording, tensor, name);
  if (!is_pinned(recording, tensor)) return true;
  if (!read_place_of_dict(recording, tensor)) return false;
  PyObject** const dict = _PyObject_GetDictPtr(tensor);
  return dict == nullptr || *dict == nullptr || read_dict_item(recording, *dict, name);
}

static bool has_own_attribute(PyObject* tensor, PyObject* name) {
  PyObject** const dict = _PyObject_GetDictPtr(tensor);
  return dict != nullptr && *dict != nullptr && PyDict_GetItemWithError(*dict, name) != nullptr;
}

static bool is_object_attribute(const Recording& recording, PyObject* name) {
  PyObject* const known = recording.domain.object_attribute();
  return known != nullptr && PyUnicode_Compare(name, known) == 0;
}

bool read_tensor_attribute(Recording& recording, PyObject* tensor, PyObject* name) {
  PyTypeObject* type = Py_TYPE(tensor);
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type == nullptr)
    return reads_freely(recording, tensor) ? read_given_attribute(recording, tensor, name)
                                           : read_instance_attribute(recording, tensor, name);
  if (Py_TYPE(on_type)->tp_descr_set == nullptr) {
    if (!read_own_attribute(recording, tensor, name)) return false;
    if (has_own_attribute(tensor, name)) return true;
  }
  if (recording.domain.attribute_is_captured(tensor, name)) {
    if (!recording.pending.empty() && recording.pending.back().frame == recording.frame)
      recording.pending.back().kind = PendingResult::shown;
    if (!is_pinned(recording, tensor)) return true;
    look_at(recording, tensor);
    if (Ref<> instead = recording.capture.attribute(tensor, name)) {
      if (recording.pending.empty() || recording.pending.back().frame != recording.frame)
        return stop(recording, BreakCode::kReadsMemory, "an attribute of a tensor is read by C code");
      recording.pending.back().instead = std::move(instead);
    }
    if (!PyErr_Occurred()) return true;
    drop_error();
    return stop(recording, BreakCode::kReadsMemory,
                std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
  }
  if (Py_IS_TYPE(on_type, &PyGetSetDescr_Type) && is_object_attribute(recording, name)) {
    if (!is_fresh(recording, tensor)) return read_object_attribute(recording, tensor, name, on_type);
    if (recording.domain.keeps_objects(tensor)) return true;  // a tracer has it as a run's tensor has
  }
  if (Py_IS_TYPE(on_type, &PyGetSetDescr_Type) || Py_IS_TYPE(on_type, &PyMemberDescr_Type)) {
    return stop(recording, BreakCode::kReadsMemory,
                std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
  }
  look_at(recording, tensor);  // it may get another class
  return read_type(recording, type) && pin_class_attribute(recording, type, on_type, name);
}

// `grad`: its tensor is made anew by every backward, so it may be read from its place.
static bool read_object_attribute(Recording& recording, PyObject* tensor, PyObject* name,
                                  PyObject* descriptor) {
  if (recording.given_tensors.contains(tensor)) return want_by_identity(recording, tensor);
  if (!is_pinned(recording, tensor))
    return stop(recording, BreakCode::kUnguardable, "an attribute of a tensor of unknown origin");
  if (recording.journal.wrote_slot(tensor, descriptor)) return true;
  const Ref<> value = read_getter(tensor, descriptor);
  if (!value) return false;
  if (recording.guards.has<GetterGuard>(tensor, descriptor)) return true;
  if (const Placed placed = see_place(recording, tensor, name, value.get()); placed != Placed::no)
    return placed == Placed::yes;
  recording.guards.add(GetterGuard(tensor, descriptor, value.get()), tensor);
  pin(recording, value.get(), {Origin::attribute, tensor, Ref<>::share(name)});
  return true;
}

static bool before_object_attribute_write(Recording& recording, PyObject* tensor, PyObject* value,
                                          PyObject* descriptor) {
  if (recording.given_tensors.contains(tensor)) return want_by_identity(recording, tensor);
  if (is_fresh(recording, tensor) && recording.domain.keeps_objects(tensor)) return true;
  if (!is_pinned(recording, tensor)) return before_write(recording, nullptr, "an attribute of a tensor");
  // Whether the tensor takes it depends on its sizes and dtype.
  if (value != nullptr && recording.domain.is_tensor(value)) look_at(recording, tensor);
  return note_slot(recording, tensor, descriptor);
}

// requires_grad, data: the program does it in its place among the operators.
bool before_recorded_write(Recording& recording, PyObject* tensor, PyObject* name, PyObject* value) {
  using enum DomainCapture::AttributeWrite;
  PyObject* descriptor = _PyType_Lookup(Py_TYPE(tensor), name);
  auto how = refused;
  if (value != nullptr && descriptor != nullptr &&
      (is_pinned(recording, tensor) || reads_freely(recording, tensor)))
    how = recording.capture.write_attribute(tensor, name, value);
  if (how == refused || (how == done && recording.stored == nullptr)) {
    return stop(recording, BreakCode::kOutsideEffect,
                std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor is written");
  }
  if (how == made)
    return !is_pinned(recording, tensor) || note_slot(recording, tensor, descriptor, SlotWrite::by_program);
  // What is there is written once more.
  Ref<> same = read_getter(tensor, descriptor);
  if (!same) return false;
  Py_SETREF(*recording.stored, same.release());
  return true;
}

bool before_tensor_attribute_write(Recording& recording, PyObject* tensor, PyObject* name, PyObject* value) {
  PyObject* on_type = _PyType_Lookup(Py_TYPE(tensor), name);
  if (on_type != nullptr) {
    if (Py_IS_TYPE(on_type, &PyProperty_Type))
      return read_type(recording, Py_TYPE(tensor)) &&
             pin_class_attribute(recording, Py_TYPE(tensor), on_type, name);
    return is_object_attribute(recording, name)
               ? before_object_attribute_write(recording, tensor, value, on_type)
               : before_recorded_write(recording, tensor, name, value);
  }
  if (is_fresh(recording, tensor)) return true;
  PyObject** dict = _PyObject_GetDictPtr(tensor);
  if (dict == nullptr) return before_write(recording, tensor, "an attribute");
  if (recording.given_tensors.contains(tensor)) {
    const Ref<> own = Ref<>::steal(PyObject_GenericGetDict(tensor, nullptr));
    if (!own) return false;
    make_given(recording, own.get());
    const auto& by_tracer = recording.arguments.by_tracer;
    if (const auto found = by_tracer.find(tensor); found != by_tracer.end())
      recording.arguments.tensor_attributes.emplace(own.get(), found->second);
    if (value == nullptr && !read_given_attribute(recording, tensor, name)) return false;
    return before_dict_attribute_write(recording, own.get(), name, value);
  }
  if (!is_pinned(recording, tensor) || !read_object(recording, tensor))
    return before_write(recording, tensor, "an attribute");
  return before_dict_attribute_write(recording, *dict, name, value);
}

}  // namespace stator
