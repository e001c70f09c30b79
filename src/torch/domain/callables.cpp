// src/torch/domain/callables.cpp: what torch's C functions may do: a rule for operators, a table for the
// rest.
#include "torch/domain/callables.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "torch/domain/arrays.h"
#include "torch/replacements/replaced_calls.h"
#include "torch/replacements/scripted.h"
#include "torch/replacements/transforms.h"

namespace stator {
namespace {

// The words of callables.def.
namespace policy {
constexpr CallPolicy pure = CallKind::pure;
constexpr CallPolicy tensor = CallKind::tensor;
constexpr CallPolicy setting = CallKind::setting;
constexpr CallPolicy modes = CallKind::modes;
constexpr CallPolicy lasting_mode = CallKind::lasting_mode;
constexpr CallPolicy reads = CallPolicy::refuse(BreakCode::kReadsMemory);  // values that only a run has
}  // namespace policy

using Names = std::unordered_set<std::string>;

using Kinds = std::unordered_map<std::string_view, CallPolicy>;

const Kinds kFunctions = {
#define STATOR_FUNCTION(name, kind) {#name, policy::kind},
#define STATOR_METHOD(name, kind)
#include "torch/domain/callables.def"
};

const Kinds kMethods = {
#define STATOR_FUNCTION(name, kind)
#define STATOR_METHOD(name, kind) {#name, policy::kind},
#include "torch/domain/callables.def"
};

// CallKind::unknown: it is not in the table.
CallPolicy kind_in(const Kinds& table, std::string_view name) {
  const auto found = table.find(name);
  return found == table.end() ? CallPolicy(CallKind::unknown) : found->second;
}

// Classes of torch._C that are context managers over the thread's modes.
PyObject* mode_class() {
  static PyObject* const found = [] {
    PyObject* type = module_attribute("torch._C", "_InferenceMode").release();
    drop_error();
    return type;
  }();
  return found;
}

// pybind11 gives its methods no owner, so these are known by identity.
bool is_mode_method(PyObject* callable) {
  static const std::unordered_set<PyObject*> functions = [] {
    std::unordered_set<PyObject*> found;
    for (const char* name : {"__enter__", "__exit__"}) {
      PyObject* method = mode_class() != nullptr ? PyObject_GetAttrString(mode_class(), name) : nullptr;
      if (method != nullptr && PyInstanceMethod_Check(method))
        found.insert(PyInstanceMethod_GET_FUNCTION(method));
      Py_XDECREF(method);
      drop_error();
    }
    return found;
  }();
  return functions.count(callable) != 0;
}

// Names of all operators, overloads left out.
const Names& operator_names() {
  static const Names names = [] {
    Names found;
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      const std::string_view full = name.name;
      found.emplace(full.substr(full.rfind(':') + 1));
    }
    return found;
  }();
  return names;
}

std::string text_attribute(PyObject* object, const char* name) {
  PyObject* value = PyObject_GetAttrString(object, name);
  std::string text;
  if (value != nullptr && PyUnicode_Check(value)) {
    if (const char* utf8 = PyUnicode_AsUTF8(value)) text = utf8;
  }
  Py_XDECREF(value);
  drop_error();
  return text;
}

CallPolicy classify_method(const std::string& name) {
  if (name == "requires_grad_") return CallPolicy::write_attribute("requires_grad");
  if (const CallPolicy known = kind_in(kMethods, name); known != CallKind::unknown) return known;
  return operator_names().count(name) ? policy::tensor : policy::reads;
}

// The class of torch._C with this name.
PyTypeObject* class_of_torch(const char* name) {
  PyObject* found = module_attribute("torch._C", name).release();
  drop_error();
  return found != nullptr && PyType_Check(found) ? reinterpret_cast<PyTypeObject*>(found) : nullptr;
}

// torch.autograd.Function.apply, bound to a class.
bool is_apply(PyObject* self, const char* name) {
  static PyTypeObject* const base = class_of_torch("_FunctionBase");
  return base != nullptr && self != nullptr && PyType_Check(self) &&
         PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self), base) && std::string_view(name) == "apply";
}

bool is_operator_holder(PyObject* self) {
  if (self == nullptr) return false;
  if (PyType_Check(self)) {
    return std::string_view(reinterpret_cast<PyTypeObject*>(self)->tp_name).find("_VariableFunctions") !=
           std::string_view::npos;
  }
  if (!PyModule_Check(self)) return false;
  const char* name = PyModule_GetName(self);
  if (name == nullptr) {
    drop_error();
    return false;
  }
  static const std::unordered_set<std::string> holders = {"torch._C._nn", "torch._C._linalg", "torch._C._fft",
                                                          "torch._C._special"};
  return holders.count(name) != 0;
}

}  // namespace

// Context managers that only say how Python arguments are looked at; tracers have no __torch_function__.
static bool disables_torch_function(std::string_view type) {
  return type == "torch._C.DisableTorchFunctionSubclass" || type == "torch._C.DisableTorchFunction";
}

// What a torch-function mode is told where code reads an attribute of a tensor: the getter, as a function.
static bool is_getter(PyObject* callable) {
  if (std::string_view(Py_TYPE(callable)->tp_name) != "method-wrapper" ||
      text_attribute(callable, "__name__") != "__get__")
    return false;
  const Ref<> descriptor = Ref<>::steal(PyObject_GetAttrString(callable, "__self__"));
  drop_error();
  return descriptor && Py_IS_TYPE(descriptor.get(), &PyGetSetDescr_Type) &&
         std::string_view(PyDescr_TYPE(descriptor.get())->tp_name).ends_with("TensorBase") &&
         is_captured_attribute(PyDescr_NAME(descriptor.get())) &&
         PyUnicode_CompareWithASCIIString(PyDescr_NAME(descriptor.get()), "data") != 0;
}

CallPolicy classify_torch_callable(PyObject* callable) {
  if (const CallKind ours = kind_of_replacement(callable); ours != CallKind::unknown) return ours;
  if (PyCFunction_Check(callable)) {
    // Not PyCFunction_GET_SELF: torch's functions are static methods, for which that is NULL.
    PyObject* self = reinterpret_cast<PyCFunctionObject*>(callable)->m_self;
    if (self != nullptr && disables_torch_function(Py_TYPE(self)->tp_name)) return CallKind::pure;
    if (is_operator_holder(self)) {
      const std::string name = text_attribute(callable, "__name__");
      if (kind_in(kFunctions, name) == CallKind::pure) return CallKind::pure;
      const bool reads = kind_in(kMethods, name) == CallKind::refused;
      return reads || name == "from_numpy" || name == "frombuffer" ? policy::reads : policy::tensor;
    }
    if (self != nullptr && PyObject_TypeCheck(self, reinterpret_cast<PyTypeObject*>(THPVariableClass)))
      return classify_method(text_attribute(callable, "__name__"));
    if (is_apply(self, reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name))
      return c10::GradMode::is_enabled() ? CallPolicy::call_as_one(BreakCode::kAutogradFunction)
                                         : CallPolicy(CallKind::calls_class);
    if (is_mode_method(callable)) return CallKind::modes;
    const std::string module = text_attribute(callable, "__module__");
    if (module.starts_with("torch._ops.")) return CallKind::tensor;  // operators of libraries
    if (module == "torch._C" || module == "torch" || module == "torch._C._functorch" ||
        module == "torch._C._autograd") {
      const std::string name = text_attribute(callable, "__name__");
      // Forward gradients of tensors that no transform has would be those of tracers.
      if ((name.ends_with("_dual_level") || name == "_set_fwd_grad_enabled") && !is_in_transform())
        return CallKind::unknown;
      if (const CallPolicy known = kind_in(kFunctions, name); known != CallKind::unknown) return known;
      if (name.starts_with("_get_")) return CallKind::setting;
    }
    return CallKind::unknown;
  }
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
    PyTypeObject* owner = PyDescr_TYPE(callable);
    const std::string_view owner_name = owner->tp_name;
    if (owner_name.ends_with("TensorBase")) return classify_method(text_attribute(callable, "__name__"));
    if (owner_name == "torch.Size" || disables_torch_function(owner_name)) return CallKind::pure;
    return CallKind::unknown;
  }
  if (is_getter(callable)) return CallKind::tensor;
  if (callable == mode_class()) return CallKind::modes;
  if (PyType_Check(callable)) {
    const std::string_view name = reinterpret_cast<PyTypeObject*>(callable)->tp_name;
    if (makes_array_constant(callable) || name == "torch.Size" || name == "torch.device" ||
        name == "torch.finfo" || name == "torch.iinfo" || name.starts_with("torch.return_types.") ||
        disables_torch_function(name))
      return CallKind::pure;
  }
  // Scripted functions call operators, as their Python code would; under autograd they make a history of
  // their own.
  if (is_scripted(callable))
    return c10::GradMode::is_enabled() ? CallPolicy::refuse(BreakCode::kScriptUnderGrad) : policy::tensor;
  return CallKind::unknown;
}

bool is_captured_attribute(PyObject* name) {
  static const Names names = {"shape",
                              "dtype",
                              "device",
                              "ndim",
                              "requires_grad",
                              "is_leaf",
                              "layout",
                              "T",
                              "mT",
                              "H",
                              "mH",
                              "real",
                              "imag",
                              "is_cuda",
                              "is_cpu",
                              "is_sparse",
                              "is_quantized",
                              "is_meta",
                              "is_nested",
                              "is_mkldnn",
                              "is_mps",
                              "is_xla",
                              "is_xpu",
                              "itemsize",
                              "nbytes",
                              "is_sparse_csr",
                              "data",
                              "grad_fn",
                              "__class__"};
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) {
    drop_error();
    return false;
  }
  return names.count(text) != 0;
}

}  // namespace stator
