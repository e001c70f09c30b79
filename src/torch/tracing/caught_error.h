// src/torch/tracing/caught_error.h: what becomes of a C++ exception that is caught, and of the Python error
// that it may hold.
#pragma once

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include "capture/cpython/interrupts.h"

namespace stator {

// In a handler: the exception is Python's error from now on. One that holds none says what it says, unless
// an error is set already.
inline void raise_caught() {
  try {
    throw;
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

// In a handler: nothing is left of the exception, nor of an error that is set, but interrupts.
inline void drop_caught() {
  try {
    throw;
  } catch (pybind11::error_already_set& error) {
    const pybind11::gil_scoped_acquire locked;
    error.restore();
    drop_error();
  } catch (python_error& error) {
    const pybind11::gil_scoped_acquire locked;
    error.restore();
    drop_error();
  } catch (...) {
    if (PyGILState_Check()) drop_error();
  }
}

}  // namespace stator
