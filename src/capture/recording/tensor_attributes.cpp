// capture/recording/tensor_attributes.cpp: attributes of tensors that a capture reads and writes.
//
// A tensor has attributes that its class defines in C, which the domain knows, and those of a dictionary, as
// any object. A tracer that stands for a tensor of the call has a dictionary of its own: what is read there
// is fetched from the tensor and guarded, what is written is made again on the tensor of each call.
#include <algorithm>

#include "capture/cpython/exported.h"
#include "capture/recording/recording.h"

namespace stator {

void Recording::make_given_tensor(PyObject* tracer, PyObject* real, const std::string& name) {
  make_given(tracer);
  given_tensors_.add(tracer, real, name);
}

// Another attempt gives the tensor as it is.
bool Recording::want_by_identity(PyObject* tracer) {
  if (const GivenTensors::Given* given = given_tensors_.find(tracer)) wanted_by_identity_.insert(given->real);
  // Parameters among the arguments come in numbers: not an attempt for each.
  given_tensors_.each([&](const GivenTensors::Given& given) {
    if (domain_.keeps_objects(given.real)) wanted_by_identity_.insert(given.real);
  });
  return stop(BreakCode::kUnguardable, "an attribute of an argument that is a tensor");
}

bool Recording::read_given_attribute(PyObject* tracer, PyObject* name) {
  GivenTensors::Given* const given = given_tensors_.find(tracer);
  if (given == nullptr) return true;
  PyObject** own = _PyObject_GetDictPtr(tracer);
  if (own != nullptr && *own != nullptr &&
      (journal_.wrote_key(*own, name) || PyDict_GetItemWithError(*own, name) != nullptr))
    return true;
  if (std::find(given->read.begin(), given->read.end(), name) != given->read.end()) return true;
  PyObject** dict = _PyObject_GetDictPtr(given->real);
  PyObject* value = dict != nullptr && *dict != nullptr ? item_at(*dict, name) : nullptr;
  if (value != nullptr && !is_constant(value)) return want_by_identity(tracer);
  given->read.push_back(name);
  guards_.add(GivenAttributeGuard{given->index, given->name, Ref<>::share(name), expect(value)}, nullptr);
  return value == nullptr || PyObject_GenericSetAttr(tracer, name, value) == 0;
}

bool Recording::read_tensor_attribute(PyObject* tensor, PyObject* name) {
  PyTypeObject* type = Py_TYPE(tensor);
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type == nullptr)
    return reads_freely(tensor) ? read_given_attribute(tensor, name) : read_instance_attribute(tensor, name);
  if (domain_.attribute_is_captured(tensor, name)) {
    if (!is_pinned(tensor)) return true;
    look_at(tensor);
    if (Ref<> instead = capture_.attribute(tensor, name)) {
      if (pending_.empty() || pending_.back().frame != frame_)
        return stop(BreakCode::kReadsMemory, "an attribute of a tensor is read by C code");
      pending_.back().instead = std::move(instead);
    }
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    return stop(BreakCode::kReadsMemory, std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
  }
  if (Py_IS_TYPE(on_type, &PyGetSetDescr_Type) && domain_.attribute_is_an_object(name) && !is_fresh(tensor))
    return read_object_attribute(tensor, name, on_type);
  if (Py_IS_TYPE(on_type, &PyGetSetDescr_Type) || Py_IS_TYPE(on_type, &PyMemberDescr_Type)) {
    return stop(BreakCode::kReadsMemory, std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
  }
  return read_type(type) && pin_class_attribute(type, on_type, name);
}

// `grad`: its tensor is made anew by every backward, so it may be read from its place.
bool Recording::read_object_attribute(PyObject* tensor, PyObject* name, PyObject* descriptor) {
  if (given_tensors_.contains(tensor)) return want_by_identity(tensor);
  if (!is_pinned(tensor)) return stop(BreakCode::kUnguardable, "an attribute of a tensor of unknown origin");
  if (journal_.wrote_slot(tensor, descriptor)) return true;
  const Ref<> value = read_getter(tensor, descriptor);
  if (!value) return false;
  // Keyed beside the tensor itself: its dictionary and class have guards of their own.
  if (!guards_.once(reinterpret_cast<const char*>(tensor) + 3)) return true;
  if (see_place(tensor, name, value.get())) return true;
  if (PyErr_Occurred()) return false;
  guards_.add(GetterGuard{tensor, descriptor, Ref<>::share(PyDescr_NAME(descriptor)), expect(value.get())},
              tensor);
  pin(value.get(), {Origin::attribute, tensor, Ref<>::share(name)});
  return true;
}

bool Recording::before_object_attribute_write(PyObject* tensor, PyObject* value, PyObject* descriptor) {
  if (given_tensors_.contains(tensor)) return want_by_identity(tensor);
  if (!is_pinned(tensor)) return before_write(nullptr, "an attribute of a tensor");
  // Whether the tensor takes it depends on its sizes and dtype.
  if (value != nullptr && domain_.is_tensor(value)) look_at(tensor);
  return journal_.slot(tensor, descriptor);
}

// requires_grad, data: the program does it in its place among the operators.
bool Recording::before_recorded_write(PyObject* tensor, PyObject* name, PyObject* value) {
  using enum DomainCapture::AttributeWrite;
  PyObject* descriptor = _PyType_Lookup(Py_TYPE(tensor), name);
  auto how = refused;
  if (value != nullptr && descriptor != nullptr && (is_pinned(tensor) || reads_freely(tensor)))
    how = capture_.write_attribute(tensor, name, value);
  if (how == refused || (how == done && stored_ == nullptr)) {
    return stop(BreakCode::kOutsideEffect,
                std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor is written");
  }
  if (how == made) return !is_pinned(tensor) || journal_.slot(tensor, descriptor, Written::Kind::state);
  // What is there is written once more.
  Ref<> same = read_getter(tensor, descriptor);
  if (!same) return false;
  Py_SETREF(*stored_, same.release());
  return true;
}

bool Recording::before_tensor_attribute_write(PyObject* tensor, PyObject* name, PyObject* value) {
  PyObject* on_type = _PyType_Lookup(Py_TYPE(tensor), name);
  if (on_type != nullptr) {
    if (Py_IS_TYPE(on_type, &PyProperty_Type))
      return read_type(Py_TYPE(tensor)) && pin_class_attribute(Py_TYPE(tensor), on_type, name);
    return domain_.attribute_is_an_object(name) ? before_object_attribute_write(tensor, value, on_type)
                                                : before_recorded_write(tensor, name, value);
  }
  if (is_fresh(tensor)) return true;
  PyObject** dict = _PyObject_GetDictPtr(tensor);
  if (dict == nullptr) return before_write(tensor, "an attribute");
  if (given_tensors_.contains(tensor)) {
    const Ref<> own = Ref<>::steal(PyObject_GenericGetDict(tensor, nullptr));
    if (!own) return false;
    make_given(own.get());
    if (value == nullptr && !read_given_attribute(tensor, name)) return false;
    return before_dict_attribute_write(own.get(), name, value);
  }
  if (!is_pinned(tensor) || !read_object(tensor)) return before_write(tensor, "an attribute");
  return before_dict_attribute_write(*dict, name, value);
}

}  // namespace stator
