// capture/recording/reads.cpp: reads of objects that existed before the capture, and the guards that make
// them valid.
#include "capture/cpython/exported.h"
#include "capture/cpython/instance_dict.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/recording.h"

namespace stator {

void Recording::look_at(PyObject* tensor) {
  if (domain_.is_tensor(tensor) && is_pinned(tensor)) looked_at_.insert(tensor);
}

// Hashing a tensor runs Python code of torch's, whose frames come and go here.
PyObject* Recording::look_up(PyObject* dict, PyObject* key) {
  cpython::Frame* const frame = frame_;
  const Instruction* const at = at_;
  PyObject* value = PyDict_GetItemWithError(dict, key);
  frame_ = frame;
  at_ = at;
  return value;
}

bool Recording::read_dict_item(PyObject* dict, PyObject* given_key) {
  if (is_withheld(dict)) return false;
  if (reads_freely(dict)) return true;
  const Ref<> plain = key_of(given_key);
  PyObject* key = plain.get();
  if (key == nullptr) return false;
  if (!is_pinned(dict)) return stop(BreakCode::kUnguardable, "a dictionary of unknown origin is read");
  if (!is_no_stand_in(key)) return false;
  if (!is_plain_key(key) && !domain_.is_immutable(key) && !domain_.is_tensor(key) &&
      !(is_pinned(key) && is_address_key(key)))
    return stop(BreakCode::kUnguardable, "a dictionary is read with a key of the program's own type");
  if (domain_.is_capture_flag(key) || (!journal_.empty() && journal_.wrote_key(dict, key))) return true;
  if (PyTypeObject* type = classes_.class_with(dict);
      type != nullptr && journal_.wrote_key(reinterpret_cast<PyObject*>(type), key))
    return true;
  PyObject* value = look_up(dict, key);
  if (value == nullptr && PyErr_Occurred()) return false;
  if (value != nullptr && see_place(dict, key, value)) return true;
  if (PyErr_Occurred()) return false;
  guards_.read(dict, key, value);
  if (value != nullptr) pin(value, {Origin::item, dict, Ref<>::share(key)});
  return true;
}

bool Recording::read_dict(PyObject* dict, bool by_value) {
  if (is_withheld(dict)) return false;
  if (reads_freely(dict)) return true;
  if (!is_pinned(dict)) return stop(BreakCode::kUnguardable, "a dictionary of unknown origin is read");
  if (guards_.dict(dict).whole) return true;
  if (PyTypeObject* type = classes_.class_with(dict);
      type != nullptr && journal_.find(reinterpret_cast<PyObject*>(type)) != nullptr)
    return stop(BreakCode::kUnguardable,
                std::string("class ") + type->tp_name + " is looked through after a write to it");
  std::vector<DictGuard::Read> reads;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  const Ref<> entry = journal_.dict_at_entry(dict);
  if (!entry) return false;
  while (PyDict_Next(entry.get(), &position, &key, &value)) {
    // What was written before it was read is seen by nobody.
    const bool unseen = !by_value && journal_.wrote_key(dict, key) && !guards_.reads_key(dict, key);
    const bool placed = unseen || (!by_value && see_place(dict, key, value));
    if (PyErr_Occurred()) return false;
    reads.push_back({HeldKey(key), placed ? ExpectedValue::anything() : expect(value)});
    if (!placed) pin(value, {Origin::item, dict, Ref<>::share(key)});
  }
  DictGuard& guard = guards_.dict(dict);  // found again: guards on places may have moved it
  guard.whole = true;
  guard.reads = std::move(reads);
  return true;
}

bool Recording::read_list(PyObject* list) {
  if (is_withheld(list)) return false;
  if (reads_freely(list)) return true;
  if (!is_pinned(list)) return stop(BreakCode::kUnguardable, "a list of unknown origin is read");
  const Ref<> entry = journal_.list_at_entry(list);
  if (!entry) return false;
  const Py_ssize_t count = PyList_GET_SIZE(entry.get());
  if (guards_.list(list, count).whole) return true;
  const Written* written = journal_.find(list);
  for (Py_ssize_t i = 0; i < count; i++) {
    // What was written before it was read is seen by nobody.
    if (written != nullptr && !written->entry && written->items.count(i) != 0) continue;
    if (!note_list_item(list, entry.get(), i)) return false;
  }
  guards_.list(list, count).whole = true;
  return true;
}

// `items` is what the list held at entry.
bool Recording::note_list_item(PyObject* list, PyObject* items, Py_ssize_t i) {
  const Py_ssize_t count = PyList_GET_SIZE(items);
  const auto at = static_cast<size_t>(i);
  if (guards_.list(list, count).items[at].object != nullptr) return true;
  PyObject* item = PyList_GET_ITEM(items, i);
  auto index = Ref<>::steal(PyLong_FromSsize_t(i));
  if (!index) return false;
  if (see_place(list, index.get(), item)) return true;
  if (PyErr_Occurred()) return false;
  guards_.list(list, count).items[at] = expect(item);
  pin(item, {Origin::item, list, std::move(index)});
  return true;
}

bool Recording::read_length(PyObject* list) {
  if (is_withheld(list)) return false;
  if (reads_freely(list)) return true;
  if (!is_pinned(list)) return stop(BreakCode::kUnguardable, "a list of unknown origin is read");
  const Written* written = journal_.find(list);
  if (written != nullptr && written->entry) return true;
  guards_.list(list, written != nullptr ? written->length : PyList_GET_SIZE(list));
  return true;
}

// One item, by a number: the other items may change.
bool Recording::read_list_item(PyObject* list, PyObject* index) {
  if (is_withheld(list)) return false;
  if (reads_freely(list)) return true;
  if (!PyLong_CheckExact(index)) return read_list(list) && read_contents(index);
  if (!read_length(list)) return false;
  Py_ssize_t at = PyLong_AsSsize_t(index);
  if (at == -1 && PyErr_Occurred()) PyErr_Clear();
  if (at < 0) at += PyList_GET_SIZE(list);
  if (at < 0 || at >= PyList_GET_SIZE(list)) return true;  // raises, whatever it holds
  const Written* written = journal_.find(list);
  if (written != nullptr && (written->entry || at >= written->length || written->items.count(at) != 0))
    return true;  // written here
  return note_list_item(list, list, at);
}

bool Recording::read_type(PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!guards_.once(type)) return true;
  if (is_fresh(object)) return true;
  if (type->tp_mro == nullptr)
    return stop(BreakCode::kUnguardable, std::string("class ") + type->tp_name + " is still being made");
  Ref<> alive = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
  if (!alive) return false;
  const unsigned int version = type_version(type);
  guards_.add(TypeGuard{type, std::move(alive), version, TypeContents::of(type), nullptr}, object);
  return true;
}

bool Recording::read_object(PyObject* object) {
  if (!read_type(Py_TYPE(object))) return false;
  if (reads_freely(object)) return true;
  if (object == reinterpret_cast<PyObject*>(proven_function_))
    return stop(BreakCode::kUnguardable, "an attribute of a function that may be made anew on every call");
  if (!is_pinned(object)) {
    return stop(BreakCode::kUnguardable,
                std::string("an object of unknown origin is read (") + Py_TYPE(object)->tp_name + ")");
  }
  pin(reinterpret_cast<PyObject*>(Py_TYPE(object)), {Origin::type_of, object, {}});
  // Keyed beside the object itself: a dictionary subclass has guards of both kinds.
  if (!guards_.once(reinterpret_cast<const char*>(object) + 1)) return true;
  ObjectGuard guard = guard_of(object);
  if (PyObject** slot = cpython::noticing_dict(object)) {
    guard.dict_slot = slot;
    guard.dict = *slot;
    pin(*slot, {Origin::dict_of, object, {}});
  } else if (PyErr_Occurred()) {
    return false;
  }
  guards_.add(std::move(guard), object);
  return true;
}

ObjectGuard Recording::guard_of(PyObject* object) const {
  ObjectGuard guard(object);
  const auto origin = pinned_.find(object);
  if (origin != pinned_.end() && origin->second.kind == Origin::item && PyDict_Check(origin->second.parent)) {
    guard.holder = origin->second.parent;
    guard.key = origin->second.key.get();
  }
  return guard;
}

bool Recording::read_reference(PyObject* reference) {
  if (is_fresh(reference)) return true;
  if (!is_pinned(reference)) return stop(BreakCode::kUnguardable, "a weak reference of unknown origin");
  PyObject** field = &reinterpret_cast<PyWeakReference*>(reference)->wr_object;
  PyObject* object = PyWeakref_GET_OBJECT(reference);
  // It never refers to another object, but may be without one.
  if (guards_.once(reference)) guards_.add(FieldGuard{field, "object", expect(object)}, reference);
  pin(object, {Origin::attribute, reference, Ref<>::steal(PyUnicode_InternFromString("()"))});
  return true;
}

bool Recording::read_cell(PyObject* cell, PyCodeObject* code, int index) {
  if (is_withheld(cell)) return false;
  if (is_fresh(cell) || !is_pinned(cell))
    return true;  // cells of functions that this capture entered are made by it
  if (journal_.find(cell) != nullptr) return true;  // written here
  PyObject* content = PyCell_GET(cell);
  const bool proven = proven_cells_.count(cell) != 0;
  if (content != nullptr && !proven && !guards_.has_seen(cell)) {
    if (see_place(cell, Py_None, content)) return true;
    if (PyErr_Occurred()) return false;
  }
  if (!proven && guards_.once(cell)) guards_.add(CellGuard{cell, expect(content)}, cell);
  if (content != nullptr) {
    pin(content, {Origin::attribute, cell, Ref<>::share(PyTuple_GET_ITEM(code->co_localsplusnames, index))});
  }
  return true;
}

bool Recording::read_order(PyObject* dict) {
  if (is_withheld(dict)) return false;
  if (!cpython::order_is_readable())
    return stop(BreakCode::kUnguardable, "the order of an OrderedDict that existed before");
  // Keyed beside the dictionary itself, which has a guard on its items.
  if (!guards_.once(reinterpret_cast<const char*>(dict) + 2)) return true;
  // Keys that this run wrote stand behind those that were there.
  const Written* written = journal_.find(dict);
  OrderGuard guard{dict, {}};
  for (const cpython::OrderNode* node = cpython::ordered(dict)->first; node != nullptr; node = node->next) {
    if (written == nullptr || !written->is_new(node->key)) guard.keys.push_back(expect(node->key));
  }
  if (guard.keys.size() < 2) return true;  // a guard on its items tells all
  guards_.add(std::move(guard), dict);
  return true;
}

bool Recording::read_items(PyObject* container) {
  if (is_withheld(container)) return false;
  if (!is_pinned(container)) {
    return stop(BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(container)->tp_name + " of unknown origin is read");
  }
  if (!guards_.once(container)) return true;
  // After a write: what it held at entry.
  const Written* written = journal_.find(container);
  PyObject* entry = written == nullptr ? container
                    : written->order   ? written->order.get()
                                       : written->entry.get();
  if (entry == nullptr) {
    return stop(BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(container)->tp_name + " is looked through after a write to it");
  }
  ItemsGuard guard{container, expect_items(entry), {}, -1};
  if (written != nullptr && PyAnySet_Check(container)) guard.mask = written->length;
  for (size_t i = 0; i < guard.items.size(); i++) {
    if (!PyAnySet_Check(container)) guard.kept.push_back(Ref<>::share(guard.items[i].object));
    pin(guard.items[i].object, {Origin::item, container, Ref<>::steal(PyLong_FromSize_t(i))});
  }
  guards_.add(std::move(guard), container);
  return true;
}

void Recording::read_field(PyObject* owner, PyObject** field, const char* name) {
  if (guards_.once(field)) guards_.add(FieldGuard{field, name, expect(*field)}, owner);
  if (*field != nullptr) pin(*field, {Origin::attribute, owner, Ref<>::steal(PyUnicode_FromString(name))});
}

PyObject* Recording::read_member(PyObject* owner, const char* name) {
  const auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  PyObject* member = key ? _PyType_Lookup(Py_TYPE(owner), key.get()) : nullptr;
  if (member == nullptr || !Py_IS_TYPE(member, &PyMemberDescr_Type)) return nullptr;
  const PyMemberDef* definition = reinterpret_cast<PyMemberDescrObject*>(member)->d_member;
  auto** const field = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(owner) + definition->offset);
  read_field(owner, field, name);
  return *field;
}

}  // namespace stator
