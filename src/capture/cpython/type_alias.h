// capture/cpython/type_alias.h: `int | None` and `list[int]`, which never change and hold classes.
#ifndef STATOR_CAPTURE_CPYTHON_TYPE_ALIAS_H
#define STATOR_CAPTURE_CPYTHON_TYPE_ALIAS_H

#include <Python.h>

#include <string_view>

namespace stator::cpython {

// CPython exports no name for the class.
inline bool is_union(PyObject* object) {
  return std::string_view(Py_TYPE(object)->tp_name) == "types.UnionType";
}

inline bool is_type_alias(PyObject* object) {
  return Py_IS_TYPE(object, &Py_GenericAliasType) || is_union(object);
}

}  // namespace stator::cpython

#endif
