// capture/arguments/argument_paths.cpp: finding a part of the arguments again.
#include "capture/arguments/argument_paths.h"

#include "capture/arguments/plain_dict.h"
#include "capture/cpython/interrupts.h"
#include "capture/guards/function_parts.h"

namespace stator {

PyObject* ArgumentStep::find(PyObject* whole) const {
  switch (kind) {
    case Kind::root:
      return whole;
    case Kind::item:
    case Kind::from_end: {
      const Py_ssize_t size = PySequence_Fast_GET_SIZE(whole);
      const Py_ssize_t at = kind == Kind::item ? index : size - index;
      return at >= 0 && at < size ? PySequence_Fast_GET_ITEM(whole, at) : nullptr;
    }
    case Kind::key: {
      PyObject* const found = PyDict_GetItemWithError(whole, key.get());
      if (found == nullptr) drop_error();
      return found;
    }
    case Kind::attributes:
      return attributes_of(whole).get();  // the object keeps it
    case Kind::part: {
      PyObject* found = nullptr;
      Py_ssize_t at = 0;
      each_part(whole, [&](PyObject* part) {
        found = part;
        return at++ != index;
      });
      return at > index ? found : nullptr;
    }
    case Kind::function:
      return PyMethod_GET_FUNCTION(whole);
    case Kind::self:
      return PyMethod_GET_SELF(whole);
  }
  return nullptr;
}

PyObject* ArgumentPath::find(PyObject* const* arguments) const {
  PyObject* at = arguments[argument];
  for (const ArgumentStep& step : steps) {
    at = step.find(at);
    if (at == nullptr) break;
  }
  return at;
}

}  // namespace stator
