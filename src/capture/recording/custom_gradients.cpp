// capture/recording/custom_gradients.cpp: functions of the program's that bring a gradient of their own.
//
// Such a call becomes one node, which makes the very call again in every run: forward and gradient are the
// program's Python code. Here its forward is followed once, unrecorded, to learn what comes out of it. What
// it reads is guarded like everything else; it must leave nothing behind, and must not read what the program
// has written before it, since the program's writes are made when the graph has run.
#include "capture/recording/custom_gradients.h"

#include <algorithm>
#include <string_view>

#include "capture/cpython/interrupts.h"
#include "capture/engine/engine.h"
#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_calls.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {

static PyObject* followed_result(Recording& recording, PyObject* apply, PyObject* const* arguments,
                                 Py_ssize_t count);
namespace {

PyObject* call_followed(PyObject* apply, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
  Recording* recording = thread_context.recording;
  if (recording == nullptr)
    return PyObject_Vectorcall(apply, arguments, static_cast<size_t>(count), keywords);
  return followed_result(*recording, apply, arguments, count);
}

PyMethodDef followed_call = {"apply",
                             reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_followed)),
                             METH_FASTCALL | METH_KEYWORDS, nullptr};

PyObject* class_of(PyObject* apply) { return reinterpret_cast<PyCFunctionObject*>(apply)->m_self; }

std::string name_of(PyObject* apply) { return reinterpret_cast<PyTypeObject*>(class_of(apply))->tp_name; }

// Why such a call cannot be one node.
BreakCode reason_of(const Recording& recording, PyObject* apply) {
  return recording.domain.classify(apply).reason;
}

}  // namespace

// On the stack the function gives way to one that calls it, and knows what comes back.
bool follow_call(Recording& recording, PyObject*& callable) {
  if (Ref<> instead = recording.domain.called_instead(callable)) Py_SETREF(callable, instead.release());
  if (!PyCFunction_Check(callable) || class_of(callable) == nullptr || !PyType_Check(class_of(callable)) ||
      std::string_view(reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name) != "apply" ||
      recording.domain.classify(callable) != CallKind::calls_as_one)
    return true;
  PyObject* followed = PyCFunction_New(&followed_call, callable);
  if (followed == nullptr) return false;
  Py_SETREF(callable, followed);
  return true;
}

bool is_followed(PyObject* callable) {
  return PyCFunction_Check(callable) &&
         reinterpret_cast<PyCFunctionObject*>(callable)->m_ml == &followed_call;
}

// Nobody can change it behind the graph's back.
static bool stays_as_given(const Recording& recording, PyObject* argument) {
  if (recording.domain.is_tensor(argument) || recording.domain.is_immutable(argument) ||
      is_constant(argument))
    return true;
  if (!PyTuple_CheckExact(argument)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(argument); i++) {
    if (!stays_as_given(recording, PyTuple_GET_ITEM(argument, i))) return false;
  }
  return true;
}

// The functions of a class that C code is about to call: which of them is given an object that is made for
// it.
bool before_class_call(Recording& recording, PyObject* owner) {
  const auto text = [](const char* name) { return Ref<>::steal(PyUnicode_InternFromString(name)); };
  const char* taker = recording.domain.takes_new_object(owner);
  for (const Ref<>& name : {text("forward"), text(taker)}) {
    if (!read_attribute(recording, owner, name.get())) return false;
    const Ref<> function = Ref<>::steal(PyObject_GetAttr(owner, name.get()));
    if (!function) return false;
    // A class method is given the class before that object.
    const bool is_bound = Py_IS_TYPE(function.get(), &PyMethod_Type);
    recording.given_new_object = is_bound ? PyMethod_GET_FUNCTION(function.get()) : function.get();
  }
  return true;
}

bool before_followed_call(Recording& recording, PyObject* callable, PyObject* const* arguments,
                          Py_ssize_t count) {
  PyObject* apply = reinterpret_cast<PyCFunctionObject*>(callable)->m_self;
  for (const auto& written : recording.journal.written()) {
    if (written->is_seen_by_lookups())
      return stop(recording, reason_of(recording, apply),
                  name_of(apply) + ": it might read an attribute that was written");
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!stays_as_given(recording, arguments[i]))
      return stop(recording, reason_of(recording, apply),
                  name_of(apply) + ": an argument is a " + Py_TYPE(arguments[i])->tp_name);
    look_at(recording, arguments[i]);
  }
  return before_class_call(recording, class_of(apply));
}

static PyObject* followed_result(Recording& recording, PyObject* apply, PyObject* const* arguments,
                                 Py_ssize_t count) {
  auto given = Ref<>::steal(PyTuple_New(count));
  if (!given) return nullptr;
  for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(given.get(), i, Py_NewRef(arguments[i]));
  const uint64_t writes = recording.journal.writes();
  std::string why;
  recording.following++;
  recording.followed_reason = reason_of(recording, apply);
  Ref<> result = recording.capture.followed_call(apply, given.get(), why);
  recording.following--;
  if (result && recording.journal.writes() != writes) {
    result = {};
    why = "its forward writes to an object that existed before";
  }
  if (result) return result.release();
  note_error(recording);
  if (!recording.stopped.happened()) {
    drop_error();
    stop(recording, reason_of(recording, apply), name_of(apply) + ": " + why);
  }
  stop(recording, *recording.stopped.code);  // an error is set, whatever became of the first one
  return nullptr;
}

static bool stop_for_write(Recording& recording) {
  return stop(recording, BreakCode::kHigherOrderOperator,
              "code that an operator is given writes to an object that existed before");
}

// Objects of the run that are older than the region that is open.
static thread_local size_t made_before_region = 0;
static thread_local bool in_body = false;

// Backward would make again what the code writes there; a program makes its writes once.
bool before_region_mark(Recording& recording, PyObject* mark) {
  if (!recording.writes_before_region) {
    recording.writes_before_region = recording.journal.writes();
    const bool is_body =
        PyCFunction_Check(mark) &&
        std::string_view(reinterpret_cast<PyCFunctionObject*>(mark)->m_ml->ml_name).ends_with("_body");
    made_before_region = is_body ? recording.known.kept.size() : 0;
    in_body = is_body;
    return true;
  }
  if (recording.journal.writes() != *recording.writes_before_region) return stop_for_write(recording);
  recording.writes_before_region.reset();
  return true;
}

bool before_region_write(Recording& recording, PyObject* object) {
  if (!recording.writes_before_region || !in_body) return true;
  const auto& kept = recording.known.kept;
  const auto end = kept.begin() + static_cast<ptrdiff_t>(std::min(made_before_region, kept.size()));
  const bool is_older =
      std::find_if(kept.begin(), end, [&](const Ref<>& each) { return each.get() == object; }) != end;
  return !is_older || stop_for_write(recording);
}

// A variable of an enclosing function.
bool before_region_write(Recording& recording, const cpython::Frame* frame, int cell) {
  const PyCodeObject* code = frame->code;
  return !recording.writes_before_region || !in_body || cell < code->co_nlocalsplus - code->co_nfreevars ||
         stop_for_write(recording);
}

// Code that is followed cannot see what the program wrote here.
bool before_followed_read(Recording& recording, PyObject* object) {
  return recording.following == 0 || recording.journal.find(object) == nullptr ||
         stop(recording, recording.followed_reason, "its forward reads what the program has written before");
}

}  // namespace stator
