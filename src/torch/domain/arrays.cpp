// src/torch/domain/arrays.cpp: between arrays of NumPy's, arrays of torch's NumPy layer, and tensors.
#include "torch/domain/arrays.h"

#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/interrupts.h"
#include "torch/tracing/session.h"

namespace stator {
namespace {

// Kept for as long as the process runs.
struct Names {
  PyTypeObject* array = nullptr;
  PyTypeObject* dtype = nullptr;
  PyTypeObject* number = nullptr;  // the base of NumPy's numbers
  PyTypeObject* layer = nullptr;
  PyObject* dtypes = nullptr;  // NumPy's dtypes by the class that dtypes of the layer have as _scalar_type
  PyTypeObject* layer_dtype = nullptr;
  PyObject* from_array = nullptr;
  PyObject* to_array = nullptr;
  PyObject* to_result = nullptr;
  PyObject* scalar_type = nullptr;
  PyObject* tensor = nullptr;    // the attribute of the layer's arrays that holds their tensor
  PyObject* is_array = nullptr;  // the mark of those that NumPy gives as arrays even without dimensions
};
Names names;

// No Python code runs in what follows: a capture may be under way.
bool may_be_written(PyObject* array) {
  const auto flags = Ref<>::steal(PyObject_GetAttrString(array, "flags"));
  const auto writeable = Ref<>::steal(flags ? PyObject_GetAttrString(flags.get(), "writeable") : nullptr);
  return writeable.get() == Py_True;
}

// Whether torch's layer gives what NumPy gives: see stator/runtime/arrays.py.
bool computes_alike(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBool:
    case at::kLong:
    case at::kFloat:
    case at::kDouble:
    case at::kComplexFloat:
    case at::kComplexDouble:
      return tensor.dim() != 0;
    default:
      return false;
  }
}

// What torch does to make a tensor on an array's memory is not the program's.
class PausedSession {
 public:
  PausedSession() : session_(Session::current()) {
    if (session_ != nullptr) session_->pause();
  }
  ~PausedSession() {
    if (session_ != nullptr) session_->resume();
  }
  PausedSession(const PausedSession&) = delete;
  PausedSession& operator=(const PausedSession&) = delete;

 private:
  Session* session_;
};

Ref<> tensor_on(PyObject* array) {
  if (!Py_IS_TYPE(array, names.array)) return {};
  const PausedSession paused;
  Ref<> tensor = Ref<>::steal(may_be_written(array) ? PyObject_CallOneArg(names.from_array, array) : nullptr);
  drop_error();  // arrays of objects, with strides that torch does not have, that must not be written to
  return tensor && THPVariable_Check(tensor.get()) && computes_alike(THPVariable_Unpack(tensor.get()))
             ? std::move(tensor)
             : Ref<>();
}

Ref<> array_on(PyObject* tracer) {
  const auto none = Ref<>::steal(PyTuple_New(0));
  auto array = Ref<>::steal(none ? PyBaseObject_Type.tp_new(names.layer, none.get(), nullptr) : nullptr);
  if (!array || PyObject_GenericSetAttr(array.get(), names.tensor, tracer) < 0 ||
      PyObject_GenericSetAttr(array.get(), names.is_array, Py_True) < 0)
    return {};
  return array;
}

Ref<> part(PyObject* array, PyObject* name) {
  const auto attributes = Ref<>::steal(PyObject_GenericGetDict(array, nullptr));
  PyObject* found = attributes ? PyDict_GetItemWithError(attributes.get(), name) : nullptr;
  drop_error();
  return Ref<>::share(found);
}

PyObject* tensor_in(PyObject* value) {
  if (!Py_IS_TYPE(value, names.layer)) return nullptr;
  const Ref<> tensor = part(value, names.tensor);
  return tensor && THPVariable_Check(tensor.get()) ? tensor.get() : nullptr;
}

PyObject* dtype_behind(PyObject* value) {
  if (!Py_IS_TYPE(value, names.layer_dtype)) return nullptr;
  const Ref<> scalar_type = part(value, names.scalar_type);
  return scalar_type ? PyDict_GetItemWithError(names.dtypes, scalar_type.get()) : nullptr;
}

// The tensor comes as the only item of a tuple.
PyObject* call_with(PyObject* function, PyObject* arguments) {
  return PyObject_CallOneArg(function, PyTuple_GET_ITEM(PyTuple_GET_ITEM(arguments, 0), 0));
}
PyObject* make_array(PyTypeObject*, PyObject* arguments, PyObject*) {
  return call_with(names.to_array, arguments);
}
PyObject* make_result(PyTypeObject*, PyObject* arguments, PyObject*) {
  return call_with(names.to_result, arguments);
}

newfunc maker_of(PyObject* value) {
  const Ref<> mark = part(value, names.is_array);
  return mark.get() == Py_True ? &make_array : &make_result;
}

constexpr ArrayForms kForms{&tensor_on, &array_on, &tensor_in, &dtype_behind, &maker_of};

}  // namespace

static bool follows = false;
void trace_arrays(bool on) { follows = on; }

const ArrayForms* array_forms() { return follows && names.array != nullptr ? &kForms : nullptr; }

bool is_array_constant(PyObject* object) {
  // Those that are Python's floats as well are treated as such.
  return follows && names.array != nullptr && !PyFloat_Check(object) && !PyComplex_Check(object) &&
         (PyObject_TypeCheck(object, names.dtype) || PyObject_TypeCheck(object, names.number));
}

bool makes_array_constant(PyObject* callable) {
  return follows && names.dtype != nullptr && callable == reinterpret_cast<PyObject*>(names.dtype);
}

void follow_arrays(PyObject* numpy, PyObject* layer, PyObject* layer_dtype, PyObject* dtypes,
                   PyObject* from_array, PyObject* to_array, PyObject* to_result) {
  const auto type = [&](const char* name) {
    return reinterpret_cast<PyTypeObject*>(py::object(py::handle(numpy).attr(name)).release().ptr());
  };
  names = {type("ndarray"),
           type("dtype"),
           type("number"),
           reinterpret_cast<PyTypeObject*>(Py_NewRef(layer)),
           Py_NewRef(dtypes),
           reinterpret_cast<PyTypeObject*>(Py_NewRef(layer_dtype)),
           Py_NewRef(from_array),
           Py_NewRef(to_array),
           Py_NewRef(to_result),
           PyUnicode_InternFromString("_scalar_type"),
           PyUnicode_InternFromString("tensor"),
           PyUnicode_InternFromString("stator_is_array")};
}

}  // namespace stator
