// capture/objects/number.cpp: numbers that are symbols of the capture: outputs of the tensor program.
#include "capture/objects/number.h"

#include "capture/program/description.h"

namespace stator {
namespace {

// One that was calculated is another object than those it was calculated from.
Ref<> new_number(const Ref<>& number) {
  if (PyBool_Check(number.get())) return number;
  if (PyFloat_CheckExact(number.get()))
    return Ref<>::steal(PyFloat_FromDouble(PyFloat_AS_DOUBLE(number.get())));
  int overflow = 1;
  const long long value =
      PyLong_CheckExact(number.get()) ? PyLong_AsLongLongAndOverflow(number.get(), &overflow) : 0;
  return overflow == 0 ? Ref<>::steal(PyLong_FromLongLong(value)) : number;
}

bool describe_number(Description& description, size_t step, PyObject* number) {
  // One that was only written somewhere is held by nobody once the writes are undone.
  description.recording.known.kept.push_back(Ref<>::share(number));
  const size_t output = description.add_output(number);
  description.begin(step,
                    [output](const Rebuild::Given& given) { return new_number(given.tensors[output]); });
  return true;
}

}  // namespace

const ObjectKind NumberKind::row = {.describe = describe_number};

}  // namespace stator
