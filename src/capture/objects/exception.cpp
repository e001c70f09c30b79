// capture/objects/exception.cpp: exceptions: what they are made with is all that a result may hold of one.
#include "capture/objects/exception.h"

#include "capture/cpython/python_class.h"
#include "capture/program/description.h"
#include "capture/program/held_class.h"

namespace stator {
namespace {

// All that its instances hold beside a dictionary is what every exception holds.
bool is_plain_exception_class(PyTypeObject* type) {
  while (cpython::is_python_class(type)) type = type->tp_base;
  const auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  return PyType_IsSubtype(type, const_cast<PyTypeObject*>(base)) && type->tp_basicsize == base->tp_basicsize;
}

// Its value is the first of its arguments, unless somebody has set another one.
bool is_plain_stop_iteration(PyObject* exception) {
  if (!Py_IS_TYPE(exception, reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))) return false;
  const auto* stop = reinterpret_cast<PyStopIterationObject*>(exception);
  return stop->args != nullptr &&
         stop->value == (PyTuple_GET_SIZE(stop->args) > 0 ? PyTuple_GET_ITEM(stop->args, 0) : Py_None);
}

// It was not raised yet.
bool is_new(PyObject* exception) {
  const auto* fields = reinterpret_cast<PyBaseExceptionObject*>(exception);
  return (is_plain_exception_class(Py_TYPE(exception)) || is_plain_stop_iteration(exception)) &&
         fields->traceback == nullptr && fields->context == nullptr && fields->cause == nullptr &&
         !fields->suppress_context;
}

void add_arguments(Recording&, PyObject* exception, std::vector<PyObject*>& found) {
  if (PyObject* arguments = reinterpret_cast<PyBaseExceptionObject*>(exception)->args)
    found.push_back(arguments);
}

bool describe_exception(Description& description, size_t step, PyObject* exception) {
  if (!is_new(exception) || !description.is_made_here(exception))
    return any_instance.describe(description, step, exception);
  const size_t arguments = description.add(reinterpret_cast<PyBaseExceptionObject*>(exception)->args);
  if (arguments == Description::kStopped) return false;
  const HeldClass held(description.recording.guards, Py_TYPE(exception));
  description.make_whole(step, [arguments, held](const Description::Values& values) {
    const Ref<> type = held.get();
    if (!type) return Ref<>();
    if (type.get() == PyExc_StopIteration)
      return Ref<>::steal(PyObject_CallObject(type.get(), values[arguments].get()));
    const newfunc construct = reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_new;
    return Ref<>::steal(construct(as_type(type), values[arguments].get(), nullptr));
  });
  return description.add_attributes(step, exception);
}

}  // namespace

const ObjectKind ExceptionKind::row = {.add_reached = add_arguments, .describe = describe_exception};

}  // namespace stator
