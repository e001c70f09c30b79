// capture/interpreter/names.h: looking up and changing names that live in dictionaries and mappings.
#ifndef STATOR_CAPTURE_INTERPRETER_NAMES_H
#define STATOR_CAPTURE_INTERPRETER_NAMES_H

#include "capture/cpython/frame.h"

namespace stator {

// Loads return a new reference, or nullptr with an error set; the others return false with an error set.
PyObject* load_global(cpython::Frame* frame, PyObject* name);
bool delete_global(cpython::Frame* frame, PyObject* name);

// Through `locals` (a dictionary or any mapping), then globals, then builtins.
PyObject* load_name(cpython::Frame* frame, PyObject* locals, PyObject* name);
bool store_name(cpython::Frame* frame, PyObject* name, PyObject* value);
bool delete_name(cpython::Frame* frame, PyObject* name);

// A free variable read in a class body: through `locals` first.
PyObject* load_class_cell(cpython::Frame* frame, PyObject* locals, int index);

// A global read in a scope nested in a class body: through `mapping`, the class's names, first.
PyObject* load_class_global(cpython::Frame* frame, PyObject* mapping, PyObject* name);

PyObject* load_import(cpython::Frame* frame);
PyObject* load_build_class(cpython::Frame* frame);
bool setup_annotations(cpython::Frame* frame);

}  // namespace stator

#endif
