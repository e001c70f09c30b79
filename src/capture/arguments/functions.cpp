// capture/arguments/functions.cpp: functions and bound methods among the arguments, which programs
// make anew for every call.
#include "capture/recording/functions.h"

#include "capture/arguments/spec.h"
#include "capture/objects/function_parts.h"
#include "capture/recording/known_objects.h"

namespace stator {

// A function of the same code whose defaults and cells hold what stands for those of the given one.
Ref<> ArgumentSpec::copy_function(PyObject* value, ArgumentsInCapture& in) {
  kind_ = Kind::function;
  const auto* function = reinterpret_cast<PyFunctionObject*>(value);
  kept_ = Ref<>::share(function->func_code);
  expected_.object = function->func_globals;
  Ref<> copy = Ref<>::steal(
      PyFunction_NewWithQualName(function->func_code, function->func_globals, function->func_qualname));
  PyObject* const cells = function->func_closure;
  for (Py_ssize_t i = 0; copy && cells != nullptr && i < PyTuple_GET_SIZE(cells); i++) {
    if (!is_no_frame_cell(in.recording, PyTuple_GET_ITEM(cells, i))) return {};
  }
  if (!copy) return {};
  std::vector<Ref<>> parts;
  const bool described = each_part(value, [&](PyObject* part) {
    parts.push_back(describe_child(part, ".part" + std::to_string(parts.size()), true, in));
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
    keys_ = keyword_names(value);
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
    pin(in.recording, dict,
        {Origin::root, nullptr,
         Ref<>::steal(PyUnicode_FromFormat(
             "%s.%s", name_.c_str(), dict == function->func_globals ? "__globals__" : "__builtins__"))});
  make_given_function(in.recording, copy.get(), value);
  return copy;
}

Ref<> ArgumentSpec::copy_method(PyObject* value, bool whole, ArgumentsInCapture& in) {
  kind_ = Kind::method;
  const Ref<> function = describe_child(PyMethod_GET_FUNCTION(value), ".__func__", whole, in);
  if (!function) return {};
  const Ref<> self = describe_child(PyMethod_GET_SELF(value), ".__self__", whole, in);
  return Ref<>::steal(self ? PyMethod_New(function.get(), self.get()) : nullptr);
}

// The same code over parts in the same places.
bool ArgumentSpec::is_alike(PyObject* value) const {
  const auto* function = reinterpret_cast<PyFunctionObject*>(value);
  if (function->func_code != kept_.get() || function->func_globals != expected_.object ||
      !is_plain_function(value) || !has_keyword_names(value, keys_))
    return false;
  size_t parts = 0;
  each_part(value, [&](PyObject*) { return ++parts != 0; });
  return parts == children_.size();
}

}  // namespace stator
