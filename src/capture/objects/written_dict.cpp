// capture/objects/written_dict.cpp: what is noted of a dictionary that a capture writes to, and how it is put
// back and written again.
#include "capture/objects/written_dict.h"

#include "capture/program/effects.h"
#include "capture/recording/symbols.h"

namespace stator {

int set_dict_item(PyObject* dict, PyObject* key, PyObject* value) {
  return PyODict_Check(dict) ? PyODict_SetItem(dict, key, value) : PyDict_SetItem(dict, key, value);
}

static int remove_item(PyObject* dict, PyObject* key) {
  return PyODict_Check(dict) ? PyODict_DelItem(dict, key) : PyDict_DelItem(dict, key);
}

// The same items under these keys, in this order.
static Ref<> in_order(PyObject* dict, PyObject* keys) {
  auto ordered = Ref<>::steal(PyDict_New());
  for (Py_ssize_t i = 0; ordered && i < PyList_GET_SIZE(keys); i++) {
    PyObject* key = PyList_GET_ITEM(keys, i);
    PyObject* value = PyDict_GetItemWithError(dict, key);
    if (value == nullptr || PyDict_SetItem(ordered.get(), key, value) < 0) return {};
  }
  return ordered;
}

bool WrittenDict::put_back() const {
  PyObject* const dict = object.get();
  if (entry) {
    PyDict_Clear(dict);
    return PyDict_Update(dict, entry.get()) == 0;
  }
  PyObject *key, *old;
  Py_ssize_t position = 0;
  while (keys && PyDict_Next(keys.get(), &position, &key, &old)) {
    int status = 0;
    if (old != Journal::absent()) {
      if (PyDict_GetItemWithError(dict, key) != old) status = set_dict_item(dict, key, old);
    } else if (PyDict_Contains(dict, key) == 1) {
      status = remove_item(dict, key);
    }
    if (status < 0) return false;
  }
  if (!order) return true;
  // A key that was removed and comes back stands behind all others.
  const Ref<> ordered = in_order(dict, order.get());
  if (!ordered) return false;
  PyDict_Clear(dict);
  return PyDict_Update(dict, ordered.get()) == 0;
}

bool WrittenDict::is_as_before() const {
  PyObject* const dict = object.get();
  PyObject *key, *old;
  Py_ssize_t position = 0;
  while (!entry && keys && PyDict_Next(keys.get(), &position, &key, &old)) {
    if (PyDict_GetItemWithError(dict, key) != Journal::or_null(old)) return false;
  }
  if (!entry) return true;
  PyObject *other_key, *other;
  Py_ssize_t other_position = 0;
  while (PyDict_Next(entry.get(), &position, &key, &old)) {
    if (!PyDict_Next(dict, &other_position, &other_key, &other) || other_key != key || other != old)
      return false;
  }
  return PyDict_GET_SIZE(dict) == PyDict_GET_SIZE(entry.get());
}

void WrittenDict::collect(Effects& effects, const Recording& recording) const {
  if (!entry) return collect_keys(effects, recording);
  std::vector<Ref<>> finals;
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(object.get(), &position, &key, &value)) {
    finals.push_back(Ref<>::share(key));
    finals.push_back(Ref<>::share(value));
  }
  effects.add(object.get(), std::move(finals), [](PyObject* dict, const FinalValues& values) {
    PyDict_Clear(dict);
    for (size_t i = 0; i < values.size(); i += 2) {
      if (PyDict_SetItem(dict, values[i], values[i + 1]) < 0) return false;
    }
    return true;
  });
}

// A later call may find keys that the capture put in, or miss some that it found: what it removes goes first,
// and the others are written in the order in which the program put them where they are.
void WrittenDict::collect_keys(Effects& effects, const Recording& recording) const {
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (removed && PyDict_Next(removed.get(), &position, &key, &value)) collect_removal(effects, key);
  position = 0;
  PyObject* const order_of_writes = writes ? writes.get() : keys.get();
  while (order_of_writes != nullptr && PyDict_Next(order_of_writes, &position, &key, &value)) {
    PyObject* now = PyDict_GetItemWithError(object.get(), key);
    if (now == nullptr) continue;
    // What was read before and is back in its place needs no write.
    const bool is_in_place =
        (now == PyDict_GetItemWithError(keys.get(), key) && recording.guards.reads_key(object.get(), key)) ||
        recording.placed.in(object.get(), key) == now;
    if (!is_in_place || was_removed(key)) collect_item(effects, key, now);
  }
}

void WrittenDict::collect_item(Effects& effects, PyObject* key, PyObject* value) const {
  // One that is made in each run is another one each time.
  if (!is_constant(key)) {
    PyObject* const tuple = given ? PyDict_GetItemWithError(given.get(), key) : nullptr;
    effects.add(object.get(), {Ref<>::share(tuple != nullptr ? tuple : key), Ref<>::share(value)},
                [](PyObject* dict, const FinalValues& values) {
                  return set_dict_item(dict, values[0], values[1]) == 0;
                });
    return;
  }
  effects.add(object.get(), {Ref<>::share(value)},
              [key = Ref<>::share(key)](PyObject* dict, const FinalValues& values) {
                return set_dict_item(dict, key.get(), values[0]) == 0;
              });
}

void WrittenDict::collect_removal(Effects& effects, PyObject* key) const {
  effects.add(object.get(), {}, [key = Ref<>::share(key)](PyObject* dict, const FinalValues&) {
    return PyDict_Contains(dict, key.get()) != 1 || PyDict_DelItem(dict, key.get()) == 0;
  });
}

// New reference; the dictionary itself where nothing was written to it.
Ref<> dict_at_entry(const Recording& recording, PyObject* dict) {
  const WrittenDict* written = written_dict(recording, dict);
  if (written == nullptr) return Ref<>::share(dict);
  if (written->entry) return written->entry;
  // Keys that are written one by one keep their places; new ones stand behind the others.
  auto entry = Ref<>::steal(PyDict_Copy(dict));
  PyObject *key, *old;
  Py_ssize_t position = 0;
  while (entry && written->keys && PyDict_Next(written->keys.get(), &position, &key, &old)) {
    const int status = old != Journal::absent()                 ? PyDict_SetItem(entry.get(), key, old)
                       : PyDict_Contains(entry.get(), key) == 1 ? PyDict_DelItem(entry.get(), key)
                                                                : 0;
    if (status < 0) return {};
  }
  return entry && written->order ? in_order(entry.get(), written->order.get()) : entry;
}

// `old` is what is there, or nullptr.
bool note_dict_key(Recording& recording, PyObject* dict, PyObject* key, PyObject* old, PyObject* given) {
  WrittenDict& written = recording.journal.note<WrittenDict>(dict);
  if (!written.keys) written.keys = Ref<>::steal(PyDict_New());
  if (!written.keys) return false;
  const int known = PyDict_Contains(written.keys.get(), key);
  // A dictionary keeps the key that it has: another one takes its place once it was removed.
  if (PyTuple_Check(key) && (known == 0 || old == nullptr)) {
    if (!written.given) written.given = Ref<>::steal(PyDict_New());
    if (!written.given || PyDict_SetItem(written.given.get(), key, given) < 0) return false;
  }
  if (known < 0 || (written.writes && PyDict_SetDefault(written.writes.get(), key, Py_None) == nullptr))
    return false;
  return known > 0 || PyDict_SetItem(written.keys.get(), key, old != nullptr ? old : Journal::absent()) == 0;
}

bool note_dict_removal(Recording& recording, PyObject* dict, PyObject* key, PyObject* old) {
  WrittenDict& written = recording.journal.note<WrittenDict>(dict);
  if (written.entry) return true;
  if (!written.order) {
    const Ref<> entry = dict_at_entry(recording, dict);
    written.order = Ref<>::steal(entry ? PyDict_Keys(entry.get()) : nullptr);
    written.removed = Ref<>::steal(PyDict_New());
    written.writes = Ref<>::steal(written.keys ? PyDict_Copy(written.keys.get()) : PyDict_New());
  }
  if (!written.order || !written.removed || !written.writes) return false;
  return note_dict_key(recording, dict, key, old, key) && PyDict_DelItem(written.writes.get(), key) == 0 &&
         PyDict_SetItem(written.removed.get(), key, Py_None) == 0;
}

bool note_whole_dict(Recording& recording, PyObject* dict) {
  Ref<> entry = dict_at_entry(recording, dict);
  if (entry.get() == dict) entry = Ref<>::steal(PyDict_Copy(dict));
  if (!entry) return false;
  recording.journal.note<WrittenDict>(dict).entry = std::move(entry);
  return true;
}

}  // namespace stator
