// capture/policy/special_methods.h: what C code calls when it looks a method up on the class of an object.
#ifndef STATOR_CAPTURE_POLICY_SPECIAL_METHODS_H
#define STATOR_CAPTURE_POLICY_SPECIAL_METHODS_H

#include "capture/cpython/python.h"

namespace stator {

// The name of a special method of this class that C code would call without anybody looking at the call; or
// nullptr. Python functions are captured as they run, and what C classes define themselves is known by kind;
// anything else that a class statement binds to such a name (a bound method, a partial, an object that is
// called, a descriptor that gives one) may read and write whatever it likes.
PyObject* unseen_special_method(PyTypeObject* type);

// Whether `type[key]` calls only what is captured as it runs, or makes an alias.
bool subscripts_plainly(PyTypeObject* type);

}  // namespace stator

#endif
