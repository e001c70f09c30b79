// capture/cpython/set_table.cpp: reading and making tables of sets. CPython 3.11 to 3.13 have the same one.
#include "capture/cpython/set_table.h"

#include <algorithm>

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"

namespace stator::cpython {

static PySetObject* as_set(PyObject* object) { return reinterpret_cast<PySetObject*>(object); }

static bool is_removed(const setentry& entry) { return entry.key != nullptr && entry.hash == -1; }

// What CPython puts where an item was; it exports no name for it in every version.
static PyObject* removed_mark() {
  static PyObject* const mark = [] {
    const Ref<> set = Ref<>::steal(PySet_New(nullptr));
    PySet_Add(set.get(), Py_None);
    PySet_Discard(set.get(), Py_None);
    for (Py_ssize_t i = 0; i <= as_set(set.get())->mask; i++) {
      if (is_removed(as_set(set.get())->table[i])) return as_set(set.get())->table[i].key;
    }
    return static_cast<PyObject*>(nullptr);
  }();
  return mark;
}

// An empty table of this size for a set that is empty.
static bool make_table(PySetObject* set, Py_ssize_t mask) {
  setentry* table = set->smalltable;
  if (mask + 1 > PySet_MINSIZE) {
    table = static_cast<setentry*>(PyMem_Malloc(sizeof(setentry) * static_cast<size_t>(mask + 1)));
    if (table == nullptr) {
      PyErr_NoMemory();
      return false;
    }
  }
  if (set->table != set->smalltable) PyMem_Free(set->table);
  std::fill_n(table, mask + 1, setentry{nullptr, 0});
  set->table = table;
  set->mask = mask;
  set->fill = set->used = 0;
  return true;
}

bool assign_set(PyObject* set, PyObject* from) {
  const PySetObject* source = as_set(from);
  PySet_Clear(set);
  PySetObject* target = as_set(set);
  if (!make_table(target, source->mask)) return false;
  for (Py_ssize_t i = 0; i <= source->mask; i++) {
    const setentry entry = source->table[i];
    if (entry.key != nullptr && !is_removed(entry)) Py_INCREF(entry.key);
    target->table[i] = entry;
  }
  target->fill = source->fill;
  target->used = source->used;
  target->finger = source->finger;
  return true;
}

Ref<> copy_set(PyObject* set) {
  Ref<> copy = Ref<>::steal(PySet_New(nullptr));
  return copy && assign_set(copy.get(), set) ? std::move(copy) : Ref<>();
}

SetLayout SetLayout::of(PyObject* set) {
  SetLayout layout;
  const PySetObject* table = as_set(set);
  layout.mask_ = table->mask;
  layout.finger_ = table->finger;
  for (Py_ssize_t i = 0; i <= table->mask; i++) {
    if (table->table[i].key != nullptr) layout.slots_.push_back({i, table->table[i].hash});
  }
  return layout;
}

std::optional<SetLayout> SetLayout::unless_plain(PyObject* set) {
  SetLayout layout = of(set);
  const Ref<> plain = Ref<>::steal(PySet_New(nullptr));
  PyObject* item;
  Py_ssize_t position = 0;
  Py_hash_t hash;
  while (plain && _PySet_NextEntry(set, &position, &item, &hash)) {
    if (PySet_Add(plain.get(), item) < 0) break;
  }
  drop_error();
  if (plain && layout.is_of(plain.get())) return std::nullopt;
  return layout;
}

bool SetLayout::is_of(PyObject* set) const {
  const PySetObject* table = as_set(set);
  if (table->mask != mask_ || table->finger != finger_ ||
      table->fill != static_cast<Py_ssize_t>(slots_.size()))
    return false;
  return std::all_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    const setentry& entry = table->table[slot.at];
    return entry.key != nullptr && entry.hash == slot.hash;
  });
}

bool SetLayout::fill(PyObject* set, const std::vector<PyObject*>& items) const {
  size_t next = 0;
  for (const Slot& slot : slots_) {
    if (slot.hash == -1) continue;
    if (next == items.size()) return false;
    const Py_hash_t hash = PyObject_Hash(items[next++]);
    if (hash == -1) drop_error();
    if (hash != slot.hash) return false;
  }
  PySetObject* table = as_set(set);
  if (next != items.size() || !make_table(table, mask_)) return false;
  next = 0;
  for (const Slot& slot : slots_) {
    table->table[slot.at] =
        slot.hash == -1 ? setentry{removed_mark(), -1} : setentry{Py_NewRef(items[next++]), slot.hash};
    table->used += slot.hash == -1 ? 0 : 1;
  }
  table->fill = static_cast<Py_ssize_t>(slots_.size());
  table->finger = finger_;
  return true;
}

bool fill_set(PyObject* set, const std::vector<PyObject*>& items, const SetLayout* layout) {
  if (layout != nullptr && layout->fill(set, items)) return true;
  if (PyErr_Occurred()) return false;
  return std::all_of(items.begin(), items.end(), [&](PyObject* item) { return PySet_Add(set, item) == 0; });
}

}  // namespace stator::cpython
