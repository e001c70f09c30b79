// capture/guards/kinds/method.h: what a bound method, of Python or of C, binds together.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_METHOD_H
#define STATOR_CAPTURE_GUARDS_KINDS_METHOD_H

#include "capture/guards/guard_kind.h"

namespace stator {

// The function and the object that a method binds; of a method of C: its definition.
struct MethodFields {
  PyObject *const *function, *const *self;
};
inline MethodFields fields_of(PyObject* method) {
  if (PyMethod_Check(method)) {
    auto* bound = reinterpret_cast<PyMethodObject*>(method);
    return {&bound->im_func, &bound->im_self};
  }
  auto* bound = reinterpret_cast<PyCFunctionObject*>(method);
  return {reinterpret_cast<PyObject* const*>(&bound->m_ml), &bound->m_self};
}

// Looked at again for the reason given at TupleGuard.
struct MethodGuard {
  PyObject* method;
  PyTypeObject* type;
  PyObject *function, *self;

  explicit MethodGuard(PyObject* method)
      : method(method),
        type(Py_TYPE(method)),
        function(*fields_of(method).function),
        self(*fields_of(method).self) {}

  GuardKey key() const { return {method}; }
  bool holds(FoundByGuards) {
    if (Py_TYPE(method) != type) return false;
    const MethodFields fields = fields_of(method);
    return *fields.function == function && *fields.self == self;
  }
  std::string text() const { return "binds the same function and object"; }
  void words(GuardWords& words) const {
    const MethodFields fields = fields_of(method);
    words.add(&method->ob_type);
    words.add(fields.function);
    words.add(fields.self);
  }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}
};

}  // namespace stator

#endif
