// src/torch/domain/dynamo.cpp: asking TorchDynamo through its Python functions, and knowing its wrappers by
// their code.
#include "torch/domain/dynamo.h"

#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"

namespace stator {
namespace {

PyObject* get_callback = nullptr;
PyObject* set_callback = nullptr;

bool is_on() {
  const ErrorScope outer;
  const auto callback = Ref<>::steal(PyObject_CallNoArgs(get_callback));
  if (!callback) drop_error();
  return callback && callback.get() != Py_None;
}

PyObject* switch_off() {
  if (!is_on()) return nullptr;
  const ErrorScope outer;
  PyObject* before = PyObject_CallOneArg(set_callback, Py_None);
  if (before == nullptr) drop_error();
  return before;
}

void switch_on(PyObject* state) {
  const ErrorScope outer;
  const auto callback = Ref<>::steal(state);
  const auto before = Ref<>::steal(PyObject_CallOneArg(set_callback, callback.get()));
  if (!before) drop_error();
}

// The code of a function that another one makes, under any of the names that versions of torch give it.
PyObject* code_made_in(PyObject* maker, std::initializer_list<std::string_view> names) {
  PyObject* found = nullptr;
  if (maker != nullptr && PyFunction_Check(maker)) {
    const auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(maker));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
      PyObject* constant = PyTuple_GET_ITEM(code->co_consts, i);
      if (!PyCode_Check(constant)) continue;
      const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(constant)->co_name);
      if (name != nullptr && std::find(names.begin(), names.end(), name) != names.end())
        found = Py_NewRef(constant);
    }
  }
  drop_error();
  return found;
}

// Of a module that was imported; null if there is none.
Ref<> imported_attribute(const char* module_name, const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), module_name);  // borrowed
  Ref<> attribute = module != nullptr ? Ref<>::steal(PyObject_GetAttrString(module, name)) : Ref<>();
  drop_error();
  return attribute;
}

// What one class's `__call__` puts around a function.
PyObject* wrapper_code(const char* owner) {
  const ErrorScope outer;
  const Ref<> type = imported_attribute("torch._dynamo.eval_frame", owner);
  const auto call = type ? Ref<>::steal(PyObject_GetAttrString(type.get(), "__call__")) : Ref<>();
  return code_made_in(call.get(), {"compile_wrapper", "_fn"});
}

// What FSDP puts around its hooks. They gather and free parameters while others compute, on streams of their
// own: nothing of that belongs in a graph.
PyObject* fsdp_wrapper_code() {
  const ErrorScope outer;
  const std::initializer_list<std::string_view> names = {"wrapper", "fsdp_hook_wrapper"};
  const Ref<> maker =
      imported_attribute("torch.distributed.fsdp._fully_shard._fsdp_common", "_dynamo_disable");
  if (maker) return code_made_in(maker.get(), names);
  // Up to torch 2.12.
  const Ref<> older =
      imported_attribute("torch.distributed.fsdp._fully_shard._fsdp_state", "disable_if_config_true");
  return code_made_in(older.get(), names);
}

// What `fn` of the wrapper's closure holds; borrowed, or nullptr.
PyObject* wrapped_function(PyFunctionObject* function) {
  auto* code = reinterpret_cast<PyCodeObject*>(function->func_code);
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  for (int i = 0; function->func_closure != nullptr && i < code->co_nfreevars; i++) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, first + i), "fn") == 0)
      return PyCell_GET(PyTuple_GET_ITEM(function->func_closure, i));
  }
  return nullptr;
}

bool is_part_of_torch(PyObject* callable) {
  if (callable != nullptr && PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
  if (callable == nullptr || !PyFunction_Check(callable)) return false;
  PyObject* globals = PyFunction_GET_GLOBALS(callable);
  PyObject* name = PyDict_GetItemString(globals, "__name__");  // borrowed
  const char* text = name != nullptr && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (text == nullptr) drop_error();
  return text != nullptr &&
         (std::string_view(text) == "torch" || std::string_view(text).starts_with("torch."));
}

}  // namespace

const EngineSwitch* dynamo_engine() {
  static const EngineSwitch engine{&is_on, &switch_off, &switch_on};
  static const bool found = [] {
    get_callback = module_attribute("torch._C._dynamo.eval_frame", "get_eval_frame_callback").release();
    set_callback = module_attribute("torch._C._dynamo.eval_frame", "set_eval_frame").release();
    drop_error();
    return get_callback != nullptr && set_callback != nullptr;
  }();
  return found ? &engine : nullptr;
}

DynamoWrapper dynamo_wrapper(PyFunctionObject* function) {
  // Names of functions are interned: almost every function is told apart by them.
  static PyObject* const compile_wrapper = PyUnicode_InternFromString("compile_wrapper");
  static PyObject* const fn = PyUnicode_InternFromString("_fn");
  static PyObject* const wrapper = PyUnicode_InternFromString("wrapper");
  static PyObject* const fsdp_wrapper = PyUnicode_InternFromString("fsdp_hook_wrapper");
  PyObject* code = function->func_code;
  PyObject* name = reinterpret_cast<PyCodeObject*>(code)->co_name;
  if (name == wrapper || name == fsdp_wrapper) {
    // Many decorators call theirs so: what is told apart by its text is not looked up among the modules.
    PyObject* const text = reinterpret_cast<PyCodeObject*>(code)->co_qualname;
    if (PyUnicode_CompareWithASCIIString(text, "_dynamo_disable.<locals>.wrapper") != 0 &&
        PyUnicode_CompareWithASCIIString(text, "disable_if_config_true.<locals>.fsdp_hook_wrapper") != 0)
      return DynamoWrapper::none;
    static PyObject* of_hooks = nullptr;
    if (of_hooks == nullptr) of_hooks = fsdp_wrapper_code();
    return code == of_hooks ? DynamoWrapper::disabled : DynamoWrapper::none;
  }
  if (name != compile_wrapper && name != fn) return DynamoWrapper::none;
  static PyObject *compiled = nullptr, *disabled = nullptr;
  if (compiled == nullptr) compiled = wrapper_code("_TorchDynamoContext");
  if (disabled == nullptr) disabled = wrapper_code("DisableContext");
  if (code == compiled) return DynamoWrapper::compiled;
  if (code != disabled) return DynamoWrapper::none;
  return is_part_of_torch(wrapped_function(function)) ? DynamoWrapper::internal : DynamoWrapper::disabled;
}

}  // namespace stator
