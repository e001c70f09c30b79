// capture/cpython/ordered_dict.h: the order of an OrderedDict, which changes without its version.
//
// CPython keeps the order in a list of nodes behind the dictionary, and counts its changes. The layout is the
// same on every supported version; `order_is_readable` proves it once on a dictionary of its own.
#ifndef STATOR_CAPTURE_CPYTHON_ORDERED_DICT_H
#define STATOR_CAPTURE_CPYTHON_ORDERED_DICT_H

#include "capture/cpython/ref.h"

namespace stator::cpython {

struct OrderNode {
  PyObject* key;
  Py_hash_t hash;
  OrderNode *next, *previous;
};
struct OrderedDict {
  PyDictObject dict;
  OrderNode *first, *last;
  OrderNode** fast_nodes;
  Py_ssize_t fast_count;
  void* resize_sentinel;
  size_t state;  // counts the changes of the order
  PyObject *instance_dict, *weak_references;
};

inline const OrderedDict* ordered(PyObject* dict) { return reinterpret_cast<const OrderedDict*>(dict); }

inline bool order_is_readable() {
  static const bool readable = [] {
    if (PyODict_Type.tp_basicsize != static_cast<Py_ssize_t>(sizeof(OrderedDict))) return false;
    auto dict = Ref<>::steal(PyODict_New());
    auto one = Ref<>::steal(PyUnicode_InternFromString("one"));
    auto two = Ref<>::steal(PyUnicode_InternFromString("two"));
    if (!dict || !one || !two || PyODict_SetItem(dict.get(), one.get(), one.get()) < 0) return false;
    const size_t before = ordered(dict.get())->state;
    if (PyODict_SetItem(dict.get(), two.get(), two.get()) < 0) return false;
    const OrderedDict* found = ordered(dict.get());
    return found->state != before && found->first != nullptr && found->first->key == one.get() &&
           found->first->next == found->last && found->last->key == two.get() && found->last->next == nullptr;
  }();
  return readable;
}

}  // namespace stator::cpython

#endif
