// capture/recording/type_aliases.cpp: `int | str` and `list[int]`, which never change and lead to classes.
#include "capture/cpython/type_alias.h"
#include "capture/recording/recording.h"

namespace stator {

// Looked through as the tuple of classes that it holds.
bool Recording::read_alias(PyObject* alias) {
  PyObject* classes = is_pinned(alias) ? read_member(alias, "__args__") : nullptr;
  return classes != nullptr ? read_contents(classes)
                            : stop(BreakCode::kUnguardable, "classes in an alias of unknown origin");
}

bool Recording::read_alias_attribute(PyObject* alias, PyObject* name) {
  if (is_fresh(alias)) return true;
  if (!is_pinned(alias)) return stop(BreakCode::kUnguardable, "an alias of classes of unknown origin");
  PyObject* const found = _PyType_Lookup(Py_TYPE(alias), name);
  if (found == nullptr && !cpython::is_union(alias)) {  // asked of the class that it is an alias of
    PyObject* origin = read_member(alias, "__origin__");
    return origin != nullptr && read_attribute(origin, name);
  }
  if (found != nullptr && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
    PyObject* value = read_member(alias, PyUnicode_AsUTF8(name));
    return value == nullptr || read_contents(value);
  }
  return true;  // methods, and what follows from its members
}

}  // namespace stator
