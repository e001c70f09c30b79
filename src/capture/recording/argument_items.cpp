// capture/recording/argument_items.cpp: what stands for a container of the arguments, and its items.
//
// It holds unread_item() in the place of every item until that is asked for.
#include "capture/recording/argument_items.h"

#include "capture/arguments/plain_dict.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/unread_value.h"

namespace stator {

namespace {

using Kind = Argument::Kind;
using StepKind = ArgumentStep::Kind;

}  // namespace

bool is_sequence(const Argument& argument) {
  return argument.kind == Kind::list || argument.kind == Kind::tuple;
}

bool is_container(const Argument& argument) {
  return is_sequence(argument) || argument.kind == Kind::dict || argument.kind == Kind::set;
}

Py_ssize_t size_of(const Argument& argument) {
  return argument.kind == Kind::dict  ? PyDict_GET_SIZE(argument.real)
         : argument.kind == Kind::set ? PySet_GET_SIZE(argument.real)
                                      : PySequence_Fast_GET_SIZE(argument.real);
}

namespace {

PyObject* item_in(PyObject* shell, const ArgumentStep& step) {
  return step.kind == StepKind::key ? PyDict_GetItemWithError(shell, step.key.get())
                                    : PySequence_Fast_GET_ITEM(shell, step.index);
}

bool put_item(PyObject* shell, const ArgumentStep& step, PyObject* value) {
  if (step.kind == StepKind::key)
    return (PyODict_Check(shell) ? PyODict_SetItem(shell, step.key.get(), value)
                                 : PyDict_SetItem(shell, step.key.get(), value)) == 0;
  if (PyList_Check(shell)) return PyList_SetItem(shell, step.index, Py_NewRef(value)) == 0;
  PyObject* const old = PyTuple_GET_ITEM(shell, step.index);
  PyTuple_SET_ITEM(shell, step.index, Py_NewRef(value));
  Py_DECREF(old);
  return true;
}

// A step as the container that stands for the argument knows it: by its index from the front.
ArgumentStep in_shell(const ArgumentStep& step, const Argument& argument) {
  if (step.kind != StepKind::from_end) return step;
  return {StepKind::item, PySequence_Fast_GET_SIZE(argument.real) - step.index, {}};
}

}  // namespace

bool reach_item(Recording& recording, Argument& argument, const ArgumentStep& step, bool lazily) {
  PyObject* const shell = argument.stands.get();
  const ArgumentStep place = in_shell(step, argument);
  PyObject* const found = item_in(shell, place);
  Argument* child = nullptr;
  if (found == unread_item()) {
    PyObject* const real = step.find(argument.real);
    if (real == nullptr)
      return stop(recording, BreakCode::kUnguardable, "an argument is changed by another thread");
    argument.children.push_back(std::make_unique<Argument>(&argument, step, real));
    child = argument.children.back().get();
  } else if (is_unread(found)) {
    child = argument_of(found);
  } else {
    return true;
  }
  if (!lazily) return stand_for(recording, *child) && put_item(shell, place, child->stands.get());
  if (child->stands) return put_item(shell, place, child->stands.get());
  if (!child->placeholder) {
    child->placeholder = make_unread(child);
    if (!child->placeholder) return false;
    recording.arguments.kept.push_back(child->placeholder);
    recording.arguments.are_lazy = true;
  }
  return put_item(shell, place, child->placeholder.get());
}

namespace {

// Items at entry: of a list that the run has written to, those that it did not write.
bool reach_sequence(Recording& recording, Argument& argument, bool lazily) {
  if (argument.whole) return true;
  const Written* written = recording.journal.find(argument.stands.get());
  if (written != nullptr && written->entry) return true;  // everything was read before
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(argument.real);
  argument.length = count;
  argument.children.reserve(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; i++) {
    if (written != nullptr && written->wrote_item(i)) continue;
    if (!reach_item(recording, argument, {StepKind::item, i, {}}, lazily)) return false;
  }
  argument.whole = !lazily;
  return true;
}

bool reach_dict(Recording& recording, Argument& argument, bool lazily) {
  PyObject* const shell = argument.stands.get();
  const Written* written = recording.journal.find(shell);
  if (written != nullptr && written->entry) return true;
  if (argument.whole && lazily) return true;
  bool reached = true;
  std::vector<Ref<>> keys;
  each_pair(argument.real, [&](PyObject* key, PyObject*) {
    keys.push_back(Ref<>::share(key));
    return true;
  });
  for (const Ref<>& key : keys) {
    const ArgumentStep step{StepKind::key, 0, key};
    if (recording.journal.wrote_key(shell, key.get())) {
      // Nobody sees what stood there: it is only known to be there.
      PyObject* const real = step.find(argument.real);
      const auto known =
          std::find_if(argument.children.begin(), argument.children.end(), [&](const auto& child) {
            return child && child->step.kind == StepKind::key && child->real == real &&
                   PyObject_RichCompareBool(child->step.key.get(), key.get(), Py_EQ) == 1;
          });
      if (known == argument.children.end() && !argument.whole)
        argument.children.push_back(std::make_unique<Argument>(&argument, step, real));
      continue;
    }
    reached = reached && reach_item(recording, argument, step, lazily);
  }
  if (!reached || argument.whole) return reached;
  // Children in the order of the dictionary; that of its attributes comes last.
  const auto rank = [&](const std::unique_ptr<Argument>& child) {
    return child->step.kind == StepKind::key ? 0 : 1;
  };
  std::unordered_map<PyObject*, size_t> order;
  for (const Ref<>& key : keys) order.emplace(key.get(), order.size());
  for (const auto& child : argument.children) {
    if (child->step.kind != StepKind::key || order.contains(child->step.key.get())) continue;
    // It was asked for by an equal key: 1 for True.
    for (const Ref<>& key : keys) {
      if (PyObject_RichCompareBool(key.get(), child->step.key.get(), Py_EQ) != 1) continue;
      child->step.key = key;
      break;
    }
  }
  std::stable_sort(argument.children.begin(), argument.children.end(), [&](const auto& a, const auto& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return rank(a) == 0 && order[a->step.key.get()] < order[b->step.key.get()];
  });
  argument.length = static_cast<Py_ssize_t>(keys.size());
  argument.whole = true;
  return true;
}

bool read_set(Argument& argument) {
  if (argument.whole) return true;
  argument.whole = true;
  argument.length = PySet_GET_SIZE(argument.real);
  each_item(argument.real, [&](PyObject* item) {
    argument.keys.push_back(Ref<>::share(item));
    return true;
  });
  return true;
}

}  // namespace

bool reach_items(Recording& recording, Argument& argument, bool lazily) {
  switch (argument.kind) {
    case Kind::list:
    case Kind::tuple:
      return reach_sequence(recording, argument, lazily);
    case Kind::dict:
      return reach_dict(recording, argument, lazily);
    case Kind::set:
      if (recording.journal.find(argument.stands.get()) != nullptr)
        argument.layout = cpython::SetLayout::of(argument.real);
      return read_set(argument);
    // They hold no items: what an instance, function or method leads to is read part by part.
    case Kind::unread:
    case Kind::tensor:
    case Kind::constant:
    case Kind::number:
    case Kind::immutable:
    case Kind::instance:
    case Kind::function:
    case Kind::method:
    case Kind::object:
      return true;
  }
  return true;
}

}  // namespace stator
