// capture/recording/type_aliases.cpp: `int | str` and `list[int]`, which never change and lead to classes.
#include "capture/recording/type_aliases.h"

#include "capture/cpython/type_alias.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {

// Looked through as the tuple of classes that it holds.
bool read_alias(Recording& recording, PyObject* alias) {
  PyObject* classes = is_pinned(recording, alias) ? read_member(recording, alias, "__args__") : nullptr;
  return classes != nullptr
             ? read_contents(recording, classes)
             : stop(recording, BreakCode::kUnguardable, "classes in an alias of unknown origin");
}

bool read_alias_attribute(Recording& recording, PyObject* alias, PyObject* name) {
  if (is_fresh(recording, alias)) return true;
  if (!is_pinned(recording, alias))
    return stop(recording, BreakCode::kUnguardable, "an alias of classes of unknown origin");
  PyObject* const found = _PyType_Lookup(Py_TYPE(alias), name);
  if (found == nullptr && !cpython::is_union(alias)) {  // asked of the class that it is an alias of
    PyObject* origin = read_member(recording, alias, "__origin__");
    return origin != nullptr && read_attribute(recording, origin, name);
  }
  if (found != nullptr && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
    PyObject* value = read_member(recording, alias, PyUnicode_AsUTF8(name));
    return value == nullptr || read_contents(recording, value);
  }
  return true;  // methods, and what follows from its members
}

}  // namespace stator
