// capture/cpython/set_table.h: the hash table of a set, slot by slot. The order in which a set is walked
// through, and the item that pop() gives, follow from its table: from items that were removed, from the size
// it once had and from where the last pop() ended. A copy made by adding the items has another one.
#ifndef STATOR_CAPTURE_CPYTHON_SET_TABLE_H
#define STATOR_CAPTURE_CPYTHON_SET_TABLE_H

#include <initializer_list>
#include <optional>
#include <vector>

#include "capture/cpython/ref.h"

namespace stator::cpython {

// A set with the same items in the same slots; nullptr with an error set.
Ref<> copy_set(PyObject* set);
// Gives `set` the table that `from` has; false with an error set, and `set` unchanged or empty.
bool assign_set(PyObject* set, PyObject* from);

// A table without its items: they are known by their order.
class SetLayout {
 public:
  static SetLayout of(PyObject* set);
  // Of a set that got the items of `set` one after the other in the order of iteration this is the layout
  // anyway.
  static std::optional<SetLayout> unless_plain(PyObject* set);
  // Whether the table has the same slots in use, with items of the same hashes, and pop() goes on there.
  bool is_of(PyObject* set) const;
  // Calls visit(address) for every word that changes where the layout does.
  template <class Visit>
  void each_word(PyObject* set, Visit&& visit) const {
    auto* table = reinterpret_cast<PySetObject*>(set);
    for (const void* at :
         std::initializer_list<const void*>{&table->fill, &table->mask, &table->table, &table->finger})
      visit(at);
    for (const Slot& slot : slots_) visit(&table->table[slot.at].hash);
  }
  // Puts the items into their slots in an empty set, by their order. False without an error: an item has
  // another hash than the one that was here, and nothing was done.
  bool fill(PyObject* set, const std::vector<PyObject*>& items) const;

 private:
  struct Slot {
    Py_ssize_t at;
    Py_hash_t hash;  // -1: the item was removed
    bool operator==(const Slot&) const = default;
  };
  Py_ssize_t mask_ = 0;
  Py_ssize_t finger_ = 0;  // where pop() goes on
  std::vector<Slot> slots_;
};

// Adds the items to an empty set: in their slots where they fit into `layout` (which may be null), else one
// by one. False with an error set.
bool fill_set(PyObject* set, const std::vector<PyObject*>& items, const SetLayout* layout);

}  // namespace stator::cpython

#endif
