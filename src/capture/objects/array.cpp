// capture/objects/array.cpp: the arrays that the program sees once the capture is over.
#include "capture/objects/array.h"

#include "capture/program/description.h"

namespace stator {
namespace {

bool describe_array(Description& description, size_t step, PyObject* value) {
  const ArrayForms& forms = *description.recording.domain.arrays();
  PyObject* const tensor = forms.tensor_in(value);
  if (tensor == nullptr) {
    description.stay(step, forms.dtype_behind(value));
    return true;
  }
  const size_t part = description.add(tensor);
  if (part == Description::kStopped) return false;
  const newfunc make = forms.maker_of(value);
  auto type = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  description.make_whole(step, [make, part, type = std::move(type)](const Description::Values& values) {
    const auto parts = Ref<>::steal(PyTuple_Pack(1, values[part].get()));
    const auto arguments = Ref<>::steal(parts ? PyTuple_Pack(1, parts.get()) : nullptr);
    auto* const of = reinterpret_cast<PyTypeObject*>(type.get());
    return Ref<>::steal(arguments ? make(of, arguments.get(), nullptr) : nullptr);
  });
  return true;
}

}  // namespace

const ObjectKind ArrayKind::row = {.describe = describe_array};

}  // namespace stator
