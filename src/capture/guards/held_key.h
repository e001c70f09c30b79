// capture/guards/held_key.h: a dictionary's key as a guard knows it.
#ifndef STATOR_CAPTURE_GUARDS_HELD_KEY_H
#define STATOR_CAPTURE_GUARDS_HELD_KEY_H

#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator {

// Constants are kept. An object of the program's (a parameter in an optimizer's state) is known by a weak
// reference, where it can be: a guard keeps nothing alive that the program dropped.
class HeldKey {
 public:
  explicit HeldKey(PyObject* key) {
    if (PyObject_IS_GC(key) && PyType_SUPPORTS_WEAKREFS(Py_TYPE(key))) {
      kept_ = Ref<>::steal(PyWeakref_NewRef(key, nullptr));
      is_weak_ = static_cast<bool>(kept_);
      if (!is_weak_) drop_error();
    }
    if (!is_weak_) kept_ = Ref<>::share(key);
  }
  // Borrowed; nullptr where it is gone.
  PyObject* get() const {
    if (!is_weak_) return kept_.get();
    PyObject* const found = PyWeakref_GET_OBJECT(kept_.get());
    return found != Py_None ? found : nullptr;
  }

 private:
  Ref<> kept_;
  bool is_weak_ = false;
};

}  // namespace stator

#endif
