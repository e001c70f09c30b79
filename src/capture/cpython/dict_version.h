// capture/cpython/dict_version.h: the number that names one state of one dictionary.
#ifndef STATOR_CAPTURE_CPYTHON_DICT_VERSION_H
#define STATOR_CAPTURE_CPYTHON_DICT_VERSION_H

#include "capture/cpython/layout.h"

namespace stator::cpython {

// Unique over all dictionaries and all their states; changes with every write. Only for objects known to be
// dicts.
inline const uint64_t* dict_version_address(PyObject* dict) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
}

inline uint64_t dict_version(PyObject* dict) { return *dict_version_address(dict); }

}  // namespace stator::cpython

#endif
