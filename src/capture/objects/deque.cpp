// capture/objects/deque.cpp: deques of collections: guarded whole, written at their ends.
#include "capture/objects/deque.h"

#include <string_view>

#include "capture/cpython/module_attribute.h"
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

// Of no class of the program's.
bool is_plain(PyObject* object) { return std::string_view(Py_TYPE(object)->tp_name) == "collections.deque"; }

class WrittenDeque : public Written {
 public:
  using Written::Written;

  std::vector<std::pair<bool, Ref<>>> pushed;  // to the left?, the item

  bool put_back() const override {
    const auto cleared = Ref<>::steal(PyObject_CallMethod(object.get(), "clear", nullptr));
    static PyObject* const extend = PyUnicode_InternFromString("extend");
    return cleared && Ref<>::steal(PyObject_CallMethodOneArg(object.get(), extend, entry.get()));
  }
  bool is_as_before() const override { return true; }

  void collect(Effects& effects, const Recording&) const override {
    static PyObject* const append = PyUnicode_InternFromString("append");
    static PyObject* const append_left = PyUnicode_InternFromString("appendleft");
    for (const auto& [left, item] : pushed) {
      PyObject* const method = left ? append_left : append;
      effects.add(object.get(), {item}, [method](PyObject* deque, const FinalValues& values) {
        return static_cast<bool>(Ref<>::steal(PyObject_CallMethodOneArg(deque, method, values[0])));
      });
    }
  }
};

bool note_push(Recording& recording, PyObject* deque, bool left, PyObject* item) {
  WrittenDeque& written = recording.journal.note<WrittenDeque>(deque);
  written.pushed.emplace_back(left, Ref<>::share(item));
  if (!written.entry) written.entry = Ref<>::steal(PySequence_List(deque));
  return static_cast<bool>(written.entry);
}

bool read_deque(Recording& recording, PyObject* deque) {
  if (!read_type(recording, Py_TYPE(deque)) || !before_followed_read(recording, deque)) return false;
  if (!is_pinned(recording, deque)) {
    return stop(recording, BreakCode::kUnguardable,
                std::string("a ") + Py_TYPE(deque)->tp_name + " of unknown origin is read");
  }
  const Written* written = recording.journal.find(deque);
  return read_items_at_entry(recording, deque, written != nullptr ? written->entry.get() : deque);
}

bool before_deque_method(Recording& recording, std::string_view method, PyObject* const* arguments,
                         size_t count) {
  PyObject* const deque = arguments[0];
  if (is_plain(deque) && count == 2 && (method == "append" || method == "appendleft"))
    return note_push(recording, deque, method == "appendleft", arguments[1]);
  return before_whole_write(recording, deque);
}

bool before_deque_in_place(Recording& recording, PyObject* deque, PyObject*, OnList) {
  return before_write(recording, deque, "an operand");
}

bool describe_deque(Description& description, size_t step, PyObject* deque) {
  if (!is_plain(deque)) return any_instance.describe(description, step, deque);
  if (!description.is_made_here(deque)) return description.refuse(deque);
  const auto items = Ref<>::steal(PySequence_List(deque));
  const auto longest = Ref<>::steal(items ? PyObject_GetAttrString(deque, "maxlen") : nullptr);
  if (!longest) return false;
  std::vector<size_t> parts;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); i++) {
    if (!description.add_part(parts, PyList_GET_ITEM(items.get(), i))) return false;
  }
  const size_t most = description.add(longest.get());
  if (most == Description::kStopped) return false;
  const auto type = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(deque)));
  description.begin(step, [type](const Rebuild::Given&) {
    auto* const of = reinterpret_cast<PyTypeObject*>(type.get());
    const auto none = Ref<>::steal(PyTuple_New(0));
    return none ? Ref<>::steal(of->tp_new(of, none.get(), nullptr)) : Ref<>();
  });
  description.fill(step, [parts = std::move(parts), most](PyObject* made, const Description::Values& values) {
    const auto all = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
    for (size_t i = 0; all && i < parts.size(); i++)
      PyTuple_SET_ITEM(all.get(), static_cast<Py_ssize_t>(i), Py_NewRef(values[parts[i]].get()));
    const auto arguments = Ref<>::steal(all ? PyTuple_Pack(2, all.get(), values[most].get()) : nullptr);
    return arguments && Py_TYPE(made)->tp_init(made, arguments.get(), nullptr) == 0;
  });
  return true;
}

}  // namespace

bool is_deque(PyObject* object) {
  static TypeInModule type("_collections", "deque");
  return type.has_instance(object);
}

const ObjectKind DequeKind::row = {
    .read = read_deque,
    .add_reached = add_iterated_items,
    .before_method_write = before_deque_method,
    .before_in_place = before_deque_in_place,
    .describe = describe_deque,
};

}  // namespace stator
