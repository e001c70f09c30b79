// capture/recording/imports.h: an import of a module that is loaded already is a read of sys.modules.
#ifndef STATOR_CAPTURE_RECORDING_IMPORTS_H
#define STATOR_CAPTURE_RECORDING_IMPORTS_H

#include "capture/recording/recording.h"

namespace stator {

// Whether `import` with this `__import__` does what CPython does by itself.
bool imports_plainly(PyObject* function);
[[nodiscard]] bool before_import_call(Recording& recording, PyObject* const* arguments, Py_ssize_t count);
[[nodiscard]] bool before_import(Recording& recording, cpython::Frame* frame, PyObject* name,
                                 PyObject* level);
[[nodiscard]] bool before_loading(Recording& recording, PyFunctionObject* function, PyObject* name);

}  // namespace stator

#endif
