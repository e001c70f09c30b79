// src/torch/replacements/scripted.cpp: a capture goes into the Python code that torch.jit was given.
//
// The scripted function would do as well without gradients, but makes tensors of numbers out of the
// dispatcher's sight, and with gradients a history of its own.
#include "torch/replacements/scripted.h"

#include <string_view>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"

namespace stator {

bool is_scripted(PyObject* callable) {
  static PyObject* const script = [] {
    PyObject* found = module_attribute("torch._C", "ScriptFunction").release();
    drop_error();
    return found;
  }();
  return script != nullptr && PyType_Check(script) &&
         PyObject_TypeCheck(callable, reinterpret_cast<PyTypeObject*>(script));
}

// An int that is given for a float becomes one in a scripted function, and stays an int in Python.
static bool converts_numbers(PyObject* callable) {
  const auto schema = Ref<>::steal(PyObject_GetAttrString(callable, "schema"));
  const auto text = schema ? Ref<>::steal(PyObject_Str(schema.get())) : Ref<>();
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 == nullptr) drop_error();
  const std::string_view shown = utf8 != nullptr ? utf8 : "float ";
  const std::string_view arguments = shown.substr(0, shown.find("->"));
  const auto has = [&](const char* type) { return arguments.find(type) != std::string_view::npos; };
  return has("float") || has("Scalar") || has("complex");
}

const char* python_form(PyObject* callable) {
  static constexpr const char* kAttribute = "_torchdynamo_inline";  // torch keeps it there for such engines
  if (!is_scripted(callable)) return nullptr;
  const auto function = Ref<>::steal(PyObject_GetAttrString(callable, kAttribute));
  if (!function) drop_error();
  return function && PyFunction_Check(function.get()) && !converts_numbers(callable) ? kAttribute : nullptr;
}

}  // namespace stator
