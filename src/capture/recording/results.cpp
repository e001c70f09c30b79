// capture/recording/results.cpp: what instructions and calls left on the stack, looked at before the next
// one.
#include "capture/recording/results.h"

#include <vector>

#include "capture/cpython/finalizers.h"
#include "capture/cpython/python_class.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/indirect_calls.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"
#include "capture/recording/symbols.h"

namespace stator {

void expect_result(Recording& recording, PendingResult::Kind kind) {
  // An instruction that leads to several calls has one result.
  if (!recording.pending.empty() && recording.pending.back().frame == recording.frame)
    recording.pending.pop_back();
  recording.pending.push_back({recording.frame, kind, {}, 1});
}

// Whether it holds others that may be as new: what only a new container holds.
static bool note_object(Recording& recording, PyObject* result, bool made) {
  const bool alone = Py_REFCNT(result) == 1;
  if (!is_known(recording, result) && (made || alone || recording.domain.is_tensor(result))) {
    make_fresh(recording, result);
    // When it would die is not known here.
    if (cpython::is_python_class(Py_TYPE(result)) && cpython::has_finalizer(result))
      stop(recording, BreakCode::kFinalizer, std::string("a ") + Py_TYPE(result)->tp_name + " is made");
  }
  return alone && (PyTuple_CheckExact(result) || PyList_CheckExact(result) || PyDict_CheckExact(result));
}

// Of any depth, without recursion.
void note_result(Recording& recording, PyObject* result, bool made) {
  if (result == nullptr || !note_object(recording, result, made)) return;
  std::vector<PyObject*> left{result};
  const auto note = [&](PyObject* item) {
    if (item != nullptr && Py_REFCNT(item) == 1 && note_object(recording, item, false)) left.push_back(item);
  };
  while (!left.empty()) {
    PyObject* container = left.back();
    left.pop_back();
    if (PyTuple_CheckExact(container)) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(container); i++) note(PyTuple_GET_ITEM(container, i));
    } else if (PyList_CheckExact(container)) {
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); i++) note(PyList_GET_ITEM(container, i));
    } else {
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(container, &position, &key, &value)) note(value);
    }
  }
}

// Frames entered by the instruction itself come and go before its result is on the stack.
bool take_pending(Recording& recording, PyObject** sp) {
  for (size_t i = recording.pending.size(); i > 0; i--) {
    if (recording.pending[i - 1].frame != recording.frame) continue;
    const PendingResult::Kind kind = recording.pending[i - 1].kind;
    PyObject*& result = sp[-recording.pending[i - 1].depth];
    if (recording.pending[i - 1].instead) Py_SETREF(result, recording.pending[i - 1].instead.release());
    recording.pending.erase(
        recording.pending.begin() + static_cast<ptrdiff_t>(i) - 1,
        recording.pending.end());  // what lies above belongs to frames that were left by an error
    if ((recording.has_symbols || recording.capture.has_symbols()) && result != nullptr)
      see_symbols(recording, result);
    if (kind == PendingResult::cached) return note_cached_result(recording, result);
    note_result(recording, result, kind == PendingResult::made);
    return !recording.stopped.happened();
  }
  return true;
}

}  // namespace stator
