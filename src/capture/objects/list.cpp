// capture/objects/list.cpp: lists: their length and single items are guarded as far as they are read, appends
// and item writes are journaled by themselves, any other write as a new content.
#include "capture/objects/list.h"

#include "capture/cpython/interrupts.h"
#include "capture/objects/sequence.h"
#include "capture/program/effects.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/places.h"
#include "capture/recording/reads.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

// What is noted of writes ------------------------------------------------------------------------------

class WrittenList : public Written {
 public:
  explicit WrittenList(PyObject* list) : Written(list), length(PyList_GET_SIZE(list)) {}

  const Py_ssize_t length;            // at entry
  std::map<Py_ssize_t, Ref<>> items;  // old ones by index
  bool replaced = false;              // nothing is left of what it held at entry

  bool put_back() const override {
    PyObject* const list = object.get();
    if (entry) return PyList_SetSlice(list, 0, PyList_GET_SIZE(list), entry.get()) == 0;
    for (const auto& [index, old] : items) {
      if (PyList_SetItem(list, index, Py_NewRef(old.get())) < 0) return false;
    }
    return PyList_SetSlice(list, length, PyList_GET_SIZE(list), nullptr) == 0;
  }

  bool is_as_before() const override {
    PyObject* const list = object.get();
    if (!entry) return PyList_GET_SIZE(list) == length;
    if (PyList_GET_SIZE(list) != PyList_GET_SIZE(entry.get())) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
      if (PyList_GET_ITEM(list, i) != PyList_GET_ITEM(entry.get(), i)) return false;
    }
    return true;
  }

  void collect(Effects& effects, const Recording& recording) const override {
    PyObject* const list = object.get();
    for (const auto& [index, old] : items) {
      if (entry) break;
      const Ref<> key = Ref<>::steal(PyLong_FromSsize_t(index));
      PyObject* const now = PyList_GET_ITEM(list, index);
      if (!key || recording.placed.in(list, key.get()) == now) continue;
      effects.add(list, {Ref<>::share(now)}, [index = index](PyObject* target, const FinalValues& values) {
        return PyList_SetItem(target, index, Py_NewRef(values[0])) == 0;
      });
    }
    std::vector<Ref<>> finals;
    for (Py_ssize_t i = entry ? 0 : length; i < PyList_GET_SIZE(list); i++)
      finals.push_back(Ref<>::share(PyList_GET_ITEM(list, i)));
    if (entry) {
      effects.add(list, std::move(finals), replace);
    } else if (!finals.empty()) {
      effects.add(list, std::move(finals), append);
    }
  }

  bool wrote_item(Py_ssize_t index) const override { return items.contains(index); }
  Py_ssize_t entry_length() const override { return length; }

 private:
  static bool append(PyObject* list, const FinalValues& values) {
    for (size_t i = 0; i < values.size(); i++) {
      if (PyList_Append(list, values[i]) < 0) return false;
    }
    return true;
  }

  static bool replace(PyObject* list, const FinalValues& values) {
    const auto items = Ref<>::steal(PyList_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t i = 0; items && i < values.size(); i++)
      PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), Py_NewRef(values[i]));
    return items && PyList_SetSlice(list, 0, PyList_GET_SIZE(list), items.get()) == 0;
  }
};

const WrittenList* written_to(const Recording& recording, PyObject* list) {
  return recording.journal.find<WrittenList>(list);
}

// New reference; the list itself where nothing was written to it.
Ref<> list_at_entry(const Recording& recording, PyObject* list) {
  const WrittenList* written = written_to(recording, list);
  if (written == nullptr) return Ref<>::share(list);
  if (written->entry) return written->entry;
  auto entry = Ref<>::steal(PyList_GetSlice(list, 0, written->length));
  for (const auto& [index, old] : written->items) {
    if (entry && PyList_SetItem(entry.get(), index, Py_NewRef(old.get())) < 0) return {};
  }
  return entry;
}

bool note_tail(Recording& recording, PyObject* list) {
  recording.journal.note<WrittenList>(list);
  return true;
}

bool note_item(Recording& recording, PyObject* list, Py_ssize_t index) {
  WrittenList& written = recording.journal.note<WrittenList>(list);
  if (!written.entry && index < written.length)
    written.items.emplace(index, Ref<>::share(PyList_GET_ITEM(list, index)));
  return true;
}

bool note_all(Recording& recording, PyObject* list) {
  Ref<> entry = list_at_entry(recording, list);
  if (entry.get() == list) entry = Ref<>::steal(PyList_GetSlice(list, 0, PyList_GET_SIZE(list)));
  if (!entry) return false;
  recording.journal.note<WrittenList>(list).entry = std::move(entry);
  return true;
}

// Reads ----------------------------------------------------------------------------------------------

// `items` is what the list held at entry.
bool read_noted_item(Recording& recording, PyObject* list, PyObject* items, Py_ssize_t i) {
  const Py_ssize_t count = PyList_GET_SIZE(items);
  const auto at = static_cast<size_t>(i);
  if (recording.guards.list(list, count).items[at].object != nullptr) return true;
  PyObject* item = PyList_GET_ITEM(items, i);
  auto index = Ref<>::steal(PyLong_FromSsize_t(i));
  if (!index) return false;
  if (const Placed placed = see_place(recording, list, index.get(), item); placed != Placed::no)
    return placed == Placed::yes;
  recording.guards.list(list, count).items[at] = expect(item);
  pin(recording, item, {Origin::item, list, std::move(index)});
  return true;
}

bool stop_for_unknown(Recording& recording) {
  return stop(recording, BreakCode::kUnguardable, "a list of unknown origin is read");
}

bool read_list_length(Recording& recording, PyObject* list) {
  if (!before_followed_read(recording, list)) return false;
  if (Argument* argument = find_argument(recording, list)) return read_argument_length(recording, *argument);
  if (reads_freely(recording, list)) return true;
  if (!is_pinned(recording, list)) return stop_for_unknown(recording);
  const WrittenList* written = written_to(recording, list);
  if (written != nullptr && written->entry) return true;
  recording.guards.list(list, written != nullptr ? written->length : PyList_GET_SIZE(list));
  return true;
}

bool read(Recording& recording, PyObject* list) {
  return (PyList_CheckExact(list) || read_object(recording, list)) && read_list(recording, list);
}

// Writes ---------------------------------------------------------------------------------------------

bool before_all(Recording& recording, PyObject* list) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    if (!before_replacing(recording, PyList_GET_ITEM(list, i))) return false;
  }
  return note_all(recording, list);
}

// `list[:]`: what is stored there takes the place of all items, whatever they were.
bool is_whole(PyObject* slice) {
  if (!PySlice_Check(slice)) return false;
  const auto* bounds = reinterpret_cast<PySliceObject*>(slice);
  return bounds->start == Py_None && bounds->stop == Py_None && bounds->step == Py_None;
}

bool before_replacing_all(Recording& recording, PyObject* list) {
  if (find_argument(recording, list) != nullptr) return before_whole_write(recording, list);
  if (!before_all(recording, list)) return false;
  recording.journal.note<WrittenList>(list).replaced = true;
  return true;
}

bool before_list_item(Recording& recording, PyObject* list, PyObject* index) {
  if (is_fresh(recording, list)) return before_region_write(recording, list);
  if (is_whole(index)) return before_replacing_all(recording, list);
  if (!PyLong_CheckExact(index)) return before_whole_write(recording, list);
  Py_ssize_t at = PyLong_AsSsize_t(index);
  if (at == -1 && PyErr_Occurred()) {
    drop_error();
    return before_whole_write(recording, list);
  }
  // An item of an argument must be there; how many stand behind it does not matter.
  Argument* const argument = at >= 0 && at < PyList_GET_SIZE(list) ? find_argument(recording, list) : nullptr;
  if (!(argument != nullptr ? reach_argument_item(recording, *argument, at)
                            : read_list_length(recording, list)))
    return false;
  if (at < 0) at += PyList_GET_SIZE(list);
  if (at < 0 || at >= PyList_GET_SIZE(list)) return true;  // raises
  return before_replacing(recording, PyList_GET_ITEM(list, at)) && note_item(recording, list, at);
}

bool before_subscript_write(Recording& recording, PyObject* list, PyObject* key, bool removes) {
  if (Py_TYPE(list)->tp_as_mapping->mp_ass_subscript != PyList_Type.tp_as_mapping->mp_ass_subscript)
    return before_write(recording, list, "an item");
  return removes ? before_whole_write(recording, list) : before_list_item(recording, list, key);
}

bool before_list_method(Recording& recording, std::string_view method, PyObject* const* arguments,
                        size_t count) {
  PyObject* const list = arguments[0];
  if (method == "append" || method == "extend" || method == "__iadd__") return note_tail(recording, list);
  if (method == "clear") return before_replacing_all(recording, list);
  if (count >= 2 && method == "__setitem__") return before_list_item(recording, list, arguments[1]);
  return before_whole_write(recording, list);
}

bool before_list_in_place(Recording& recording, PyObject* list, PyObject* right, OnList on_list) {
  if (!PyList_CheckExact(list) || !is_writable(recording, list))
    return before_write(recording, list, "an operand");
  return on_list == OnList::extends ? read_contents(recording, right) && note_tail(recording, list)
                                    : before_whole_write(recording, list);
}

bool put(Recording& recording, PyObject* list, PyObject* key, PyObject*, PyObject* stands) {
  const Py_ssize_t index = PyLong_AsSsize_t(key);
  return note_item(recording, list, index) && PyList_SetItem(list, index, Py_NewRef(stands)) == 0;
}

bool describe(Description& description, size_t step, PyObject* list) {
  if (!PyList_CheckExact(list)) return any_instance.describe(description, step, list);
  if (!description.is_made_here(list)) return description.refuse(list);
  description.begin(step, [](const Rebuild::Given&) { return Ref<>::steal(PyList_New(0)); });
  return describe_list_items(description, step, list);
}

}  // namespace

bool read_list(Recording& recording, PyObject* list) {
  if (!before_followed_read(recording, list)) return false;
  if (Argument* argument = find_argument(recording, list)) return read_argument_whole(recording, *argument);
  if (reads_freely(recording, list)) return true;
  if (!is_pinned(recording, list)) return stop_for_unknown(recording);
  const WrittenList* written = written_to(recording, list);
  if (written != nullptr && written->replaced) return true;
  const Ref<> entry = list_at_entry(recording, list);
  if (!entry) return false;
  const Py_ssize_t count = PyList_GET_SIZE(entry.get());
  if (recording.guards.list(list, count).whole) return true;
  for (Py_ssize_t i = 0; i < count; i++) {
    // What was written before it was read is seen by nobody.
    if (written != nullptr && !written->entry && written->wrote_item(i)) continue;
    if (!read_noted_item(recording, list, entry.get(), i)) return false;
  }
  recording.guards.list(list, count).whole = true;
  return true;
}

// One item, by a number: the other items may change.
bool read_list_item(Recording& recording, PyObject* list, PyObject* index) {
  if (!before_followed_read(recording, list)) return false;
  if (Argument* argument = find_argument(recording, list))
    return read_contents(recording, index) && read_argument_item(recording, *argument, index);
  if (reads_freely(recording, list)) return true;
  if (!PyLong_CheckExact(index)) return read_list(recording, list) && read_contents(recording, index);
  if (!read_list_length(recording, list)) return false;
  Py_ssize_t at = PyLong_AsSsize_t(index);
  if (at == -1 && PyErr_Occurred()) drop_error();
  if (at < 0) at += PyList_GET_SIZE(list);
  if (at < 0 || at >= PyList_GET_SIZE(list)) return true;  // raises, whatever it holds
  const WrittenList* written = written_to(recording, list);
  if (written != nullptr && (written->entry || at >= written->length || written->wrote_item(at)))
    return true;  // written here
  return read_noted_item(recording, list, list, at);
}

bool describe_list_items(Description& description, size_t step, PyObject* list) {
  std::vector<size_t> parts;
  if (!describe_items(description, list, parts)) return false;
  description.fill(step, [parts = std::move(parts)](PyObject* made, const Description::Values& values) {
    for (const size_t part : parts) {
      if (PyList_Append(made, values[part].get()) < 0) return false;
    }
    return true;
  });
  return true;
}

const ObjectKind ListKind::row = {
    .read = read,
    .type = &PyList_Type,
    .read_length = read_list_length,
    .add_reached = add_items,
    .holds_unread = holds_unread_item,
    .read_unread = read_unread_items,
    .before_whole_write = before_all,
    .before_item_write = before_subscript_write,
    .before_method_write = before_list_method,
    .before_in_place = before_list_in_place,
    .put = put,
    .describe = describe,
};

}  // namespace stator
