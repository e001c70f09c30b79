// capture/program/held_class.h: the class of what a program makes, not kept alive by it where guards prove
// it.
#ifndef STATOR_CAPTURE_PROGRAM_HELD_CLASS_H
#define STATOR_CAPTURE_PROGRAM_HELD_CLASS_H

#include "capture/cpython/interrupts.h"
#include "capture/guards/guard_set.h"
#include "capture/guards/kinds/type.h"

namespace stator {

// A class that is made anew in each call of the program must be able to die like any other: the capture that
// knows it serves nobody any more.
class HeldClass {
 public:
  HeldClass(const GuardSet& guards, PyTypeObject* type) {
    auto* const object = reinterpret_cast<PyObject*>(type);
    is_weak_ = guards.has<TypeGuard>(type);
    if (is_weak_) held_ = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
    if (held_) return;
    drop_error();
    is_weak_ = false;
    held_ = Ref<>::share(object);
  }
  // Null, with an error set, where it is gone: something that runs between guards and results let go of it.
  Ref<> get() const {
    PyObject* const object = is_weak_ ? PyWeakref_GET_OBJECT(held_.get()) : held_.get();
    if (object != Py_None) return Ref<>::share(object);
    PyErr_SetString(PyExc_ReferenceError, "the class of a result is gone");
    return {};
  }

 private:
  Ref<> held_;
  bool is_weak_ = false;
};

inline PyTypeObject* as_type(const Ref<>& type) { return reinterpret_cast<PyTypeObject*>(type.get()); }

}  // namespace stator

#endif
