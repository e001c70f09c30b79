// src/torch/replacements/default_device.h: torch.device as a context manager and torch.set_default_device.
//
// Both are a torch-function mode whose Python code gives factories a device that were given none. It runs in
// captures as it does in eager code, so that factories arrive at the dispatcher with their device; a run
// needs no mode. Which device a caller has set is part of the modes that every capture is guarded by.
#pragma once

#include <Python.h>

#include <cstdint>
#include <optional>

#include "capture/cpython/ref.h"

namespace stator {

// Called once, when the module is initialised.
void prepare_default_device();

// The device that factories get, in the low bits; 0 where none is set; nullopt while other torch-function
// modes are active.
constexpr int kDefaultDeviceBits = 13;
std::optional<uint64_t> default_device();

// torch.device.__enter__ or __exit__, bound or not.
bool changes_default_device(PyObject* callable);

// Whether it is Python code of the mode's own, which is run and not captured.
bool is_default_device_code(PyCodeObject* code);

// While such modes, and no others, are active: what is to be called instead of torch's questions whether
// torch-function modes are active, for which a mode that looks at factories only does not count. Nothing:
// `callable` itself.
Ref<> asks_without_device(PyObject* callable);
bool is_question_without_device(PyObject* callable);

// No torch-function mode is active while this lives.
class WithoutFunctionModes {
 public:
  WithoutFunctionModes();
  ~WithoutFunctionModes();
  WithoutFunctionModes(const WithoutFunctionModes&) = delete;
  WithoutFunctionModes& operator=(const WithoutFunctionModes&) = delete;

 private:
  struct State;
  State* state_;
};

}  // namespace stator
