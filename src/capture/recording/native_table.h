// capture/recording/native_table.h: what the C functions of Python's own modules may do.
#ifndef STATOR_CAPTURE_RECORDING_NATIVE_TABLE_H
#define STATOR_CAPTURE_RECORDING_NATIVE_TABLE_H

#include "capture/cpython/python.h"

namespace stator {

enum class NativeEffect : uint8_t {
  pure,             // reads its arguments, and what they contain
  shows,            // the same, and puts them into words
  hashes,           // hash(x)
  reads_shallow,    // reads its arguments, not what their items contain
  reads_dict,       // vars(x)
  asks_registry,    // isinstance and issubclass of abstract base classes
  acquires,         // takes a lock
  releases,         // gives it back
  asks_exception,   // sys.exc_info()
  reduces,          // x.__reduce_ex__(4)
  reads_item,       // reads self[argument 0]
  reads_attribute,  // reads an attribute of argument 0
  writes_self,      // changes its first argument (self included)
  writes_attribute,
  advances,           // takes a value out of its first argument, an iterator
  asks_type,          // type(x)
  asks_identity,      // id(x)
  compares_identity,  // operator.is_
  warns,              // warnings.warn()
  asks_context,       // what a context variable holds
  draws,              // moves a generator of random numbers
};

struct NativeCall {
  NativeEffect effect;
};

// nullptr: not in the table.
const NativeCall* find_native_call(PyObject* callable);

}  // namespace stator

#endif
