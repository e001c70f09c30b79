// capture/cpython/python_class.h: classes whose instances hold nothing that only C code knows.
#ifndef STATOR_CAPTURE_CPYTHON_PYTHON_CLASS_H
#define STATOR_CAPTURE_CPYTHON_PYTHON_CLASS_H

// In this order: structmember.h knows nothing without Python.h.
// clang-format off
#include "capture/cpython/ref.h"
#include <structmember.h>
// clang-format on

namespace stator::cpython {

// Made by a class statement. C code makes classes on the heap as well, whose instances have a destructor and
// fields of their own.
inline bool is_python_class(const PyTypeObject* type) {
  static const destructor of_python_classes = [] {
    auto module = Ref<>::steal(PyImport_ImportModule("_frozen_importlib"));
    auto example = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "ModuleSpec") : nullptr);
    PyErr_Clear();
    return example && PyType_Check(example.get()) ? reinterpret_cast<PyTypeObject*>(example.get())->tp_dealloc
                                                  : nullptr;
  }();
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && of_python_classes != nullptr &&
         type->tp_dealloc == of_python_classes;
}

// Whether a member descriptor is that of a name in __slots__, which anybody may write.
inline bool is_slot(PyObject* descriptor) {
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  return member->type == T_OBJECT_EX && (member->flags & READONLY) == 0;
}

// A member that holds a reference; others are numbers and texts in the fields of a C struct.
inline bool is_reference(PyObject* descriptor) {
  if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return false;
  const int type = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->type;
  return type == T_OBJECT_EX || type == T_OBJECT;
}

}  // namespace stator::cpython

#endif
