// src/torch/replacements/legacy_tensor.cpp: torch.FloatTensor([1, 2]) is torch.tensor([1, 2],
// dtype=torch.float32) on the CPU, torch.Tensor(2, 3) an empty tensor of that shape, torch.Tensor(x) a view
// of x, and isinstance(x, torch.FloatTensor) asks for dtype and device.
#include "torch/replacements/legacy_tensor.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <string_view>

#include "capture/cpython/type_dict.h"
#include "torch/replacements/tensor_data.h"
#include "torch/tracing/imported_module.h"
#include "torch/tracing/session.h"
#include "torch/tracing/tracer.h"

namespace stator {
namespace {

bool is_base(PyObject* callable) { return callable == THPVariableClass; }

// A class of the program's that adds nothing to how torch.Tensor makes its instances.
bool is_plain_subclass(PyObject* callable) {
  if (!PyType_Check(callable)) return false;
  const auto* type = reinterpret_cast<PyTypeObject*>(callable);
  const auto* base = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  return type != base && Py_TYPE(callable) == Py_TYPE(THPVariableClass) &&
         PyType_IsSubtype(const_cast<PyTypeObject*>(type), const_cast<PyTypeObject*>(base)) &&
         type->tp_new == base->tp_new && type->tp_init == base->tp_init;
}

// torch.FloatTensor, but not torch.cuda.FloatTensor or torch.sparse.FloatTensor.
bool is_typed(PyObject* callable) {
  if (std::string_view(Py_TYPE(callable)->tp_name) != "torch.tensortype") return false;
  const std::string_view name = reinterpret_cast<PyTypeObject*>(callable)->tp_name;
  return name.starts_with("torch.") && name.rfind('.') == std::string_view("torch.").size() - 1;
}

bool is_plain_list(PyObject* object) { return PyList_CheckExact(object) || PyTuple_CheckExact(object); }

PyObject* refuse(const char* what) {
  if (Session* session = Session::current()) session->note_break(BreakCode::kUnknownFunction, what);
  PyErr_Format(PyExc_RuntimeError, "stator: %s", what);
  return nullptr;
}

// `original` is the class.
PyObject* call(PyObject* original, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  if (Session::current() == nullptr)
    return PyObject_Vectorcall(original, arguments, static_cast<size_t>(count), names);
  // The view is an operator like any other; whatever is wrong with the call is torch's to say.
  if (count == 1 && names == nullptr && THPVariable_Check(arguments[0]))
    return PyObject_Vectorcall(original, arguments, 1, nullptr);
  if (is_plain_subclass(original)) return refuse("a class of tensors is called with something else than one");
  const bool from_list = count == 1 && is_plain_list(arguments[0]);
  if (from_list && has_unseen_tensors(arguments[0])) return nullptr;
  const bool from_sizes = count > 0 && std::all_of(arguments, arguments + count,
                                                   [](PyObject* size) { return PyLong_Check(size); });
  if ((names != nullptr && PyTuple_GET_SIZE(names) != 0) || !(from_list || from_sizes))
    return refuse("torch.Tensor() of something else than a list or sizes");
  const Ref<> dtype = Ref<>::steal(is_base(original) ? nullptr : PyObject_GetAttrString(original, "dtype"));
  const Ref<> make = module_attribute("torch", from_list ? "tensor" : "empty");
  const Ref<> usual = is_base(original) ? module_attribute("torch", "get_default_dtype") : Ref<>();
  const Ref<> found =
      is_base(original) ? Ref<>::steal(usual ? PyObject_CallNoArgs(usual.get()) : nullptr) : dtype;
  const Ref<> keywords = Ref<>::steal(PyDict_New());
  const Ref<> device = Ref<>::steal(PyUnicode_FromString("cpu"));
  const Ref<> given = Ref<>::steal(PyTuple_New(count));
  if (!make || !found || !keywords || !device || !given) return nullptr;
  for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(arguments[i]));
  if (PyDict_SetItemString(keywords.get(), "dtype", found.get()) < 0 ||
      PyDict_SetItemString(keywords.get(), "device", device.get()) < 0)
    return nullptr;
  return PyObject_Call(make.get(), given.get(), keywords.get());
}

// torch looks at the dispatch keys of a tensor, where tracers have one of their own; what they stand for says
// its type all the same.
PyObject* original_check = nullptr;

PyObject* is_instance(PyObject* typed, PyObject* object) {
  const bool is_tensor = PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(THPVariableClass));
  if (!is_tensor || as_tracer(THPVariable_Unpack(object)) == nullptr)
    return PyObject_CallFunctionObjArgs(original_check, typed, object, nullptr);
  const Ref<> type = Ref<>::steal(PyObject_CallMethod(object, "type", nullptr));
  const char* name = type ? PyUnicode_AsUTF8(type.get()) : nullptr;
  if (name == nullptr) return nullptr;
  return PyBool_FromLong(std::string_view(name) == reinterpret_cast<PyTypeObject*>(typed)->tp_name);
}

PyMethodDef check = {"__instancecheck__", is_instance, METH_O, nullptr};

PyMethodDef instead = {"Tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                       METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

void prepare_legacy_tensors() {
  PyTypeObject* const meta = Py_TYPE(imported("torch").attr("FloatTensor").ptr());
  const Ref<> attributes = cpython::type_dict(meta);
  original_check = Py_XNewRef(PyDict_GetItemString(attributes.get(), check.ml_name));
  const Ref<> ours = Ref<>::steal(PyDescr_NewMethod(meta, &check));
  if (original_check == nullptr || !ours) return;
  PyDict_SetItemString(attributes.get(), check.ml_name, ours.get());
  PyType_Modified(meta);
}

Ref<> makes_legacy_tensor(PyObject* callable) {
  if (!is_base(callable) && !is_typed(callable) && !is_plain_subclass(callable)) return {};
  return Ref<>::steal(PyCFunction_New(&instead, callable));
}

bool is_legacy_tensor(PyObject* callable) {
  return PyCFunction_Check(callable) && reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &instead;
}

}  // namespace stator
