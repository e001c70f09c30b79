// capture/session/call_settings.cpp: how calls of compiled functions are treated.
#include "capture/session/call_settings.h"

#include "capture/cpython/ref.h"

namespace stator {

thread_local Stance thread_stance = Stance::normal;
CallSettings settings;
PyObject* capture_error = nullptr;

void set_capture_error(const char* kind, const std::string& message) {
  if (!is_set(settings.error_hook)) {
    PyErr_SetString(capture_error, message.c_str());
    return;
  }
  const auto error = Ref<>::steal(PyObject_CallFunction(settings.error_hook, "ss", kind, message.c_str()));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

}  // namespace stator
