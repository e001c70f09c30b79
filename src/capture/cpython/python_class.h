// capture/cpython/python_class.h: classes whose instances hold nothing that only C code knows.
#ifndef STATOR_CAPTURE_CPYTHON_PYTHON_CLASS_H
#define STATOR_CAPTURE_CPYTHON_PYTHON_CLASS_H

// In this order: structmember.h knows nothing without Python.h.
// clang-format off
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"
#include <structmember.h>
// clang-format on

namespace stator::cpython {

// Whether instances have no more room than those of the base, and than what a class statement adds to it: the
// slots, a dictionary and weak references. C code makes classes on the heap as well, with fields of its own.
inline bool adds_no_fields(const PyTypeObject* type) {
  const PyTypeObject* base = type->tp_base;
  if (base == nullptr) return true;
  PyObject* slots = reinterpret_cast<const PyHeapTypeObject*>(type)->ht_slots;
  Py_ssize_t words = slots != nullptr ? PyTuple_GET_SIZE(slots) : 0;
  if (type->tp_dictoffset != 0 && base->tp_dictoffset == 0) words++;
  if (type->tp_weaklistoffset != 0 && base->tp_weaklistoffset == 0) words++;
  return type->tp_basicsize - base->tp_basicsize <= words * static_cast<Py_ssize_t>(sizeof(PyObject*));
}

// Made by a class statement. Most classes that C code makes have a destructor of their own, and all others
// fields (`_random.Random`).
inline bool is_python_class(const PyTypeObject* type) {
  static const destructor of_python_classes = [] {
    auto module = Ref<>::steal(PyImport_ImportModule("_frozen_importlib"));
    auto example = Ref<>::steal(module ? PyObject_GetAttrString(module.get(), "ModuleSpec") : nullptr);
    drop_error();
    return example && PyType_Check(example.get()) ? reinterpret_cast<PyTypeObject*>(example.get())->tp_dealloc
                                                  : nullptr;
  }();
  return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 && of_python_classes != nullptr &&
         type->tp_dealloc == of_python_classes && adds_no_fields(type);
}

// Whether a member descriptor is that of a name in __slots__, which anybody may write.
inline bool is_slot(PyObject* descriptor) {
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member;
  return member->type == T_OBJECT_EX && (member->flags & READONLY) == 0;
}

// A member that nobody may write.
inline bool is_read_only(PyObject* descriptor) {
  return Py_IS_TYPE(descriptor, &PyMemberDescr_Type) &&
         (reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->flags & READONLY) != 0;
}

// A member that holds a reference; others are numbers and texts in the fields of a C struct.
inline bool is_reference(PyObject* descriptor) {
  if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return false;
  const int type = reinterpret_cast<PyMemberDescrObject*>(descriptor)->d_member->type;
  return type == T_OBJECT_EX || type == T_OBJECT;
}

}  // namespace stator::cpython

#endif
