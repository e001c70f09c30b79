// capture/cpython/ref.h: ownership of Python objects in the type system.
#ifndef STATOR_CAPTURE_CPYTHON_REF_H
#define STATOR_CAPTURE_CPYTHON_REF_H

#include <utility>

#include "capture/cpython/python.h"

namespace stator {

// Owns one reference, or none.
template <class T = PyObject>
class Ref {
 public:
  Ref() = default;
  Ref(const Ref& other) : object_(other.object_) { Py_XINCREF(as_object()); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(as_object()); }

  // Takes over a reference that the caller owns.
  static Ref steal(T* object) { return Ref(object); }
  static Ref steal_object(PyObject* object) requires(!std::is_same_v<T, PyObject>) {
    return Ref(reinterpret_cast<T*>(object));
  }
  // Adds a reference of its own.
  static Ref share(T* object) {
    Py_XINCREF(reinterpret_cast<PyObject*>(object));
    return Ref(object);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  PyObject* as_object() const { return reinterpret_cast<PyObject*>(object_); }
  // Gives the reference to the caller.
  [[nodiscard]] T* release() { return std::exchange(object_, nullptr); }

 private:
  explicit Ref(T* object) : object_(object) {}
  T* object_ = nullptr;
};

// A reference that something else keeps alive for as long as this is in use.
template <class T = PyObject>
class BorrowedRef {
 public:
  BorrowedRef() = default;
  BorrowedRef(T* object) : object_(object) {}                 // NOLINT(google-explicit-constructor)
  BorrowedRef(const Ref<T>& owner) : object_(owner.get()) {}  // NOLINT(google-explicit-constructor)
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }
  Ref<T> share() const { return Ref<T>::share(object_); }

 private:
  T* object_ = nullptr;
};

}  // namespace stator

#endif
