// capture/guards/kinds/order.h: the order of an OrderedDict, which its version does not tell.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_ORDER_H
#define STATOR_CAPTURE_GUARDS_KINDS_ORDER_H

#include "capture/cpython/ordered_dict.h"
#include "capture/guards/guard_kind.h"

namespace stator {

struct OrderGuard {
  PyObject* dict;
  std::vector<ExpectedValue> keys;

  GuardKey key() const { return {dict}; }
  bool holds(FoundByGuards) {
    const cpython::OrderNode* node = cpython::ordered(dict)->first;
    for (const ExpectedValue& expected : keys) {
      if (node == nullptr || !expected.matches(node->key)) return false;
      node = node->next;
    }
    return node == nullptr;
  }
  std::string text() const { return "has its items in the same order"; }
  void words(GuardWords& words) const { words.add(&cpython::ordered(dict)->state); }
  bool note_changes(Changes&) { return holds_still(*this); }
  template <class Visit>
  void each_expected(Visit&&) {}  // the keys, which the guard on the items has too
};

}  // namespace stator

#endif
