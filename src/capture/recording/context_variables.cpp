// capture/recording/context_variables.cpp: reads and writes of context variables in captured code.
//
// A write reads nothing, as long as the variable is set back by its token. What the caller's context holds is
// guarded where the program can see it: by `get` before the first write or after the last one was undone, by
// `old_value` of a token, and where it sets the variable to what the caller has set by itself.
#include "capture/recording/context_variables.h"

#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"

namespace stator {
namespace {

// A forward that every run makes by itself finds the caller's context.
bool is_captured_for_good(Recording& recording) {
  return recording.following == 0 ||
         stop(recording, recording.followed_reason, "a context variable is set around its forward");
}

void pin_content(Recording& recording, PyObject* variable, PyObject* content) {
  pin(recording, content, {Origin::attribute, variable, Ref<>::steal(PyUnicode_InternFromString("get()"))});
}

// `content`: nullptr where it is not set.
void guard_content(Recording& recording, PyObject* variable, PyObject* content) {
  if (content != nullptr) pin_content(recording, variable, content);
  recording.guards.add(ContextVariableGuard{variable, expect(content)}, variable);
}

bool before_write(Recording& recording, PyObject* variable) {
  if (!is_pinned(recording, variable))
    return stop(recording, BreakCode::kUnguardable, "a context variable of unknown origin");
  if (!is_captured_for_good(recording)) return false;
  recording.context_writes.note(variable, read_context_variable(variable), recording.end.now.number);
  return true;
}

}  // namespace

bool before_context_read(Recording& recording, PyObject* variable) {
  if (is_fresh(recording, variable)) return true;  // nobody has set it
  if (recording.context_writes.has(variable) && !is_captured_for_good(recording)) return false;
  if (recording.context_writes.holds_captured(variable)) return true;
  if (!is_pinned(recording, variable))
    return stop(recording, BreakCode::kUnguardable, "a context variable of unknown origin");
  guard_content(recording, variable, read_context_variable(variable).get());
  // The default that it was made with.
  PyObject* given = nullptr;
  if (PyContextVar_Get(variable, nullptr, &given) < 0) return false;
  if (const Ref<> owned = Ref<>::steal(given)) pin_content(recording, variable, given);
  return true;
}

bool before_context_set(Recording& recording, PyObject* variable, PyObject* value) {
  if (is_fresh(recording, variable)) return true;
  if (!before_write(recording, variable)) return false;
  PyObject* const before = recording.context_writes.held_before(variable);
  if (before == value) guard_content(recording, variable, before);
  return true;
}

bool before_context_reset(Recording& recording, PyObject* variable, PyObject* token) {
  // A token of the caller's belongs to the caller's context.
  if (!is_fresh(recording, token))
    return stop(recording, BreakCode::kUnguardable, "a context variable that the caller has set is set back");
  return is_fresh(recording, variable) || before_write(recording, variable);
}

bool read_old_value(Recording& recording, PyObject* token) {
  const auto variable = Ref<>::steal(PyObject_GetAttrString(token, "var"));
  if (!variable) return false;
  if (recording.context_writes.has(variable.get()))
    guard_content(recording, variable.get(), recording.context_writes.held_before(variable.get()));
  return true;
}

}  // namespace stator
