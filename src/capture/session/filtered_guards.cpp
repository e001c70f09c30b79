// capture/session/filtered_guards.cpp: asks the user's filter, and does as it says.
#include "capture/session/filtered_guards.h"

#include "capture/engine/atomic_capture.h"
#include "capture/session/plain_scope.h"

namespace stator {
namespace {

void add_constants(Argument& argument, std::vector<Argument*>& all) {
  if (argument.kind == Argument::Kind::constant) all.push_back(&argument);
  for (const auto& child : argument.children) add_constants(*child, all);
}

bool add_row(PyObject* rows, const char* kind, const std::string& source, PyObject* key, PyObject* value,
             PyObject* subject) {
  const auto or_none = [](PyObject* object) { return object != nullptr ? object : Py_None; };
  const auto row =
      Ref<>::steal(Py_BuildValue("(ssOOOO)", kind, source.c_str(), or_none(key),
                                 value != nullptr ? Py_True : Py_False, or_none(value), or_none(subject)));
  return row && PyList_Append(rows, row.get()) == 0;
}

}  // namespace

bool filter_guards(PyObject* filter, std::vector<std::unique_ptr<Argument>>& arguments, GuardSet& guards) {
  if (filter == Py_None) return true;
  std::vector<Argument*> constants;
  for (const auto& argument : arguments) add_constants(*argument, constants);
  const std::vector<GuardPart> parts = guards.parts();
  const auto rows = Ref<>::steal(PyList_New(0));
  if (!rows) return false;
  for (const Argument* each : constants) {
    if (!add_row(rows.get(), "argument", each->name(), nullptr, each->expected.object, nullptr)) return false;
  }
  for (const GuardPart& each : parts) {
    if (!add_row(rows.get(), each.kind, each.source, each.key, each.value, each.subject)) return false;
  }
  Ref<> answers;
  {
    const PlainScope plain;
    const AtomicScope undone(false);
    answers = Ref<>::steal(PyObject_CallOneArg(filter, rows.get()));
  }
  if (!answers) return false;
  const auto counts = [&](size_t row) {
    return PyObject_IsTrue(PyList_GET_ITEM(answers.get(), static_cast<Py_ssize_t>(row)));
  };
  if (!PyList_Check(answers.get()) || PyList_GET_SIZE(answers.get()) != PyList_GET_SIZE(rows.get())) {
    PyErr_SetString(PyExc_RuntimeError, "stator: a filter of guards gives a list with an answer for each");
    return false;
  }
  std::vector<GuardPart> left_out;
  for (size_t i = 0; i < parts.size(); i++) {
    const int answer = counts(constants.size() + i);
    if (answer < 0) return false;
    if (answer == 0) left_out.push_back(parts[i]);
  }
  for (size_t i = 0; i < constants.size(); i++) {
    const int answer = counts(i);
    if (answer < 0) return false;
    if (answer != 0) continue;
    if (constants[i]->expected.object != nullptr) guards.keep(constants[i]->expected.object);
    constants[i]->kind = Argument::Kind::unread;
    constants[i]->not_none = false;
  }
  if (!left_out.empty()) guards.leave_out(left_out);
  return true;
}

}  // namespace stator
