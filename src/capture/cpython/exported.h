// capture/cpython/exported.h: functions that every supported CPython exports without declaring them in its
// public headers.
#ifndef STATOR_CAPTURE_CPYTHON_EXPORTED_H
#define STATOR_CAPTURE_CPYTHON_EXPORTED_H

#include "capture/cpython/python.h"

#undef _PyObject_LookupSpecial  // a macro for another function in some public headers

extern "C" {
int _PyObject_GetMethod(PyObject* owner, PyObject* name, PyObject** method);
PyObject* _PyObject_LookupSpecial(PyObject* object, PyObject* name);
PyObject* _PyObject_FunctionStr(PyObject* function);
PyObject* _PyUnicode_JoinArray(PyObject* separator, PyObject* const* items, Py_ssize_t count);
PyObject* _PyList_Extend(PyListObject* list, PyObject* iterable);
int _PyDict_MergeEx(PyObject* dict, PyObject* update, int override);
int _PySet_NextEntry(PyObject* set, Py_ssize_t* position, PyObject** key, Py_hash_t* hash);
int _PySet_Update(PyObject* set, PyObject* iterable);
int _PySet_NextEntry(PyObject* set, Py_ssize_t* position, PyObject** key, Py_hash_t* hash);
PyObject* _PyType_Lookup(PyTypeObject* type, PyObject* name);
void _PyErr_SetKeyError(PyObject* key);
void _PyTraceback_Add(const char* function, const char* file, int line);
}

#endif
