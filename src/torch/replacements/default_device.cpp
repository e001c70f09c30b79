// src/torch/replacements/default_device.cpp: torch.device as a context manager and torch.set_default_device.
#include "torch/replacements/default_device.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/PyInterpreter.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "capture/cpython/interrupts.h"
#include "torch/tracing/imported_module.h"

namespace stator {
namespace {

using Modes = at::impl::PythonTorchFunctionTLS;

// torch.utils._device.DeviceContext, and the code of its own that runs plainly. Asked for by the hook, which
// must not lead to an import.
PyTypeObject* device_context = nullptr;
std::array<PyObject*, 3> plain_codes{};

// Functions of torch._C, and what is called in their place.
constexpr std::array kQuestions = {"_has_torch_function", "_has_torch_function_unary",
                                   "_has_torch_function_variadic", "_is_torch_function_mode_enabled"};

PyObject* ask(PyObject* question, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  const WithoutFunctionModes none;
  return PyObject_Vectorcall(question, arguments, static_cast<size_t>(count), keywords);
}

PyMethodDef question_without_device = {"asks_without_device",
                                       reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(ask)),
                                       METH_FASTCALL | METH_KEYWORDS, nullptr};

}  // namespace

std::optional<uint64_t> default_device() {
  const int64_t count = Modes::stack_len();
  if (count == 0) return 0;
  for (int64_t i = 0; i < count; i++) {
    if (Py_TYPE(Modes::get_stack_at(i)->ptr(getPyInterpreter())) != device_context) return std::nullopt;
  }
  const auto device =
      Ref<>::steal(PyObject_GetAttrString(Modes::get_stack_at(count - 1)->ptr(getPyInterpreter()), "device"));
  if (!device || !THPDevice_Check(device.get())) {
    drop_error();
    return std::nullopt;
  }
  const c10::Device found = reinterpret_cast<THPDevice*>(device.get())->device;
  static_assert((c10::COMPILE_TIME_MAX_DEVICE_TYPES + 1) << 8 <= 1 << kDefaultDeviceBits);
  return (static_cast<uint64_t>(found.type()) + 1) << 8 | static_cast<uint8_t>(found.index() + 1);
}

bool changes_default_device(PyObject* callable) {
  std::string_view name;
  if (PyCFunction_Check(callable)) {
    const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
    if (function->m_self == nullptr || !THPDevice_Check(function->m_self)) return false;
    name = function->m_ml->ml_name;
  } else if (Py_IS_TYPE(callable, &PyMethodDescr_Type)) {
    if (PyDescr_TYPE(callable) != &THPDeviceType) return false;
    name = reinterpret_cast<PyMethodDescrObject*>(callable)->d_method->ml_name;
  }
  return name == "__enter__" || name == "__exit__";
}

void prepare_default_device() {
  const py::module_ module = imported("torch.utils._device");
  py::object type = module.attr("DeviceContext");
  plain_codes = {
      py::object(type.attr("__init__").attr("__code__")).release().ptr(),
      py::object(type.attr("__torch_function__").attr("__code__")).release().ptr(),
      py::object(module.attr("_device_constructors").attr("__wrapped__").attr("__code__")).release().ptr()};
  device_context = reinterpret_cast<PyTypeObject*>(type.release().ptr());
}

bool is_default_device_code(PyCodeObject* code) {
  return std::ranges::find(plain_codes, reinterpret_cast<PyObject*>(code)) != plain_codes.end();
}

Ref<> asks_without_device(PyObject* callable) {
  if (Modes::stack_len() == 0 || !PyCFunction_Check(callable) || !default_device()) return {};
  const auto* function = reinterpret_cast<PyCFunctionObject*>(callable);
  for (const char* question : kQuestions) {
    if (std::string_view(function->m_ml->ml_name) != question) continue;
    static py::module_ library = imported("torch._C");
    const py::object known = py::getattr(library, question, py::none());
    if (known.ptr() == callable) return Ref<>::steal(PyCFunction_New(&question_without_device, callable));
  }
  return {};
}

bool is_question_without_device(PyObject* callable) {
  return PyCFunction_Check(callable) &&
         reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &question_without_device;
}

struct WithoutFunctionModes::State {
  Modes modes = Modes::get_state();
};

WithoutFunctionModes::WithoutFunctionModes() : state_(nullptr) {
  if (Modes::stack_len() == 0) return;
  state_ = new State;
  while (Modes::stack_len() > 0) Modes::pop_stack();
}

WithoutFunctionModes::~WithoutFunctionModes() {
  if (state_ == nullptr) return;
  Modes::set_state(state_->modes);
  delete state_;
}

}  // namespace stator
