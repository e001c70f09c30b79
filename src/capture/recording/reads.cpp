// capture/recording/reads.cpp: reads of objects that existed before the capture, and the guards that make
// them valid.
#include "capture/recording/reads.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/instance_dict.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/places.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/recording.h"
#include "capture/recording/symbols.h"

namespace stator {

static bool note_list_item(Recording& recording, PyObject* list, PyObject* items, Py_ssize_t i);

void look_at(Recording& recording, PyObject* tensor) {
  if (recording.domain.is_tensor(tensor) && is_pinned(recording, tensor)) recording.looked_at.insert(tensor);
}

// Hashing a tensor runs Python code of torch's, whose frames come and go here.
PyObject* look_up(Recording& recording, PyObject* dict, PyObject* key) {
  cpython::Frame* const frame = recording.frame;
  const Instruction* const at = recording.at;
  PyObject* value = PyDict_GetItemWithError(dict, key);
  recording.frame = frame;
  recording.at = at;
  return value;
}

bool read_dict_item(Recording& recording, PyObject* dict, PyObject* given_key) {
  if (is_withheld(recording, dict)) return false;
  if (Argument* argument = find_argument(recording, dict))
    return read_argument_key(recording, *argument, given_key);
  if (reads_freely(recording, dict)) return true;
  const Ref<> plain = key_of(recording, given_key);
  PyObject* key = plain.get();
  if (key == nullptr) return false;
  if (!is_pinned(recording, dict))
    return stop(recording, BreakCode::kUnguardable, "a dictionary of unknown origin is read");
  if (!is_no_stand_in(recording, key)) return false;
  if (!is_plain_key(key) && !recording.domain.is_immutable(key) && !recording.domain.is_tensor(key) &&
      !(is_pinned(recording, key) && is_address_key(key)))
    return stop(recording, BreakCode::kUnguardable,
                "a dictionary is read with a key of the program's own type");
  PyObject* setting = nullptr;
  if (recording.capture.reads_capture_flag(dict, key, &setting)) {
    if (setting == nullptr) return true;
    key = setting;
  }
  if (!recording.journal.empty() && recording.journal.wrote_key(dict, key)) return true;
  if (PyTypeObject* type = recording.classes.class_with(dict);
      type != nullptr && recording.journal.wrote_key(reinterpret_cast<PyObject*>(type), key))
    return true;
  PyObject* value = look_up(recording, dict, key);
  if (value == nullptr && PyErr_Occurred()) return false;
  if (value != nullptr && see_place(recording, dict, key, value)) return true;
  if (PyErr_Occurred()) return false;
  recording.guards.read(dict, key, value);
  if (value != nullptr) pin(recording, value, {Origin::item, dict, Ref<>::share(key)});
  return true;
}

bool read_dict(Recording& recording, PyObject* dict, bool by_value) {
  if (is_withheld(recording, dict)) return false;
  if (Argument* argument = find_argument(recording, dict)) return read_argument_whole(recording, *argument);
  if (reads_freely(recording, dict)) return true;
  if (!is_pinned(recording, dict))
    return stop(recording, BreakCode::kUnguardable, "a dictionary of unknown origin is read");
  if (recording.guards.dict(dict).whole) return true;
  if (PyTypeObject* type = recording.classes.class_with(dict);
      type != nullptr && recording.journal.find(reinterpret_cast<PyObject*>(type)) != nullptr)
    return stop(recording, BreakCode::kUnguardable,
                std::string("class ") + type->tp_name + " is looked through after a write to it");
  std::vector<DictGuard::Read> reads;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  const Ref<> entry = recording.journal.dict_at_entry(dict);
  if (!entry) return false;
  while (PyDict_Next(entry.get(), &position, &key, &value)) {
    // What was written before it was read is seen by nobody.
    const bool unseen =
        !by_value && recording.journal.wrote_key(dict, key) && !recording.guards.reads_key(dict, key);
    const bool placed = unseen || (!by_value && see_place(recording, dict, key, value));
    if (PyErr_Occurred()) return false;
    reads.push_back({HeldKey(key), placed ? ExpectedValue::anything() : expect(value)});
    if (!placed) pin(recording, value, {Origin::item, dict, Ref<>::share(key)});
  }
  DictGuard& guard = recording.guards.dict(dict);  // found again: guards on places may have moved it
  guard.whole = true;
  guard.reads = std::move(reads);
  return true;
}

bool read_list(Recording& recording, PyObject* list) {
  if (is_withheld(recording, list)) return false;
  if (Argument* argument = find_argument(recording, list)) return read_argument_whole(recording, *argument);
  if (reads_freely(recording, list)) return true;
  if (!is_pinned(recording, list))
    return stop(recording, BreakCode::kUnguardable, "a list of unknown origin is read");
  const Ref<> entry = recording.journal.list_at_entry(list);
  if (!entry) return false;
  const Py_ssize_t count = PyList_GET_SIZE(entry.get());
  if (recording.guards.list(list, count).whole) return true;
  const Written* written = recording.journal.find(list);
  for (Py_ssize_t i = 0; i < count; i++) {
    // What was written before it was read is seen by nobody.
    if (written != nullptr && !written->entry && written->items.count(i) != 0) continue;
    if (!note_list_item(recording, list, entry.get(), i)) return false;
  }
  recording.guards.list(list, count).whole = true;
  return true;
}

// `items` is what the list held at entry.
static bool note_list_item(Recording& recording, PyObject* list, PyObject* items, Py_ssize_t i) {
  const Py_ssize_t count = PyList_GET_SIZE(items);
  const auto at = static_cast<size_t>(i);
  if (recording.guards.list(list, count).items[at].object != nullptr) return true;
  PyObject* item = PyList_GET_ITEM(items, i);
  auto index = Ref<>::steal(PyLong_FromSsize_t(i));
  if (!index) return false;
  if (see_place(recording, list, index.get(), item)) return true;
  if (PyErr_Occurred()) return false;
  recording.guards.list(list, count).items[at] = expect(item);
  pin(recording, item, {Origin::item, list, std::move(index)});
  return true;
}

bool read_length(Recording& recording, PyObject* list) {
  if (is_withheld(recording, list)) return false;
  if (Argument* argument = find_argument(recording, list)) return read_argument_length(recording, *argument);
  if (reads_freely(recording, list)) return true;
  if (!is_pinned(recording, list))
    return stop(recording, BreakCode::kUnguardable, "a list of unknown origin is read");
  const Written* written = recording.journal.find(list);
  if (written != nullptr && written->entry) return true;
  recording.guards.list(list, written != nullptr ? written->length : PyList_GET_SIZE(list));
  return true;
}

// One item, by a number: the other items may change.
bool read_list_item(Recording& recording, PyObject* list, PyObject* index) {
  if (is_withheld(recording, list)) return false;
  if (Argument* argument = find_argument(recording, list))
    return read_contents(recording, index) && read_argument_item(recording, *argument, index);
  if (reads_freely(recording, list)) return true;
  if (!PyLong_CheckExact(index)) return read_list(recording, list) && read_contents(recording, index);
  if (!read_length(recording, list)) return false;
  Py_ssize_t at = PyLong_AsSsize_t(index);
  if (at == -1 && PyErr_Occurred()) PyErr_Clear();
  if (at < 0) at += PyList_GET_SIZE(list);
  if (at < 0 || at >= PyList_GET_SIZE(list)) return true;  // raises, whatever it holds
  const Written* written = recording.journal.find(list);
  if (written != nullptr && (written->entry || at >= written->length || written->items.count(at) != 0))
    return true;  // written here
  return note_list_item(recording, list, list, at);
}

bool read_type(Recording& recording, PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return true;
  auto* object = reinterpret_cast<PyObject*>(type);
  if (recording.guards.has<TypeGuard>(type)) return true;
  if (is_fresh(recording, object)) return true;
  if (type->tp_mro == nullptr)
    return stop(recording, BreakCode::kUnguardable,
                std::string("class ") + type->tp_name + " is still being made");
  Ref<> alive = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
  if (!alive) return false;
  const unsigned int version = type_version(type);
  recording.guards.add(TypeGuard{type, std::move(alive), version, TypeContents::of(type), nullptr}, object);
  return true;
}

bool read_object(Recording& recording, PyObject* object) {
  if (!read_type(recording, Py_TYPE(object))) return false;
  if (is_of_call(recording, object)) return true;
  if (object == reinterpret_cast<PyObject*>(recording.known.proven_function))
    return stop(recording, BreakCode::kUnguardable,
                "an attribute of a function that may be made anew on every call");
  if (!is_pinned(recording, object)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("an object of unknown origin is read (") + Py_TYPE(object)->tp_name + ")");
  }
  pin(recording, reinterpret_cast<PyObject*>(Py_TYPE(object)), {Origin::type_of, object, {}});
  ObjectGuard& guard = guard_class(recording, object);
  if (guard.with_dict) return true;
  guard.with_dict = true;
  if (PyObject** slot = cpython::noticing_dict(object)) {
    guard.dict_slot = slot;
    guard.dict = *slot;
    if (*slot != nullptr) pin(recording, *slot, {Origin::dict_of, object, {}});
  } else if (PyErr_Occurred()) {
    return false;
  }
  return true;
}

bool make_instance_dict(Recording& recording, PyObject* object) {
  const auto dict = Ref<>::steal(PyObject_GenericGetDict(object, nullptr));
  if (!dict) return false;
  recording.guards.object(object).dict = dict.get();
  pin(recording, dict.get(), {Origin::dict_of, object, {}});
  return read_dict(recording, dict.get());
}

ObjectGuard& guard_class(Recording& recording, PyObject* object) {
  ObjectGuard& guard = recording.guards.object(object);
  const auto origin = recording.known.pinned.find(object);
  if (origin != recording.known.pinned.end() && origin->second.kind == Origin::item &&
      PyDict_Check(origin->second.parent)) {
    guard.holder = origin->second.parent;
    guard.holder_key = origin->second.key.get();
  }
  return guard;
}

bool read_reference(Recording& recording, PyObject* reference) {
  if (is_fresh(recording, reference)) return true;
  if (!is_pinned(recording, reference))
    return stop(recording, BreakCode::kUnguardable, "a weak reference of unknown origin");
  PyObject** field = &reinterpret_cast<PyWeakReference*>(reference)->wr_object;
  PyObject* object = PyWeakref_GET_OBJECT(reference);
  // The captured frame may drop what the real one holds.
  if (recording.takes_up_frame) {
    for (const auto& argument : recording.arguments.roots) {
      if (argument->real == object)
        return stop(recording, BreakCode::kUnguardable, "a weak reference to a value of the frame");
    }
  }
  // It never refers to another object, but may be without one.
  recording.guards.add(FieldGuard{field, "object", expect(object)}, reference);
  pin(recording, object, {Origin::attribute, reference, Ref<>::steal(PyUnicode_InternFromString("()"))});
  return true;
}

bool read_cell(Recording& recording, PyObject* cell, PyCodeObject* code, int index) {
  if (is_withheld(recording, cell) || !is_no_frame_cell(recording, cell)) return false;
  if (is_fresh(recording, cell) || !is_pinned(recording, cell))
    return true;  // cells of functions that this capture entered are made by it
  if (recording.journal.find(cell) != nullptr) return true;  // written here
  PyObject* content = PyCell_GET(cell);
  const bool proven = recording.known.proven_cells.count(cell) != 0;
  if (content != nullptr && !proven && !recording.guards.has<CellGuard>(cell)) {
    if (see_place(recording, cell, Py_None, content)) return true;
    if (PyErr_Occurred()) return false;
  }
  if (!proven) recording.guards.add(CellGuard{cell, expect(content)}, cell);
  if (content != nullptr) {
    pin(recording, content,
        {Origin::attribute, cell, Ref<>::share(PyTuple_GET_ITEM(code->co_localsplusnames, index))});
  }
  return true;
}

bool read_order(Recording& recording, PyObject* dict) {
  if (is_withheld(recording, dict)) return false;
  if (Argument* argument = find_argument(recording, dict)) return read_argument_whole(recording, *argument);
  if (!cpython::order_is_readable())
    return stop(recording, BreakCode::kUnguardable, "the order of an OrderedDict that existed before");
  if (recording.guards.has<OrderGuard>(dict)) return true;
  // Keys that this run wrote stand behind those that were there.
  const Written* written = recording.journal.find(dict);
  OrderGuard guard{dict, {}};
  for (const cpython::OrderNode* node = cpython::ordered(dict)->first; node != nullptr; node = node->next) {
    if (written == nullptr || !written->is_new(node->key)) guard.keys.push_back(expect(node->key));
  }
  if (guard.keys.size() < 2) return true;  // a guard on its items tells all
  recording.guards.add(std::move(guard), dict);
  return true;
}

void read_set_layout(Recording& recording, PyObject* set) {
  if (Argument* argument = find_argument(recording, set)) {
    if (!argument->layout) argument->layout = cpython::SetLayout::of(argument->real);
    return;
  }
  if (recording.guards.has<SetLayoutGuard>(set)) return;
  const Written* written = recording.journal.find(set);
  PyObject* entry = written != nullptr ? written->order.get() : set;
  recording.guards.add(SetLayoutGuard{set, cpython::SetLayout::of(entry)}, set);
}

bool read_items(Recording& recording, PyObject* container) {
  if (is_withheld(recording, container)) return false;
  if (Argument* argument = find_argument(recording, container))
    return read_argument_whole(recording, *argument);
  if (!is_pinned(recording, container)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(container)->tp_name + " of unknown origin is read");
  }
  const Written* written = recording.journal.find(container);
  if (written != nullptr && PyAnySet_Check(container)) read_set_layout(recording, container);
  if (recording.guards.has<ItemsGuard>(container)) return true;
  // After a write: what it held at entry.
  PyObject* entry = written == nullptr ? container
                    : written->order   ? written->order.get()
                                       : written->entry.get();
  if (entry == nullptr) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(container)->tp_name + " is looked through after a write to it");
  }
  ItemsGuard guard{container, expect_items(entry), {}};
  for (size_t i = 0; i < guard.items.size(); i++) {
    if (!PyAnySet_Check(container)) guard.kept.push_back(Ref<>::share(guard.items[i].object));
    pin(recording, guard.items[i].object, {Origin::item, container, Ref<>::steal(PyLong_FromSize_t(i))});
  }
  recording.guards.add(std::move(guard), container);
  return true;
}

void read_field(Recording& recording, PyObject* owner, PyObject** field, const char* name) {
  recording.guards.add(FieldGuard{field, name, expect(*field)}, owner);
  if (*field != nullptr)
    pin(recording, *field, {Origin::attribute, owner, Ref<>::steal(PyUnicode_FromString(name))});
}

PyObject* read_member(Recording& recording, PyObject* owner, const char* name) {
  const auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  PyObject* member = key ? _PyType_Lookup(Py_TYPE(owner), key.get()) : nullptr;
  if (member == nullptr || !Py_IS_TYPE(member, &PyMemberDescr_Type)) return nullptr;
  const PyMemberDef* definition = reinterpret_cast<PyMemberDescrObject*>(member)->d_member;
  auto** const field = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(owner) + definition->offset);
  read_field(recording, owner, field, name);
  return *field;
}

}  // namespace stator
