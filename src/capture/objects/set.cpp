// capture/objects/set.cpp: sets and frozensets: what they give when they are iterated over or popped follows
// from their whole table, so that is kept, compared and made again.
#include "capture/objects/set.h"

#include "capture/cpython/set_table.h"
#include "capture/objects/items.h"
#include "capture/program/effects.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

using Layout = std::optional<cpython::SetLayout>;

enum class SetWrite : uint8_t { add, discard };

// What is noted of writes ------------------------------------------------------------------------------

class WrittenSet : public Written {
 public:
  explicit WrittenSet(PyObject* set) : Written(set), table(cpython::copy_set(set)) {}

  const Ref<> table;                                // a copy with the same table; null with an error set
  Ref<> last;                                       // each key that was written, and whether it is in
  std::vector<std::pair<SetWrite, Ref<>>> changes;  // one by one, in their order

  bool put_back() const override { return cpython::assign_set(object.get(), table.get()); }
  bool is_as_before() const override { return cpython::SetLayout::of(table.get()).is_of(object.get()); }

  void collect(Effects& effects, const Recording&) const override {
    // The same writes in the same order leave the same table, whatever else it holds.
    if (!entry) {
      for (const auto& [write, key] : changes)
        effects.add(object.get(), {key}, write == SetWrite::add ? add_item : discard_item);
      return;
    }
    std::vector<Ref<>> finals;
    each_item(object.get(), [&](PyObject* item) {
      finals.push_back(Ref<>::share(item));
      return true;
    });
    Layout layout = cpython::SetLayout::of(object.get());
    effects.add(object.get(), std::move(finals),
                [layout = std::move(layout)](PyObject* set, const FinalValues& values) {
                  std::vector<Ref<>> kept;
                  std::vector<PyObject*> items;
                  for (size_t i = 0; i < values.size(); i++) {
                    kept.push_back(Ref<>::share(values[i]));
                    items.push_back(values[i]);
                  }
                  PySet_Clear(set);
                  return cpython::fill_set(set, items, &*layout);
                });
  }

 private:
  static bool add_item(PyObject* set, const FinalValues& values) { return PySet_Add(set, values[0]) == 0; }
  static bool discard_item(PyObject* set, const FinalValues& values) {
    return PySet_Discard(set, values[0]) >= 0;
  }
};

bool note_key(Recording& recording, PyObject* set, PyObject* key, PyObject* given, SetWrite write) {
  WrittenSet& written = recording.journal.note<WrittenSet>(set);
  if (!written.table) return false;
  if (!written.last) written.last = Ref<>::steal(PyDict_New());
  if (!written.last) return false;
  // Twice the same changes nothing, whatever else the set holds.
  PyObject* last = PyDict_GetItemWithError(written.last.get(), key);
  PyObject* now = write == SetWrite::add ? Py_True : Py_False;
  if (last == now) return true;
  if (PyErr_Occurred() || PyDict_SetItem(written.last.get(), key, now) < 0) return false;
  // A tuple is known by its identity, and the one that was given may hold symbols.
  written.changes.emplace_back(write, Ref<>::share(PyTuple_Check(key) ? given : key));
  return true;
}

// Reads ----------------------------------------------------------------------------------------------

// Beside its items: how its table is laid out, on which the outcome of writes and of pop() depends.
void read_layout(Recording& recording, PyObject* set) {
  if (Argument* argument = find_argument(recording, set)) {
    if (!argument->layout) argument->layout = cpython::SetLayout::of(argument->real);
    return;
  }
  if (recording.guards.has<SetLayoutGuard>(set)) return;
  const auto* written = recording.journal.find<WrittenSet>(set);
  PyObject* entry = written != nullptr ? written->table.get() : set;
  recording.guards.add(SetLayoutGuard{set, cpython::SetLayout::of(entry)}, set);
}

bool read_set(Recording& recording, PyObject* set) {
  if (!read_type(recording, Py_TYPE(set))) return false;
  if (!before_followed_read(recording, set)) return false;
  if (Argument* argument = find_argument(recording, set)) return read_argument_whole(recording, *argument);
  if (!is_pinned(recording, set)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(set)->tp_name + " of unknown origin is read");
  }
  const auto* written = recording.journal.find<WrittenSet>(set);
  if (written == nullptr) return read_items_at_entry(recording, set, set);
  read_layout(recording, set);
  return read_items_at_entry(recording, set, written->table.get());
}

// A frozen one is kept, and so is what it holds.
void pin_frozen_items(Recording& recording, PyObject* set) {
  if (!PyFrozenSet_CheckExact(set) || !is_pinned(recording, set)) return;
  each_item(set, [&](PyObject* item) {
    if (!is_constant(item)) pin(recording, item, {Origin::key_in, set, {}});
    return true;
  });
}

// Writes ---------------------------------------------------------------------------------------------

bool before_all(Recording& recording, PyObject* set) {
  if (!PySet_Check(set)) return before_write(recording, set, "the contents");
  read_layout(recording, set);
  WrittenSet& written = recording.journal.note<WrittenSet>(set);
  written.entry = written.table;
  return static_cast<bool>(written.entry);
}

bool before_set_method(Recording& recording, std::string_view method, PyObject* const* arguments,
                       size_t count) {
  PyObject* const set = arguments[0];
  if (!PySet_Check(set) || count < 2 || (method != "add" && method != "discard"))
    return before_whole_write(recording, set);
  const Ref<> key = writable_key(recording, arguments[1]);
  return key && note_key(recording, set, key.get(), arguments[1],
                         method == "add" ? SetWrite::add : SetWrite::discard);
}

bool before_set_in_place(Recording& recording, PyObject* set, PyObject*, OnList) {
  return PySet_Check(set) && is_writable(recording, set) ? before_whole_write(recording, set)
                                                         : before_write(recording, set, "an operand");
}

// Results --------------------------------------------------------------------------------------------

bool fill(PyObject* set, const std::vector<size_t>& parts, const Layout& layout,
          const Description::Values& values) {
  std::vector<PyObject*> items(parts.size());
  for (size_t i = 0; i < items.size(); i++) items[i] = values[parts[i]].get();
  return cpython::fill_set(set, items, layout ? &*layout : nullptr);
}

bool describe_set(Description& description, size_t step, PyObject* set) {
  const bool is_frozen = PyFrozenSet_CheckExact(set);
  if (!is_frozen && !PySet_CheckExact(set)) return any_instance.describe(description, step, set);
  if (!description.is_made_here(set)) return description.refuse(set);
  std::vector<size_t> parts;
  Layout layout = cpython::SetLayout::unless_plain(set);
  if (!each_item(set, [&](PyObject* item) { return description.add_key(parts, item); })) return false;
  if (is_frozen) {
    description.make_whole(
        step, [parts = std::move(parts), layout = std::move(layout)](const Description::Values& values) {
          auto made = Ref<>::steal(PyFrozenSet_New(nullptr));
          return made && fill(made.get(), parts, layout, values) ? std::move(made) : Ref<>();
        });
    return true;
  }
  description.begin(step, [](const Rebuild::Given&) { return Ref<>::steal(PySet_New(nullptr)); });
  description.fill(step, [parts = std::move(parts), layout = std::move(layout)](
                             PyObject* made, const Description::Values& values) {
    return fill(made, parts, layout, values);
  });
  return true;
}

}  // namespace

const ObjectKind SetKind::row = {
    .read = read_set,
    .pin_parts = pin_frozen_items,
    .add_reached = add_iterated_items,
    .before_whole_write = before_all,
    .before_method_write = before_set_method,
    .before_in_place = before_set_in_place,
    .describe = describe_set,
};

}  // namespace stator
