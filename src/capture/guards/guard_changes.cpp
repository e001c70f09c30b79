// capture/guards/guard_changes.cpp: in what a call that no capture serves differs from the captured one.
#include <algorithm>

#include "capture/guards/guard_set.h"

namespace stator {

bool may_be_replaced(const Domain& domain, PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    const bool may = PyTuple_CheckExact(item) ? may_be_replaced(domain, item)
                                              : domain.is_tensor(item) || is_constant(item);
    if (!may) return false;
  }
  return true;
}

static bool is_another_number(const ExpectedValue& expected, PyObject* found) {
  PyObject* constant = expected.constant.get();
  return constant != nullptr && Py_TYPE(found) == Py_TYPE(constant) &&
         (PyLong_CheckExact(found) || PyFloat_CheckExact(found)) && !expected.matches(found);
}

// The sizes in which tensors of a tuple differ, and its numbers that do.
static void note_part(const Domain& domain, const TupleItemGuard::Part& part, PyObject* value,
                      Varying& varying) {
  if (part.tensor && domain.is_tensor(value))
    varying.note_sizes(part.name, part.tensor->changed_sizes(value));
  if (is_another_number(part.constant, value)) varying.note_number(part.name);
  if (!part.is_tuple || !PyTuple_CheckExact(value)) return;
  const auto count = std::min(part.items.size(), static_cast<size_t>(PyTuple_GET_SIZE(value)));
  for (size_t i = 0; i < count; i++)
    note_part(domain, part.items[i], PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i)), varying);
}

// Where one gradient was made anew all were, also those that have come to lie where the old ones lay.
void GuardSet::note_getters(const PyObject* descriptor, Varying& varying) const {
  for (size_t i = 0; i < guards_.size(); i++) {
    const auto* getter = std::get_if<GetterGuard>(&guards_[i]);
    if (getter != nullptr && getter->descriptor == descriptor && !getter->content.constant)
      varying.note_tensor(place_name(texts_.text(sources_[i]), PyDescr_NAME(getter->descriptor)));
  }
}

void GuardSet::note_changes(const Domain& domain, Varying& varying) const {
  if (const PyObject* replaced = note_each_change(domain, varying)) note_getters(replaced, varying);
}

const PyObject* GuardSet::note_each_change(const Domain& domain, Varying& varying) const {
  // Guards stand in the order in which each proves that the objects behind it are alive: past one that fails
  // for another reason than a number or a tensor nothing is asked, and nothing of a tensor that may be gone.
  shape::Bindings bindings;
  std::vector<PyObject*> placed;
  const FoundByGuards ignored{bindings, placed};
  PyObject* replaced = nullptr;              // the getter of something that was
  std::unordered_set<const PyObject*> gone;  // replaced tensors may be, and what only they held
  // False: something else was there, or is there now.
  const auto note = [&](auto&& source, const ExpectedValue& expected, PyObject* key, PyObject* found) {
    if (expected.object == nullptr || expected.matches(found)) return expected.object != nullptr || !found;
    if (found == nullptr) return false;
    const bool is_number = is_another_number(expected, found);
    const bool is_tensor = !expected.constant && domain.is_tensor(found);
    const bool is_tuple = !expected.constant && PyTuple_CheckExact(found) && may_be_replaced(domain, found);
    if (!is_number && !is_tensor && !is_tuple) return false;
    const std::string name = place_name(source(), key);
    if (is_number) varying.note_number(name);
    if (!is_number) varying.note_tensor(name);
    if (!is_number) gone.insert(expected.object);
    return true;
  };
  // The attributes of a class, as Recording::stands_apart reaches them.
  const auto note_class = [&](const std::string& source, const TypeGuard& guard) {
    if (PyWeakref_GET_OBJECT(guard.alive.get()) != reinterpret_cast<PyObject*>(guard.type)) return false;
    const auto differences = guard.contents->differences(guard.type, guard.apart.get());
    if (!differences) return false;
    for (const TypeContents::Difference& each : *differences) {
      const ExpectedValue expected =
          each.old != nullptr ? expect(each.old) : ExpectedValue{each.old_address, {}};
      const auto dict = [&] { return source + (each.holder == guard.type ? "" : ".__mro__") + ".__dict__"; };
      if (!note(dict, expected, each.name, each.now)) return false;
    }
    return true;
  };
  for (size_t i = 0; i < guards_.size(); i++) {
    const auto source = [&] { return texts_.text(sources_[i]); };
    if (const auto* type = std::get_if<TypeGuard>(&guards_[i])) {
      if (!holds(const_cast<Guard&>(guards_[i]), ignored) && !note_class(source(), *type)) return replaced;
    } else if (const auto* dict = std::get_if<DictGuard>(&guards_[i])) {
      if (dict->whole && PyDict_GET_SIZE(dict->dict) != static_cast<Py_ssize_t>(dict->reads.size()))
        return replaced;
      for (const DictGuard::Read& read : dict->reads) {
        if (!read.key.get() || !note(source, read.value, read.key.get(), read.found_in(dict->dict)))
          return replaced;
      }
    } else if (const auto* list = std::get_if<ListGuard>(&guards_[i])) {
      if (PyList_GET_SIZE(list->list) != static_cast<Py_ssize_t>(list->items.size())) return replaced;
      for (size_t j = 0; j < list->items.size(); j++) {
        const Ref<> index = Ref<>::steal(PyLong_FromSize_t(j));
        PyObject* found = PyList_GET_ITEM(list->list, j);
        if (list->items[j].object != nullptr && index && !note(source, list->items[j], index.get(), found))
          return replaced;
      }
    } else if (const auto* getter = std::get_if<GetterGuard>(&guards_[i])) {
      if (gone.count(getter->object) != 0) return replaced;
      const Ref<> found = read_getter(getter->object, getter->descriptor);
      if (!found) PyErr_Clear();
      const bool same = found && getter->content.matches(found.get());
      if (!found || !note(source, getter->content, PyDescr_NAME(getter->descriptor), found.get()))
        return replaced;
      if (!same) replaced = getter->descriptor;
    } else if (const auto* slot = std::get_if<SlotGuard>(&guards_[i])) {
      if (gone.count(slot->object) != 0) return replaced;
      const Ref<> found = read_slot(slot->object, slot->descriptor);
      if (!note(source, slot->content, PyDescr_NAME(slot->descriptor), found.get())) return replaced;
    } else if (const auto* tuple = std::get_if<TupleGuard>(&guards_[i]);
               tuple != nullptr && gone.count(tuple->tuple) != 0) {
      for (const ExpectedValue& item : tuple->items) gone.insert(item.object);
    } else if (const auto* cell = std::get_if<CellGuard>(&guards_[i])) {
      if (!note(source, cell->content, Py_None, PyCell_GET(cell->cell))) return replaced;
    } else if (const auto* placed_tuple = std::get_if<TupleItemGuard>(&guards_[i])) {
      PyObject* key = placed_tuple->key.get();
      PyObject* value = key != nullptr ? item_at(placed_tuple->container, key) : nullptr;
      if (value != nullptr) note_part(domain, placed_tuple->whole, value, varying);
    } else if (const auto* object = std::get_if<ObjectGuard>(&guards_[i])) {
      if (gone.count(object->object) != 0 || !holds(const_cast<Guard&>(guards_[i]), ignored)) return replaced;
    } else if (const auto* item = std::get_if<TensorItemGuard>(&guards_[i])) {
      if (PyObject* tensor = item->find(); tensor != nullptr && domain.is_tensor(tensor))
        varying.note_sizes(item->name, item->guard->changed_sizes(tensor));
    } else if (!std::holds_alternative<PinnedTensorGuard>(guards_[i]) &&
               !std::holds_alternative<GivenAttributeGuard>(guards_[i])) {
      if (!holds(const_cast<Guard&>(guards_[i]), ignored)) return replaced;
    }
  }
  return replaced;
}

}  // namespace stator
