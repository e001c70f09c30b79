// capture/cpython/cache_counts.cpp: the counts of a functools.lru_cache, in the C struct that CPython keeps
// to itself.
#include "capture/cpython/cache_counts.h"

#include "capture/cpython/error_scope.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/ref.h"

namespace stator::cpython {
namespace {

struct LruCache {
  PyObject_HEAD void *previous, *next;
  Py_hash_t hash;
  PyObject *key, *result;
  void* wrapper;
  int typed;
  PyObject* results;
  Py_ssize_t hits;
  PyObject* function;
  Py_ssize_t limit, misses;
};

// Of a cache over int() that was asked three times for one number.
PyTypeObject* type_if_known() {
  const ErrorScope of_the_caller;
  const auto functools = Ref<>::steal(PyImport_ImportModule("functools"));
  const auto cache =
      Ref<>::steal(functools ? PyObject_CallMethod(functools.get(), "lru_cache", "i", 7) : nullptr);
  const auto made = Ref<>::steal(
      cache ? PyObject_CallOneArg(cache.get(), reinterpret_cast<PyObject*>(&PyLong_Type)) : nullptr);
  for (int i = 0; made && i < 3; i++) Ref<>::steal(PyObject_CallFunction(made.get(), "i", 5));
  const bool has_room =
      made && Py_TYPE(made.get())->tp_basicsize >= static_cast<Py_ssize_t>(sizeof(LruCache));
  const auto* const laid_out = reinterpret_cast<LruCache*>(made.get());
  const bool is_known = !PyErr_Occurred() && has_room && laid_out->hits == 2 && laid_out->misses == 1 &&
                        laid_out->limit == 7 &&
                        laid_out->function == reinterpret_cast<PyObject*>(&PyLong_Type);
  drop_error();
  return is_known ? Py_TYPE(made.get()) : nullptr;
}

}  // namespace

void add_cache_hits(PyObject* cache, Py_ssize_t hits) {
  static PyTypeObject* const type = type_if_known();
  if (type != nullptr && Py_IS_TYPE(cache, type)) reinterpret_cast<LruCache*>(cache)->hits += hits;
}

}  // namespace stator::cpython
