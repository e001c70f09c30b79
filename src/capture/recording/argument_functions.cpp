// capture/recording/argument_functions.cpp: functions and bound methods among the arguments.
#include "capture/recording/argument_functions.h"

#include "capture/guards/function_parts.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"

namespace stator {

// What stands for a part that is read at once. Null: stopped, or an error is set.
static Ref<> read_part(Recording& recording, Argument& argument, ArgumentStep::Kind step, Py_ssize_t index,
                       PyObject* real) {
  argument.children.push_back(std::make_unique<Argument>(&argument, ArgumentStep{step, index, {}}, real));
  Argument& part = *argument.children.back();
  return stand_for(recording, part) ? part.stands : Ref<>();
}

Ref<> stand_for_function(Recording& recording, Argument& argument) {
  PyObject* const value = argument.real;
  argument.deep = true;
  const auto* function = reinterpret_cast<PyFunctionObject*>(value);
  argument.kept = Ref<>::share(function->func_code);
  argument.expected.object = function->func_globals;
  Ref<> copy = Ref<>::steal(
      PyFunction_NewWithQualName(function->func_code, function->func_globals, function->func_qualname));
  PyObject* const cells = function->func_closure;
  for (Py_ssize_t i = 0; copy && cells != nullptr && i < PyTuple_GET_SIZE(cells); i++) {
    if (!require_no_frame_cell(recording, PyTuple_GET_ITEM(cells, i))) return {};
  }
  if (!copy) return {};
  std::vector<Ref<>> parts;
  const bool described = each_part(value, [&](PyObject* part) {
    parts.push_back(read_part(recording, argument, ArgumentStep::Kind::part,
                              static_cast<Py_ssize_t>(parts.size()), part));
    return static_cast<bool>(parts.back());
  });
  if (!described) return {};
  auto next = parts.begin();
  const auto set = [&](PyObject* from, int (*setter)(PyObject*, PyObject*), auto&& wrapped) {
    if (from == nullptr) return true;
    const Py_ssize_t count = PyTuple_GET_SIZE(from);
    const auto tuple = Ref<>::steal(PyTuple_New(count));
    for (Py_ssize_t i = 0; tuple && i < count; i++) {
      PyObject* item = wrapped(next++->release());
      if (item == nullptr) return false;
      PyTuple_SET_ITEM(tuple.get(), i, item);
    }
    return tuple && setter(copy.get(), tuple.get()) == 0;
  };
  if (!set(function->func_defaults, PyFunction_SetDefaults, [](PyObject* part) { return part; })) return {};
  if (function->func_kwdefaults != nullptr) {
    const auto dict = Ref<>::steal(PyDict_New());
    PyObject *name, *item;
    Py_ssize_t position = 0;
    argument.keys = keyword_names(value);
    while (dict && PyDict_Next(function->func_kwdefaults, &position, &name, &item)) {
      if (PyDict_SetItem(dict.get(), name, next++->get()) < 0) return {};
    }
    if (!dict || PyFunction_SetKwDefaults(copy.get(), dict.get()) < 0) return {};
  }
  const auto in_cell = [](PyObject* part) {
    const Ref<> owned = Ref<>::steal(part);
    return PyCell_New(part);
  };
  if (!set(function->func_closure, PyFunction_SetClosure, in_cell)) return {};
  for (PyObject* dict : {function->func_globals, function->func_builtins})
    pin(recording, dict,
        {Origin::root, nullptr,
         Ref<>::steal(
             PyUnicode_FromFormat("%s.%s", argument.name().c_str(),
                                  dict == function->func_globals ? "__globals__" : "__builtins__"))});
  make_given_function(recording, copy.get(), value);
  return copy;
}

Ref<> stand_for_method(Recording& recording, Argument& argument) {
  PyObject* const value = argument.real;
  const Ref<> function =
      read_part(recording, argument, ArgumentStep::Kind::function, 0, PyMethod_GET_FUNCTION(value));
  if (!function) return {};
  const Ref<> self = read_part(recording, argument, ArgumentStep::Kind::self, 0, PyMethod_GET_SELF(value));
  return Ref<>::steal(self ? PyMethod_New(function.get(), self.get()) : nullptr);
}

}  // namespace stator
