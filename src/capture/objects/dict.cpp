// capture/objects/dict.cpp: dictionaries, OrderedDicts and default dictionaries: guarded key by key as far as
// they are read, or whole; written key by key, or whole where what stands where matters.
#include "capture/objects/dict.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/objects/class.h"
#include "capture/objects/written_dict.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/places.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/reads.h"
#include "capture/recording/symbols.h"
#include "capture/recording/unread_holders.h"
#include "capture/recording/unread_value.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

// Reads ----------------------------------------------------------------------------------------------

bool read_mapping_object(Recording& recording, PyObject* dict) {
  if (PyDict_CheckExact(dict)) return read_dict(recording, dict);
  if (PyODict_Check(dict))
    return (PyODict_CheckExact(dict) || read_object(recording, dict)) && read_dict(recording, dict) &&
           read_order(recording, dict);
  const bool is_python_class = Py_TYPE(dict)->tp_flags & Py_TPFLAGS_HEAPTYPE;
  return (!is_python_class || read_object(recording, dict)) && read_dict(recording, dict) &&
         read_fields_of_c(recording, dict);
}

bool read_item(Recording& recording, PyObject* dict, PyObject* key) {
  if (PyDict_CheckExact(dict) || PyODict_CheckExact(dict)) return read_dict_item(recording, dict, key);
  if (is_default_dict(dict) && !is_fresh(recording, dict)) {
    PyObject* found = PyDict_GetItemWithError(dict, key);
    if (found == nullptr && PyErr_Occurred()) return false;
    return read_dict_item(recording, dict, key);
  }
  return any_instance.read_item(recording, dict, key);
}

void add_pairs(Recording&, PyObject* dict, std::vector<PyObject*>& found) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    found.push_back(key);
    found.push_back(value);
  }
}

bool holds_unread_value(PyObject* dict) {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (is_unread(value)) return true;
  }
  return false;
}

bool read_unread_values(Recording& recording, PyObject* dict) {
  std::vector<std::pair<Ref<>, Ref<>>> unread;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (is_unread(value) && value != unread_item())
      unread.emplace_back(Ref<>::share(key), Ref<>::share(value));
  }
  for (auto& [name, place] : unread) {
    PyObject* read = place.release();
    const bool done = read_at(recording, read) && PyDict_SetItem(dict, name.get(), read) == 0;
    Py_DECREF(read);
    if (!done) return false;
  }
  return true;
}

// Writes ---------------------------------------------------------------------------------------------

// No code of the user's runs where it is looked up.
bool hashes_plainly(PyObject* key) {
  const PyTypeObject* type = Py_TYPE(key);
  return is_plain_key(key) || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
         (type->tp_hash == PyBaseObject_Type.tp_hash &&
          type->tp_richcompare == PyBaseObject_Type.tp_richcompare);
}

// Whether `object[key] = value` is that of a dictionary, though the class may have a `__delitem__` of its
// own.
bool sets_items_like_dict(PyTypeObject* type) {
  const auto name = Ref<>::steal(PyUnicode_InternFromString("__setitem__"));
  PyObject* found = name ? _PyType_Lookup(type, name.get()) : nullptr;
  return found != nullptr && found == _PyType_Lookup(&PyDict_Type, name.get());
}

bool before_all(Recording& recording, PyObject* dict) {
  if (PyODict_Check(dict)) return before_write(recording, dict, "the contents");
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (!before_replacing(recording, key) || !before_replacing(recording, value)) return false;
    // Putting it back would hash and compare it, perhaps while C code waits for just such a comparison.
    if (!hashes_plainly(key) && !recording.domain.is_immutable(key) && !recording.domain.is_tensor(key))
      return stop(recording, BreakCode::kOutsideEffect,
                  "a dictionary with keys of the program's own type is changed");
  }
  return note_whole_dict(recording, dict);
}

bool before_subscript_write(Recording& recording, PyObject* dict, PyObject* key, bool removes) {
  PyTypeObject* const type = Py_TYPE(dict);
  const objobjargproc writer = type->tp_as_mapping->mp_ass_subscript;
  if (writer == PyDict_Type.tp_as_mapping->mp_ass_subscript) {
    // A key that goes leaves a place which no other write gives back.
    if (removes) return before_whole_write(recording, dict);
    return before_key_write(recording, dict, key);
  }
  if (!removes && sets_items_like_dict(type))
    return read_behaviour(recording, dict) && before_key_write(recording, dict, key);
  if (writer == PyODict_Type.tp_as_mapping->mp_ass_subscript && !removes)
    return before_key_write(recording, dict, key);
  return before_write(recording, dict, "an item");
}

// Keys that are known before need no look at what is there; those of keywords are not looked for.
bool before_update(Recording& recording, PyObject* dict, PyObject* const* arguments, size_t count) {
  if (count != 1 || recording.keywords != 0 || !PyDict_CheckExact(arguments[0]))
    return before_whole_write(recording, dict);
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(arguments[0], &position, &key, &value)) {
    if (!before_key_write(recording, dict, key)) return false;
  }
  return true;
}

bool before_dict_method(Recording& recording, std::string_view method, PyObject* const* arguments,
                        size_t count) {
  PyObject* const dict = arguments[0];
  const bool has_key = count >= 2;
  if (has_key && method == "__setitem__") return before_key_write(recording, dict, arguments[1]);
  if (has_key && method == "setdefault") {
    recording.arguments.gets_item = true;  // what is there is given, and not looked at
    const bool read = read_dict_item(recording, dict, arguments[1]);
    recording.arguments.gets_item = false;
    return read && before_key_write(recording, dict, arguments[1]);
  }
  if (method == "update") return before_update(recording, dict, arguments + 1, count - 1);
  return before_whole_write(recording, dict);
}

bool before_dict_in_place(Recording& recording, PyObject* dict, PyObject*, OnList) {
  return PyDict_CheckExact(dict) && is_writable(recording, dict)
             ? before_whole_write(recording, dict)
             : before_write(recording, dict, "an operand");
}

bool put(Recording& recording, PyObject* dict, PyObject* key, PyObject* old, PyObject* stands) {
  if (PyTypeObject* type = recording.classes.class_with(dict))
    return ClassKind::row.put(recording, reinterpret_cast<PyObject*>(type), key, old, stands);
  return note_dict_key(recording, dict, key, old, key) && PyDict_SetItem(dict, key, stands) == 0;
}

// Results --------------------------------------------------------------------------------------------

// A dictionary with constant keys is copied with all that is the same on every call; the rest is filled in:
// `parts` keeps what is not.
Ref<> keep_constants(const Description& description, std::vector<size_t>& parts) {
  for (size_t i = 0; i < parts.size(); i += 2) {
    if (description.constant(parts[i]) == nullptr) return {};
  }
  auto pattern = Ref<>::steal(PyDict_New());
  std::vector<size_t> varied;
  for (size_t i = 0; pattern && i < parts.size(); i += 2) {
    PyObject* value = description.constant(parts[i + 1]);
    if (value == nullptr) varied.insert(varied.end(), {parts[i], parts[i + 1]});
    if (PyDict_SetItem(pattern.get(), description.constant(parts[i]), value != nullptr ? value : Py_None) < 0)
      pattern = {};
  }
  if (pattern) {
    parts = std::move(varied);
  } else {
    drop_error();
  }
  return pattern;
}

bool add_pairs(Description& description, PyObject* dict, std::vector<size_t>& parts) {
  if (PyODict_Check(dict)) {
    if (!cpython::order_is_readable())
      return stop(description.recording, BreakCode::kUnguardable, "the order of an OrderedDict");
    for (const cpython::OrderNode* node = cpython::ordered(dict)->first; node != nullptr; node = node->next) {
      PyObject* value = PyDict_GetItemWithError(dict, node->key);
      if (value == nullptr || !description.add_key(parts, node->key) || !description.add_part(parts, value))
        return false;
    }
    return true;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    if (!description.add_key(parts, key) || !description.add_part(parts, value)) return false;
  }
  return true;
}

void fill_pairs(Description& description, size_t step, std::vector<size_t> parts) {
  description.fill(step, [parts = std::move(parts)](PyObject* dict, const Description::Values& values) {
    for (size_t i = 0; i < parts.size(); i += 2) {
      if (set_dict_item(dict, values[parts[i]].get(), values[parts[i + 1]].get()) < 0) return false;
    }
    return true;
  });
}

bool describe_dict(Description& description, size_t step, PyObject* dict) {
  if (!PyDict_CheckExact(dict)) return any_instance.describe(description, step, dict);
  if (!description.is_made_here(dict)) return description.refuse(dict);
  std::vector<size_t> parts;
  if (!add_pairs(description, dict, parts)) return false;
  Ref<> pattern = keep_constants(description, parts);
  description.begin(step, [pattern = std::move(pattern)](const Rebuild::Given&) {
    return Ref<>::steal(pattern ? PyDict_Copy(pattern.get()) : PyDict_New());
  });
  if (!parts.empty()) fill_pairs(description, step, std::move(parts));
  return true;
}

}  // namespace

bool describe_pairs(Description& description, size_t step, PyObject* dict) {
  std::vector<size_t> parts;
  if (!add_pairs(description, dict, parts)) return false;
  fill_pairs(description, step, std::move(parts));
  return true;
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
  if (!before_followed_read(recording, dict)) return false;
  if (Argument* argument = find_argument(recording, dict))
    return read_argument_key(recording, *argument, given_key);
  if (reads_freely(recording, dict)) return true;
  const Ref<> plain = key_of(recording, given_key);
  PyObject* key = plain.get();
  if (key == nullptr) return false;
  if (!is_pinned(recording, dict))
    return stop(recording, BreakCode::kUnguardable, "a dictionary of unknown origin is read");
  if (!require_no_stand_in(recording, key)) return false;
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
  if (const Placed placed = value != nullptr ? see_place(recording, dict, key, value) : Placed::no;
      placed != Placed::no)
    return placed == Placed::yes;
  recording.guards.read(dict, key, value);
  if (value != nullptr) pin(recording, value, {Origin::item, dict, Ref<>::share(key)});
  return true;
}

bool read_dict(Recording& recording, PyObject* dict, bool by_value) {
  if (!before_followed_read(recording, dict)) return false;
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
  const Ref<> entry = dict_at_entry(recording, dict);
  if (!entry) return false;
  while (PyDict_Next(entry.get(), &position, &key, &value)) {
    // What was written before it was read is seen by nobody.
    const bool unseen =
        !by_value && recording.journal.wrote_key(dict, key) && !recording.guards.reads_key(dict, key);
    const Placed placed = unseen     ? Placed::yes
                          : by_value ? Placed::no
                                     : see_place(recording, dict, key, value);
    if (placed == Placed::ended) return false;
    reads.push_back({HeldKey(key), placed == Placed::yes ? ExpectedValue::anything() : expect(value)});
    if (placed == Placed::no) pin(recording, value, {Origin::item, dict, Ref<>::share(key)});
    // A key that is no constant is compared by its address too.
    if (!unseen && !is_constant(key)) pin(recording, key, {Origin::key_in, dict, {}});
  }
  DictGuard& guard = recording.guards.dict(dict);  // found again: guards on places may have moved it
  guard.whole = true;
  guard.reads = std::move(reads);
  return true;
}

bool read_order(Recording& recording, PyObject* dict) {
  if (!before_followed_read(recording, dict)) return false;
  if (Argument* argument = find_argument(recording, dict)) return read_argument_whole(recording, *argument);
  if (!cpython::order_is_readable())
    return stop(recording, BreakCode::kUnguardable, "the order of an OrderedDict that existed before");
  if (recording.guards.has<OrderGuard>(dict)) return true;
  // Keys that this run wrote stand behind those that were there.
  const WrittenDict* written = written_dict(recording, dict);
  OrderGuard guard{dict, {}};
  for (const cpython::OrderNode* node = cpython::ordered(dict)->first; node != nullptr; node = node->next) {
    if (written == nullptr || !written->is_new(node->key)) guard.keys.push_back(expect(node->key));
  }
  if (guard.keys.size() < 2) return true;  // a guard on its items tells all
  recording.guards.add(std::move(guard), dict);
  return true;
}

bool before_key_write(Recording& recording, PyObject* container, PyObject* given_key) {
  recording.walked.written(container);
  if (is_fresh(recording, container)) return before_region_write(recording, container);
  const Ref<> plain = writable_key(recording, given_key);
  PyObject* key = plain.get();
  if (key == nullptr) return false;
  PyObject* old = look_up(recording, container, key);
  if (old == nullptr && PyErr_Occurred()) return false;
  return before_replacing(recording, old) && note_dict_key(recording, container, key, old, given_key);
}

bool before_dict_attribute_write(Recording& recording, PyObject* dict, PyObject* name, PyObject* value) {
  if (value != nullptr) return before_key_write(recording, dict, name);
  if (!read_dict_item(recording, dict, name)) return false;
  PyObject* old = look_up(recording, dict, name);
  if (old == nullptr) return !PyErr_Occurred();  // raises
  return before_replacing(recording, old) && note_dict_removal(recording, dict, name, old);
}

bool is_default_dict(PyObject* object) {
  static TypeInModule type("_collections", "defaultdict");
  return type.has_instance(object);
}

const ObjectKind DictKind::row = {
    .read = read_mapping_object,
    .read_item = read_item,
    .add_reached = add_pairs,
    .holds_unread = holds_unread_value,
    .read_unread = read_unread_values,
    .before_whole_write = before_all,
    .before_item_write = before_subscript_write,
    .before_method_write = before_dict_method,
    .before_in_place = before_dict_in_place,
    .put = put,
    .describe = describe_dict,
};

}  // namespace stator
