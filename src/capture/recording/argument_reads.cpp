// capture/recording/argument_reads.cpp: reads of what the arguments hold, each noted as far as it goes.
#include "capture/recording/argument_reads.h"

#include "capture/cpython/interrupts.h"
#include "capture/recording/argument_items.h"
#include "capture/recording/symbols.h"
#include "capture/recording/unread_value.h"

namespace stator {
namespace {

using Kind = Argument::Kind;
using StepKind = ArgumentStep::Kind;

// The instruction takes one item out, or asks whether it is there, and does not look at it.
bool moves_item(const Recording& recording) {
  switch (recording.at != nullptr ? recording.at->opcode : Opcode::NOP) {
    case Opcode::BINARY_SUBSCR:
    case Opcode::LOAD_ATTR:
    case Opcode::LOAD_METHOD:
      return true;
    case Opcode::CONTAINS_OP:
    case Opcode::MATCH_KEYS:
      return true;
    case Opcode::CALL:
      return recording.arguments.gets_item;
    default:
      return false;
  }
}

}  // namespace

Argument* find_argument(const Recording& recording, PyObject* object) {
  const auto found = recording.arguments.by_stand_in.find(object);
  return found != recording.arguments.by_stand_in.end() ? found->second : nullptr;
}

Argument* find_unread(PyObject* object) { return is_unread(object) ? argument_of(object) : nullptr; }

bool is_argument_set(const Recording& recording, PyObject* object) {
  return PySet_CheckExact(object) && find_argument(recording, object) != nullptr;
}

Argument& add_argument(Recording& recording, PyObject* value, std::string name) {
  auto& roots = recording.arguments.roots;
  const auto index = static_cast<Py_ssize_t>(roots.size());
  roots.push_back(std::make_unique<Argument>(nullptr, ArgumentStep{StepKind::root, index, {}}, value));
  roots.back()->root_name = std::move(name);
  return *roots.back();
}

bool read_argument_whole(Recording& recording, Argument& argument) {
  return reach_items(recording, argument, false);
}

bool reach_argument_items(Recording& recording, Argument& argument) {
  return reach_items(recording, argument, true);
}

bool read_argument_length(Recording& recording, Argument& argument) {
  if (!is_container(argument)) return true;
  const Written* written = recording.journal.find(argument.stands.get());
  if (written != nullptr && written->entry) return true;
  argument.length = size_of(argument);
  return true;
}

bool read_argument_truth(Recording& recording, Argument& argument) {
  // What the run wrote decides as well.
  if (recording.journal.find(argument.stands.get()) != nullptr)
    return read_argument_length(recording, argument);
  if (is_container(argument)) argument.is_empty = size_of(argument) == 0;
  return true;
}

// One item by its place, which the program counted from the end or from the front.
static bool read_place(Recording& recording, Argument& argument, Py_ssize_t at, bool from_end, bool lazily) {
  PyObject* const shell = argument.stands.get();
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(shell);
  const Written* written = recording.journal.find(shell);
  if (written != nullptr && (written->entry || at >= written->entry_length() || written->wrote_item(at))) {
    // Written here: where it stands, counted from the front, follows from the length.
    return (from_end && at >= written->entry_length()) || read_argument_length(recording, argument);
  }
  const bool known_from_end =
      std::find(argument.ends.begin(), argument.ends.end(), at) != argument.ends.end();
  const bool is_known = PySequence_Fast_GET_ITEM(shell, at) != unread_item();
  if (from_end && written == nullptr && (!is_known || known_from_end)) {
    if (!is_known) argument.ends.push_back(at);
    return reach_item(recording, argument, {StepKind::from_end, size - at, {}}, lazily);
  }
  // Both ways to count meet in this item.
  if (from_end || known_from_end) argument.length = size_of(argument);
  return reach_item(recording, argument, {StepKind::item, at, {}}, lazily);
}

bool reach_argument_item(Recording& recording, Argument& argument, Py_ssize_t at) {
  return read_place(recording, argument, at, false, true);
}

// `items[-3:]` and `items[:3]` of a sequence that has so many see only these; any other slice sees
// everything.
static bool read_slice(Recording& recording, Argument& argument, PyObject* index) {
  const auto* slice = reinterpret_cast<PySliceObject*>(index);
  const auto number = [](PyObject* value, Py_ssize_t otherwise) {
    int overflow = 1;
    const long found = PyLong_CheckExact(value) ? PyLong_AsLongAndOverflow(value, &overflow) : 0;
    return overflow == 0 ? static_cast<Py_ssize_t>(found) : otherwise;
  };
  constexpr Py_ssize_t kOther = PY_SSIZE_T_MAX;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(argument.stands.get());
  const bool is_plain = slice->step == Py_None && recording.journal.find(argument.stands.get()) == nullptr;
  const Py_ssize_t start = slice->start == Py_None ? 0 : number(slice->start, kOther);
  const Py_ssize_t stop = slice->stop == Py_None ? size : number(slice->stop, kOther);
  const bool last = is_plain && slice->stop == Py_None && start < 0 && -start <= size;
  const bool first = is_plain && slice->stop != Py_None && start >= 0 && stop > start && stop <= size;
  if (!last && !first) return read_argument_whole(recording, argument);
  for (Py_ssize_t i = last ? size + start : start; i < stop; i++) {
    if (!read_place(recording, argument, i, last, false)) return false;
  }
  return true;
}

bool read_argument_item(Recording& recording, Argument& argument, PyObject* index) {
  if (is_sequence(argument) && PySlice_Check(index)) return read_slice(recording, argument, index);
  if (!is_sequence(argument) || !PyLong_CheckExact(index)) return read_argument_whole(recording, argument);
  Py_ssize_t at = PyLong_AsSsize_t(index);
  const bool from_end = at < 0;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(argument.stands.get());
  if (at == -1 && PyErr_Occurred()) {
    drop_error();
    at = size;
  }
  if (at < 0) at += size;
  if (at < 0 || at >= size) return read_argument_length(recording, argument);  // raises
  return read_place(recording, argument, at, from_end, moves_item(recording));
}

bool read_argument_key(Recording& recording, Argument& argument, PyObject* given_key) {
  const Ref<> plain = key_of(recording, given_key);
  PyObject* const key = plain.get();
  if (key == nullptr) return false;
  if (argument.kind != Kind::dict || !is_constant(key)) return read_argument_whole(recording, argument);
  PyObject* const shell = argument.stands.get();
  if (recording.journal.wrote_key(shell, key)) return true;
  if (const Written* written = recording.journal.find(shell); written != nullptr && written->entry)
    return true;
  PyObject* const found = PyDict_GetItemWithError(shell, key);
  if (found == nullptr) {
    if (PyErr_Occurred()) return false;
    if (!argument.whole) argument.absent.push_back(Ref<>::share(key));
    return true;
  }
  return reach_item(recording, argument, {StepKind::key, 0, Ref<>::share(key)}, moves_item(recording));
}

bool read_argument_member(Recording& recording, Argument& argument, PyObject* item) {
  if (argument.kind == Kind::dict) return read_argument_key(recording, argument, item);
  if (argument.kind != Kind::set || !is_constant(item) || recording.domain.is_symbolic(item) ||
      recording.journal.find(argument.stands.get()) != nullptr)
    return read_argument_whole(recording, argument);
  const int found = PySet_Contains(argument.real, item);
  if (found < 0) return false;
  (found == 1 ? argument.members : argument.absent).push_back(Ref<>::share(item));
  return true;
}

}  // namespace stator
