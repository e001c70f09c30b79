// capture/cpython/cache_counts.h: how often a functools.lru_cache has answered.
#ifndef STATOR_CAPTURE_CPYTHON_CACHE_COUNTS_H
#define STATOR_CAPTURE_CPYTHON_CACHE_COUNTS_H

#include "capture/cpython/python.h"

namespace stator::cpython {

// Adds to its number of hits, which may become negative for a while. Does nothing where the object is no
// such cache, or CPython lays it out in another way than is known.
void add_cache_hits(PyObject* cache, Py_ssize_t hits);

}  // namespace stator::cpython

#endif
