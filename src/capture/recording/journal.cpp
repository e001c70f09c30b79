// capture/recording/journal.cpp: noting what was there, and putting it back.
#include "capture/recording/journal.h"

#include "capture/cpython/error_scope.h"
#include "capture/cpython/set_table.h"
#include "capture/cpython/type_dict.h"
#include "capture/guards/guard_set.h"

namespace stator {

PyObject* Journal::absent() {
  static PyObject* const object = PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return object;
}

bool Written::is_new(PyObject* key) const {
  return keys && PyDict_GetItemWithError(keys.get(), key) == Journal::absent();
}

Written& Journal::at(Written::Kind kind, PyObject* object, PyObject* descriptor) {
  writes_++;
  size_t next = written_.size();
  const size_t found = descriptor == nullptr
                           ? index_.emplace(object, next).first->second
                           : slots_.emplace(std::pair{object, descriptor}, next).first->second;
  if (found == next) {
    written_.push_back({kind, Ref<>::share(object), {}, {}, {}, {}, 0, {}, {}, {}, Ref<>::share(descriptor)});
    if (kind == Written::Kind::list) written_.back().length = PyList_GET_SIZE(object);
  }
  return written_[found];
}

const Written* Journal::find(PyObject* object) const {
  const auto found = index_.find(object);
  return found == index_.end() ? nullptr : &written_[found->second];
}

bool Journal::dict_key(PyObject* dict, PyObject* key, PyObject* old) {
  Written& written = at(Written::Kind::dict, dict);
  if (!written.keys) written.keys = Ref<>::steal(PyDict_New());
  if (!written.keys) return false;
  const int known = PyDict_Contains(written.keys.get(), key);
  if (known != 0) return known > 0;
  return PyDict_SetItem(written.keys.get(), key, old != nullptr ? old : absent()) == 0;
}

bool Journal::dict_removal(PyObject* dict, PyObject* key, PyObject* old) {
  Written& written = at(Written::Kind::dict, dict);
  if (written.entry) return true;
  if (!written.order) {
    const Ref<> entry = dict_at_entry(dict);
    written.order = Ref<>::steal(entry ? PyDict_Keys(entry.get()) : nullptr);
    written.removed = Ref<>::steal(PySet_New(nullptr));
  }
  return written.order && written.removed && PySet_Add(written.removed.get(), key) == 0 &&
         dict_key(dict, key, old);
}

bool Journal::dict_all(PyObject* dict) {
  writes_++;
  if (const Written* known = find(dict); known != nullptr && known->entry) return true;
  Ref<> entry = dict_at_entry(dict);
  if (entry.get() == dict) entry = Ref<>::steal(PyDict_Copy(dict));
  if (!entry) return false;
  at(Written::Kind::dict, dict).entry = std::move(entry);
  return true;
}

bool Journal::list_tail(PyObject* list) {
  at(Written::Kind::list, list);
  return true;
}

bool Journal::list_item(PyObject* list, Py_ssize_t index) {
  Written& written = at(Written::Kind::list, list);
  if (!written.entry && index < written.length)
    written.items.emplace(index, Ref<>::share(PyList_GET_ITEM(list, index)));
  return true;
}

bool Journal::list_all(PyObject* list) {
  writes_++;
  if (const Written* known = find(list); known != nullptr && known->entry) return true;
  Ref<> entry = list_at_entry(list);
  if (entry.get() == list) entry = Ref<>::steal(PyList_GetSlice(list, 0, PyList_GET_SIZE(list)));
  if (!entry) return false;
  at(Written::Kind::list, list).entry = std::move(entry);
  return true;
}

// What a set walks through, and what pop() gives, follow from its whole table.
static bool keep_table(Written& written) {
  if (!written.order) written.order = cpython::copy_set(written.object.get());
  return static_cast<bool>(written.order);
}

bool Journal::set_key(PyObject* set, PyObject* key, SetWrite write) {
  Written& written = at(Written::Kind::set, set);
  if (!keep_table(written)) return false;
  if (!written.keys) written.keys = Ref<>::steal(PyDict_New());
  if (!written.keys) return false;
  // Twice the same changes nothing, whatever else the set holds.
  PyObject* last = PyDict_GetItemWithError(written.keys.get(), key);
  PyObject* now = write == SetWrite::add ? Py_True : Py_False;
  if (last == now) return true;
  if (PyErr_Occurred() || PyDict_SetItem(written.keys.get(), key, now) < 0) return false;
  written.changes.emplace_back(write, Ref<>::share(key));
  return true;
}

bool Journal::set_all(PyObject* set) {
  Written& written = at(Written::Kind::set, set);
  if (!keep_table(written)) return false;
  written.entry = written.order;
  return true;
}

bool Journal::deque_push(PyObject* deque, bool left, PyObject* item) {
  Written& written = at(Written::Kind::deque, deque);
  written.pushed.emplace_back(left, Ref<>::share(item));
  if (!written.entry) written.entry = Ref<>::steal(PySequence_List(deque));
  return static_cast<bool>(written.entry);
}

bool Journal::cell(PyObject* cell) {
  Written& written = at(Written::Kind::cell, cell);
  if (!written.entry) {
    PyObject* content = PyCell_GET(cell);
    written.entry = Ref<>::share(content != nullptr ? content : absent());
  }
  return true;
}

bool Journal::slot(PyObject* object, PyObject* descriptor, Written::Kind kind) {
  Written& written = at(kind, object, descriptor);
  if (!written.entry) {
    written.entry = read_slot(object, descriptor);
    if (!written.entry) written.entry = Ref<>::share(absent());
  }
  return true;
}

bool Journal::class_attribute(PyTypeObject* type, PyObject* name) {
  Written& written = at(Written::Kind::type, reinterpret_cast<PyObject*>(type));
  if (!written.keys) written.keys = Ref<>::steal(PyDict_New());
  if (!written.keys) return false;
  const int known = PyDict_Contains(written.keys.get(), name);
  if (known != 0) return known > 0;
  PyObject* old = cpython::own_attribute(type, name);
  return PyDict_SetItem(written.keys.get(), name, old != nullptr ? old : absent()) == 0;
}

bool Journal::wrote_key(PyObject* object, PyObject* key) const {
  const Written* written = find(object);
  if (written == nullptr) return false;
  if (written->entry) return true;
  return written->keys && PyDict_Contains(written->keys.get(), key) == 1;
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

Ref<> Journal::dict_at_entry(PyObject* dict) const {
  const Written* written = find(dict);
  if (written == nullptr) return Ref<>::share(dict);
  if (written->entry) return written->entry;
  // Keys that are written one by one keep their places; new ones stand behind the others.
  auto entry = Ref<>::steal(PyDict_Copy(dict));
  PyObject *key, *old;
  Py_ssize_t position = 0;
  while (entry && written->keys && PyDict_Next(written->keys.get(), &position, &key, &old)) {
    const int status = old != absent()                          ? PyDict_SetItem(entry.get(), key, old)
                       : PyDict_Contains(entry.get(), key) == 1 ? PyDict_DelItem(entry.get(), key)
                                                                : 0;
    if (status < 0) return {};
  }
  return entry && written->order ? in_order(entry.get(), written->order.get()) : entry;
}

Ref<> Journal::list_at_entry(PyObject* list) const {
  const Written* written = find(list);
  if (written == nullptr) return Ref<>::share(list);
  if (written->entry) return written->entry;
  auto entry = Ref<>::steal(PyList_GetSlice(list, 0, written->length));
  for (const auto& [index, old] : written->items) {
    if (entry && PyList_SetItem(entry.get(), index, Py_NewRef(old.get())) < 0) return {};
  }
  return entry;
}

namespace {

// A key that was removed and comes back stands behind all others.
int put_back_order(const Written& written) {
  PyObject* object = written.object.get();
  const Ref<> entry = in_order(object, written.order.get());
  if (!entry) return -1;
  PyDict_Clear(object);
  return PyDict_Update(object, entry.get());
}

int put_back_class(const Written& written) {
  PyObject *name, *old;
  Py_ssize_t position = 0;
  PyObject* object = written.object.get();
  while (PyDict_Next(written.keys.get(), &position, &name, &old)) {
    PyObject* now = cpython::own_attribute(reinterpret_cast<PyTypeObject*>(object), name);
    PyObject* before = old == Journal::absent() ? nullptr : old;
    if (now != before && PyType_Type.tp_setattro(object, name, before) < 0) return -1;
  }
  return 0;
}

int put_back_keys(const Written& written) {
  PyObject *key, *old;
  Py_ssize_t position = 0;
  PyObject* object = written.object.get();
  while (written.keys && PyDict_Next(written.keys.get(), &position, &key, &old)) {
    int status = 0;
    if (old != Journal::absent()) {
      if (PyDict_GetItemWithError(object, key) != old)
        status = PyODict_Check(object) ? PyODict_SetItem(object, key, old) : PyDict_SetItem(object, key, old);
    } else if (PyDict_Contains(object, key) == 1) {
      status = PyODict_Check(object) ? PyODict_DelItem(object, key) : PyDict_DelItem(object, key);
    }
    if (status < 0) return status;
  }
  return written.order ? put_back_order(written) : 0;
}

int put_back(const Written& written) {
  PyObject* object = written.object.get();
  PyObject* entry = written.entry.get();
  switch (written.kind) {
    case Written::Kind::dict:
      if (entry == nullptr) return put_back_keys(written);
      PyDict_Clear(object);
      return PyDict_Update(object, entry);
    case Written::Kind::list: {
      if (entry != nullptr) return PyList_SetSlice(object, 0, PyList_GET_SIZE(object), entry);
      for (const auto& [index, old] : written.items) {
        if (PyList_SetItem(object, index, Py_NewRef(old.get())) < 0) return -1;
      }
      return PyList_SetSlice(object, written.length, PyList_GET_SIZE(object), nullptr);
    }
    case Written::Kind::set:
      return cpython::assign_set(object, written.order.get()) ? 0 : -1;
    case Written::Kind::deque: {
      auto cleared = Ref<>::steal(PyObject_CallMethod(object, "clear", nullptr));
      auto filled = Ref<>::steal(cleared ? PyObject_CallMethod(object, "extend", "O", entry) : nullptr);
      return filled ? 0 : -1;
    }
    case Written::Kind::cell:
      return PyCell_Set(object, entry == Journal::absent() ? nullptr : entry);
    case Written::Kind::slot:
    case Written::Kind::state: {
      PyObject* descriptor = written.descriptor.get();
      const Ref<> now = read_slot(object, descriptor);
      if (entry == Journal::absent() ? !now : now.get() == entry) return 0;
      return Py_TYPE(descriptor)
          ->tp_descr_set(descriptor, object, entry == Journal::absent() ? nullptr : entry);
    }
    case Written::Kind::type:
      return put_back_class(written);
  }
  return 0;
}

}  // namespace

// Whether it holds again what it held: the same objects in the same places.
static bool is_as_before(const Written& written) {
  PyObject* object = written.object.get();
  PyObject* entry = written.entry.get();
  PyObject *key, *old;
  Py_ssize_t position = 0;
  switch (written.kind) {
    case Written::Kind::dict: {
      while (entry == nullptr && written.keys && PyDict_Next(written.keys.get(), &position, &key, &old)) {
        PyObject* now = PyDict_GetItemWithError(object, key);
        if (now != (old == Journal::absent() ? nullptr : old)) return false;
      }
      if (entry == nullptr) return true;
      PyObject *other_key, *other;
      Py_ssize_t other_position = 0;
      while (PyDict_Next(entry, &position, &key, &old)) {
        if (!PyDict_Next(object, &other_position, &other_key, &other) || other_key != key || other != old)
          return false;
      }
      return PyDict_GET_SIZE(object) == PyDict_GET_SIZE(entry);
    }
    case Written::Kind::list:
      if (PyList_GET_SIZE(object) != (entry != nullptr ? PyList_GET_SIZE(entry) : written.length))
        return false;
      for (Py_ssize_t i = 0; entry != nullptr && i < PyList_GET_SIZE(entry); i++) {
        if (PyList_GET_ITEM(object, i) != PyList_GET_ITEM(entry, i)) return false;
      }
      return true;
    case Written::Kind::set:
      return cpython::SetLayout::of(written.order.get()).is_of(object);
    case Written::Kind::cell:
      return PyCell_GET(object) == (entry == Journal::absent() ? nullptr : entry);
    case Written::Kind::slot:
    case Written::Kind::state: {
      const Ref<> now = read_slot(object, written.descriptor.get());
      return now.get() == (entry == Journal::absent() ? nullptr : entry);
    }
    case Written::Kind::type:
      while (PyDict_Next(written.keys.get(), &position, &key, &old)) {
        PyObject* now = cpython::own_attribute(reinterpret_cast<PyTypeObject*>(object), key);
        if (now != (old == Journal::absent() ? nullptr : old)) return false;
      }
      return true;
    default:
      return true;
  }
}

size_t Journal::roll_back() {
  const ErrorScope scope;
  for (size_t i = written_.size(); i > 0; i--) {
    if (put_back(written_[i - 1]) < 0) PyErr_Clear();
  }
  size_t different = 0;
  for (const Written& written : written_) different += is_as_before(written) ? 0 : 1;
  written_.clear();
  index_.clear();
  slots_.clear();
  return different;
}

}  // namespace stator
