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
  given_tensors_.try_emplace(tracer, GivenTensor{given_tensor_count_++, real, name, {}});
}

// Another attempt gives the tensor as it is.
bool Recording::want_by_identity(PyObject* tracer) {
  const auto found = given_tensors_.find(tracer);
  if (found != given_tensors_.end()) wanted_by_identity_.insert(found->second.real);
  return stop(BreakCode::kUnguardable, "an attribute of an argument that is a tensor");
}

bool Recording::read_given_attribute(PyObject* tracer, PyObject* name) {
  const auto found = given_tensors_.find(tracer);
  if (found == given_tensors_.end()) return true;
  GivenTensor& given = found->second;
  PyObject** own = _PyObject_GetDictPtr(tracer);
  if (own != nullptr && *own != nullptr &&
      (journal_.wrote_key(*own, name) || PyDict_GetItemWithError(*own, name) != nullptr))
    return true;
  if (std::find(given.read.begin(), given.read.end(), name) != given.read.end()) return true;
  PyObject** dict = _PyObject_GetDictPtr(given.real);
  PyObject* value = dict != nullptr && *dict != nullptr ? item_at(*dict, name) : nullptr;
  if (value != nullptr && !is_constant(value)) return want_by_identity(tracer);
  given.read.push_back(name);
  guards_.add(GivenAttributeGuard{given.index, given.name, Ref<>::share(name), expect(value)}, nullptr);
  return value == nullptr || PyObject_GenericSetAttr(tracer, name, value) == 0;
}

bool Recording::read_tensor_attribute(PyObject* tensor, PyObject* name) {
  PyTypeObject* type = Py_TYPE(tensor);
  PyObject* on_type = _PyType_Lookup(type, name);
  if (on_type == nullptr)
    return reads_freely(tensor) ? read_given_attribute(tensor, name) : read_instance_attribute(tensor, name);
  if (domain_.attribute_is_captured(tensor, name)) return true;
  if (is_pinned(tensor) && Py_IS_TYPE(on_type, &PyGetSetDescr_Type) && domain_.attribute_is_an_object(name)) {
    const Ref<> value = read_getter(tensor, on_type);
    if (!value) return false;
    guards_.add(GetterGuard{tensor, on_type, Ref<>::share(PyDescr_NAME(on_type)), expect(value.get())},
                tensor);
    pin(value.get(), {Origin::attribute, tensor, Ref<>::share(name)});
    return true;
  }
  if (Py_IS_TYPE(on_type, &PyGetSetDescr_Type) || Py_IS_TYPE(on_type, &PyMemberDescr_Type)) {
    return stop(BreakCode::kReadsMemory, std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor");
  }
  return read_type(type) && pin_class_attribute(type, on_type, name);
}

bool Recording::before_tensor_attribute_write(PyObject* tensor, PyObject* name, PyObject* value) {
  PyObject* on_type = _PyType_Lookup(Py_TYPE(tensor), name);
  if (on_type != nullptr) {
    return stop(BreakCode::kOutsideEffect,
                std::string("attribute ") + PyUnicode_AsUTF8(name) + " of a tensor is written");
  }
  if (is_fresh(tensor)) return true;
  PyObject** dict = _PyObject_GetDictPtr(tensor);
  if (dict == nullptr) return before_write(tensor, "an attribute");
  if (given_tensors_.count(tensor) != 0) {
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
