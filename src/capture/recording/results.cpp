// capture/recording/results.cpp: what instructions and calls left on the stack, looked at before the next
// one.
#include "capture/recording/results.h"

#include <algorithm>
#include <vector>

#include "capture/cpython/finalizers.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/referents.h"
#include "capture/policy/iterators.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/indirect_calls.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"
#include "capture/recording/symbols.h"

namespace stator {

void expect_result(Recording& recording, PendingResult::Kind kind) {
  // An instruction that leads to several calls has one result.
  if (!recording.pending.empty() && recording.pending.back().frame == recording.frame)
    recording.pending.pop_back();
  recording.pending.push_back({recording.frame, kind, {}, 1, {}});
}

void expect_tuple_of(Recording& recording, PyObject* iterator) {
  if (recording.pending.empty() || recording.pending.back().frame != recording.frame)
    expect_result(recording);
  recording.pending.back().giver = Ref<>::share(iterator);
}

// It holds the tuple to fill it again once nobody else does.
static bool is_held_by(PyObject* giver, PyObject* result) {
  if (giver == nullptr || result == nullptr || !PyTuple_CheckExact(result) || Py_REFCNT(result) != 2)
    return false;
  std::vector<PyObject*> held;
  cpython::add_referents(giver, held);
  return std::find(held.begin(), held.end(), result) != held.end();
}

// It never changes and may be read wherever it comes from, but only one that was made here is made anew by
// each call.
static bool is_new_constant(const Recording& recording, PyObject* result) {
  return (PyTuple_Check(result) || PyFrozenSet_Check(result)) && !is_pinned(recording, result) &&
         !is_of_call(recording, result);
}

// Whether it holds others that may be as new: what only a new container holds.
static bool note_object(Recording& recording, PyObject* result, bool made) {
  const bool alone = Py_REFCNT(result) == 1;
  if ((made || alone || recording.domain.is_tensor(result)) &&
      (!is_known(recording, result) || is_new_constant(recording, result))) {
    make_fresh(recording, result);
    // When it would die is not known here.
    if (cpython::is_python_class(Py_TYPE(result)) && cpython::has_finalizer(result))
      stop(recording, BreakCode::kFinalizer, std::string("a ") + Py_TYPE(result)->tp_name + " is made");
  }
  return alone && (PyTuple_CheckExact(result) || PyList_CheckExact(result) || PyDict_CheckExact(result) ||
                   PyAnySet_CheckExact(result) || is_deque(result));
}

bool is_kept_by_iterator(const Recording& recording, PyObject* tuple) {
  // The iterator, another one that gave a tuple with it, a container, and whoever looks.
  constexpr Py_ssize_t kHolders = 4;
  constexpr size_t kLatest = 64;  // an iterator is mostly used where it is made
  if (!PyTuple_CheckExact(tuple) || Py_REFCNT(tuple) > kHolders || !is_new_constant(recording, tuple))
    return false;
  const std::vector<Ref<>>& kept = recording.known.kept;
  std::vector<PyObject*> held;
  for (size_t i = kept.size(); i > 0 && kept.size() - i < kLatest; i--) {
    PyObject* const object = kept[i - 1].get();
    if (Py_TYPE(object)->tp_iternext == nullptr) continue;
    const IteratorKind* const kind = iterator_kind(object);
    if (kind != nullptr && kind->makes_tuples) cpython::add_referents(object, held);
  }
  return std::find(held.begin(), held.end(), tuple) != held.end();
}

// Of any depth, without recursion.
void note_result(Recording& recording, PyObject* result, bool made) {
  if (result == nullptr || !note_object(recording, result, made)) return;
  std::vector<PyObject*> left{result};
  const auto note = [&](PyObject* item) {
    if (item == nullptr) return;
    if (Py_REFCNT(item) == 1) {
      if (note_object(recording, item, false)) left.push_back(item);
    } else if (is_kept_by_iterator(recording, item)) {
      note_object(recording, item, true);
    }
  };
  while (!left.empty()) {
    PyObject* container = left.back();
    left.pop_back();
    if (PyTuple_CheckExact(container)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(container); i++) note(PyTuple_GET_ITEM(container, i));
    } else if (PyList_CheckExact(container)) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); i++) note(PyList_GET_ITEM(container, i));
    } else {
      std::vector<PyObject*> held;  // of a dictionary its keys too
      cpython::add_referents(container, held);
      for (PyObject* item : held) note(item);
    }
  }
}

// Frames entered by the instruction itself come and go before its result is on the stack.
bool take_pending(Recording& recording, PyObject** sp) {
  for (size_t i = recording.pending.size(); i > 0; i--) {
    if (recording.pending[i - 1].frame != recording.frame) continue;
    const PendingResult::Kind kind = recording.pending[i - 1].kind;
    const Ref<> giver = std::move(recording.pending[i - 1].giver);
    PyObject*& result = sp[-recording.pending[i - 1].depth];
    if (recording.pending[i - 1].instead) Py_SETREF(result, recording.pending[i - 1].instead.release());
    recording.pending.erase(
        recording.pending.begin() + static_cast<ptrdiff_t>(i) - 1,
        recording.pending.end());  // what lies above belongs to frames that were left by an error
    if ((recording.has_symbols || recording.capture.has_symbols()) && result != nullptr)
      see_symbols(recording, result);
    if (kind == PendingResult::cached) return note_cached_result(recording, result);
    // Sizes are a tuple of their own, of the call's symbols.
    if (kind == PendingResult::shown && result != nullptr && !recording.domain.is_tensor(result) &&
        !PyTuple_Check(result) && !never_changes(recording, result))
      return true;
    note_result(recording, result, kind == PendingResult::made || is_held_by(giver.get(), result));
    return !recording.stopped.happened();
  }
  return true;
}

}  // namespace stator
