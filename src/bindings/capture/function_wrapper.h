// bindings/capture/function_wrapper.h: what the callables of ours that wrap another one have in common.
//
// Compiled, Marked and Interpreted derive from the type `Wrapper`. What users ask of a function (copies,
// pickles, its code and defaults) is answered for all of them by stator/api/function_like.py.
#ifndef STATOR_BINDINGS_CAPTURE_FUNCTION_WRAPPER_H
#define STATOR_BINDINGS_CAPTURE_FUNCTION_WRAPPER_H

#include <Python.h>

#include <structmember.h>

#include <cstddef>

#include "capture/cpython/ref.h"

namespace stator {

// The beginning of each such object.
struct FunctionWrapper {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weak_references;
};

// A new object of the type, with the names and attributes of the function. nullptr with an error set.
Ref<> wrap_function(PyTypeObject* type, PyObject* function, vectorcallfunc call, const char* user);

// A field of an object in a garbage cycle: finalizers of the same garbage may still call the object.
inline void renounce(PyObject*& field) {
  if (field != nullptr) Py_SETREF(field, Py_NewRef(Py_None));
}

// For the slots of the derived types.
int traverse_wrapper(PyObject* object, visitproc visit, void* arg);
int clear_wrapper(PyObject* object);
// Frees the object, after what the derived type owns.
void free_wrapper(PyObject* object);

// Offsets are not inherited by types that are made from a specification.
#define STATOR_WRAPPER_OFFSETS                                                                             \
  {"__dictoffset__", T_PYSSIZET, offsetof(FunctionWrapper, dict), READONLY, nullptr},                      \
      {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionWrapper, weak_references), READONLY, nullptr}, { \
    "__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionWrapper, vectorcall), READONLY, nullptr           \
  }

// Adds the type `Wrapper`; called before the derived types are added.
bool add_function_wrapper(PyObject* module);
// A type that derives from it. nullptr with an error set.
PyObject* derived_wrapper(PyType_Spec* spec);

}  // namespace stator

#endif
