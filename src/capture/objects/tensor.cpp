// capture/objects/tensor.cpp: tensors as results: outputs of the tensor program. What is read and written of
// them is recorded by the domain; their attributes: recording/tensor_attributes.h.
#include "capture/objects/tensor.h"

#include "capture/program/description.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"

namespace stator {
namespace {

// Those of a tensor that was made in the run.
bool describe_attributes(Description& description, size_t step, PyObject* tensor) {
  PyObject** dict = is_fresh(description.recording, tensor) ? _PyObject_GetDictPtr(tensor) : nullptr;
  if (dict == nullptr || *dict == nullptr || PyDict_GET_SIZE(*dict) == 0) return true;
  // What makes the tensor in a run may give it attributes, too.
  Py_ssize_t of_maker = 0;
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(*dict, &position, &name, &value))
    of_maker += description.recording.domain.attribute_is_captured(tensor, name) ? 1 : 0;
  if (of_maker == 0) return description.add_attributes(step, tensor);
  return of_maker == PyDict_GET_SIZE(*dict) ||
         stop(description.recording, BreakCode::kTensorSubclass, "an attribute of a result");
}

// `grad` of a leaf that was made in the run: a run's tensor gets what the tracer has.
bool describe_kept_object(Description& description, size_t step, PyObject* tensor) {
  const Domain& domain = description.recording.domain;
  PyObject* const name = domain.object_attribute();
  if (name == nullptr || !is_fresh(description.recording, tensor) || !domain.keeps_objects(tensor))
    return true;
  const auto object = Ref<>::steal(PyObject_GetAttr(tensor, name));
  if (!object) return false;
  if (object.get() == Py_None) return true;
  const size_t part = description.add(object.get());
  if (part == Description::kStopped) return false;
  description.fill(step, [name, part](PyObject* made, const Rebuild::Values& values) {
    return PyObject_SetAttr(made, name, values[part].get()) == 0;
  });
  return true;
}

bool describe_tensor(Description& description, size_t step, PyObject* tensor) {
  Recording& recording = description.recording;
  // An instance of a class of the program's is made one after the run.
  Ref<> own_class;
  if (is_fresh(recording, tensor) && recording.domain.is_class_of_program(Py_TYPE(tensor))) {
    if (!read_type(recording, Py_TYPE(tensor))) return false;
    own_class = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  }
  const size_t output = description.add_output(tensor);
  description.begin(step, [output, own_class = std::move(own_class)](const Rebuild::Given& given) {
    const Ref<>& made = given.tensors[output];
    if (own_class && reinterpret_cast<PyObject*>(Py_TYPE(made.get())) != own_class.get() &&
        PyObject_SetAttrString(made.get(), "__class__", own_class.get()) < 0)
      return Ref<>();
    return made;
  });
  return describe_kept_object(description, step, tensor) && describe_attributes(description, step, tensor);
}

}  // namespace

const ObjectKind TensorKind::row = {.describe = describe_tensor};

}  // namespace stator
