// capture/interpreter/names.cpp: looking up and changing names that live in dictionaries and mappings.
#include "capture/interpreter/names.h"

#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"
#include "capture/cpython/traits.h"
#include "capture/interpreter/errors.h"

namespace stator {

using cpython::Frame;

namespace {

// The value under `name`, or nothing; nothing with an error set when the lookup itself failed.
Ref<> find(PyObject* mapping, PyObject* name) {
  if (PyDict_CheckExact(mapping)) return Ref<>::share(PyDict_GetItemWithError(mapping, name));
  auto value = Ref<>::steal(PyObject_GetItem(mapping, name));
  if (!value && PyErr_ExceptionMatches(PyExc_KeyError)) drop_error();
  return value;
}

PyObject* find_global(Frame* frame, PyObject* name) {
  auto value = find(frame->globals, name);
  if (!value && !PyErr_Occurred()) value = find(frame->builtins, name);
  if (!value && !PyErr_Occurred()) raise_name_error(name);
  return value.release();
}

bool need_locals(Frame* frame, const char* what, PyObject* name) {
  if (frame->locals != nullptr) return true;
  PyErr_Format(PyExc_SystemError, what, name);
  return false;
}

}  // namespace

PyObject* load_global(Frame* frame, PyObject* name) { return find_global(frame, name); }

bool delete_global(Frame* frame, PyObject* name) {
  if (PyDict_DelItem(frame->globals, name) == 0) return true;
  if (PyErr_ExceptionMatches(PyExc_KeyError)) {
    drop_error();
    raise_name_error(name);
  }
  return false;
}

PyObject* load_name(Frame* frame, PyObject* locals, PyObject* name) {
  if (locals == nullptr) {
    PyErr_Format(PyExc_SystemError, "no locals when loading %R", name);
    return nullptr;
  }
  auto value = find(locals, name);
  if (value) return value.release();
  if (PyErr_Occurred()) return nullptr;
  // Unlike LOAD_GLOBAL, the globals are read as a plain dictionary.
  value = Ref<>::share(PyDict_GetItemWithError(frame->globals, name));
  if (!value && !PyErr_Occurred()) value = find(frame->builtins, name);
  if (!value && !PyErr_Occurred()) raise_name_error(name);
  return value.release();
}

bool store_name(Frame* frame, PyObject* name, PyObject* value) {
  if (!need_locals(frame, "no locals found when storing %R", name)) return false;
  return (PyDict_CheckExact(frame->locals) ? PyDict_SetItem(frame->locals, name, value)
                                           : PyObject_SetItem(frame->locals, name, value)) == 0;
}

bool delete_name(Frame* frame, PyObject* name) {
  if (!need_locals(frame, "no locals when deleting %R", name)) return false;
  if (PyObject_DelItem(frame->locals, name) == 0) return true;
  // Any failure of the mapping reads as an unknown name, as in CPython.
  drop_error();
  raise_name_error(name);
  return false;
}

PyObject* load_class_cell(Frame* frame, PyObject* locals, int index) {
  PyObject* name = PyTuple_GET_ITEM(frame->code->co_localsplusnames, index);
  auto value = find(locals, name);
  if (value) return value.release();
  if (PyErr_Occurred()) return nullptr;
  PyObject* content = PyCell_GET(frame->localsplus[index]);
  if (content == nullptr) {
    raise_unbound_cell(frame->code, index);
    return nullptr;
  }
  return Py_NewRef(content);
}

PyObject* load_class_global(Frame* frame, PyObject* mapping, PyObject* name) {
  if constexpr (!cpython::kReadsNamespacesAsMappings) return load_name(frame, mapping, name);
  auto value = find(mapping, name);
  return value || PyErr_Occurred() ? value.release() : find_global(frame, name);
}

PyObject* load_import(Frame* frame) {
  static PyObject* const name = PyUnicode_InternFromString("__import__");
  Ref<> value;
  if (cpython::kReadsNamespacesAsMappings || PyDict_Check(frame->builtins))
    value = find(frame->builtins, name);
  if (!value && !PyErr_Occurred()) PyErr_SetString(PyExc_ImportError, "__import__ not found");
  return value.release();
}

PyObject* load_build_class(Frame* frame) {
  static PyObject* const name = PyUnicode_InternFromString("__build_class__");
  auto value = find(frame->builtins, name);
  if (!value && !PyErr_Occurred()) PyErr_SetString(PyExc_NameError, "__build_class__ not found");
  return value.release();
}

bool setup_annotations(Frame* frame) {
  static PyObject* const name = PyUnicode_InternFromString("__annotations__");
  if (frame->locals == nullptr) {
    PyErr_SetString(PyExc_SystemError, "no locals found when setting up annotations");
    return false;
  }
  if (find(frame->locals, name)) return true;
  if (PyErr_Occurred()) return false;
  auto annotations = Ref<>::steal(PyDict_New());
  return annotations && store_name(frame, name, annotations.get());
}

}  // namespace stator
