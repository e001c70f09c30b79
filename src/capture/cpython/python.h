// capture/cpython/python.h: the one place that includes CPython's headers.
#ifndef STATOR_CAPTURE_CPYTHON_PYTHON_H
#define STATOR_CAPTURE_CPYTHON_PYTHON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#endif
