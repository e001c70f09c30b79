// capture/program/rebuild_functions.cpp: functions, their variables and partials that were made in a capture
// and outlive it. What they do when they are called later is no part of the capture: they run as they are.
#include <array>
#include <cstddef>

#include "capture/program/rebuild.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"

namespace stator {
namespace {

// What a function holds beside its code and globals, and its attributes. Annotations may be a tuple that
// nobody has asked for yet.
constexpr std::array kMembers = {
    offsetof(PyFunctionObject, func_closure),    offsetof(PyFunctionObject, func_defaults),
    offsetof(PyFunctionObject, func_kwdefaults), offsetof(PyFunctionObject, func_annotations),
    offsetof(PyFunctionObject, func_doc),        offsetof(PyFunctionObject, func_name),
    offsetof(PyFunctionObject, func_qualname),   offsetof(PyFunctionObject, func_module)};

PyObject*& member(PyObject* function, size_t offset) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(function) + offset);
}

bool has_type_parameters(PyObject* function) {
  const auto parameters = Ref<>::steal(PyObject_GetAttrString(function, "__type_params__"));
  PyErr_Clear();  // there are none before 3.12
  return parameters && PyObject_Length(parameters.get()) > 0;
}

}  // namespace

bool Rebuild::is_partial(const PyTypeObject* type) {
  return std::string_view(type->tp_name) == "functools.partial";
}

// A variable that functions share. One that existed before is pinned, and is not described.
bool Rebuild::add_cell(size_t step, PyObject* cell, Capture& capture) {
  steps_[step].kind = Kind::cell;
  filled_.push_back(step);
  if (PyCell_GET(cell) == nullptr) return true;
  const size_t content = add(PyCell_GET(cell), capture);
  if (content != kStopped) steps_[step].parts.push_back(content);
  return content != kStopped;
}

bool Rebuild::add_function(size_t step, PyObject* function, Capture& capture) {
  PyObject* globals = PyFunction_GET_GLOBALS(function);
  if (!is_fresh(capture.recording, function) || !is_pinned(capture.recording, globals) ||
      has_type_parameters(function))
    return stop(capture.recording, BreakCode::kUnguardable, "a result of type function");
  steps_[step].kind = Kind::function;
  steps_[step].object = Ref<>::share(PyFunction_GET_CODE(function));
  steps_[step].pinned = globals;
  filled_.push_back(step);
  for (const size_t offset : kMembers) {
    PyObject* value = member(function, offset);
    if (value == nullptr) continue;
    const size_t content = add(value, capture);
    if (content == kStopped) return false;
    steps_[step].members.emplace_back(offset, content);
  }
  return add_attributes(step, function, capture);
}

bool Rebuild::add_partial(size_t step, PyObject* partial, Capture& capture) {
  steps_[step].kind = Kind::partial;
  steps_[step].object = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(partial)));
  filled_.push_back(step);
  const auto part = [&](PyObject* value) {
    const size_t index = value != nullptr ? add(value, capture) : kStopped;
    if (index != kStopped) steps_[step].parts.push_back(index);
    return index != kStopped;
  };
  const auto keywords = Ref<>::steal(PyObject_GetAttrString(partial, "keywords"));
  for (const char* name : {"func", "args"}) {
    if (!part(Ref<>::steal(PyObject_GetAttrString(partial, name)).get())) return false;
  }
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (keywords && PyDict_Next(keywords.get(), &position, &key, &value)) {
    if (!part(key) || !part(value)) return false;
  }
  return keywords && add_attributes(step, partial, capture);
}

// `list[int]`, `int | None`: they stand where functions are made. The parts of a union are its classes, those
// of an alias the class and what it is subscripted with.
bool Rebuild::add_annotation(size_t step, PyObject* value, Capture& capture) {
  const bool is_alias = Py_IS_TYPE(value, &Py_GenericAliasType);
  steps_[step].kind = is_alias ? Kind::alias : Kind::union_of;
  const auto part = [&](PyObject* of) {
    const size_t index = add(of, capture);
    if (index != kStopped) steps_[step].parts.push_back(index);
    return index != kStopped;
  };
  const auto arguments = Ref<>::steal(PyObject_GetAttrString(value, "__args__"));
  if (!arguments) return false;
  if (is_alias) {
    const auto origin = Ref<>::steal(PyObject_GetAttrString(value, "__origin__"));
    const auto unpacked = Ref<>::steal(PyObject_GetAttrString(value, "__unpacked__"));
    if (!origin || unpacked.get() != Py_False)
      return stop(capture.recording, BreakCode::kUnguardable, "a result of type types.GenericAlias");
    if (!part(origin.get()) || !part(arguments.get())) return false;
  } else {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.get()); i++) {
      if (!part(PyTuple_GET_ITEM(arguments.get(), i))) return false;
    }
  }
  whole_.push_back(step);
  return true;
}

Ref<> Rebuild::make_annotation(const Step& step, const std::vector<Ref<>>& values) {
  const auto value = [&](size_t part) { return values[step.parts[part]].get(); };
  if (step.kind == Kind::alias) return Ref<>::steal(Py_GenericAlias(value(0), value(1)));
  Ref<> made = Ref<>::share(value(0));
  for (size_t i = 1; made && i < step.parts.size(); i++)
    made = Ref<>::steal(PyNumber_Or(made.get(), value(i)));
  return made;
}

Ref<> Rebuild::make_function(const Step& step) {
  return Ref<>::steal(PyFunction_New(step.object.get(), step.pinned));
}

// A partial of anything, until it is filled.
Ref<> Rebuild::make_partial(const Step& step) {
  return Ref<>::steal(PyObject_CallOneArg(step.object.get(), step.object.get()));
}

void Rebuild::fill_function(const Step& step, PyObject* function, const std::vector<Ref<>>& values) {
  for (const auto& [offset, content] : step.members) {
    PyObject* old = member(function, offset);
    member(function, offset) = Py_NewRef(values[content].get());
    Py_XDECREF(old);
  }
}

bool Rebuild::fill_partial(const Step& step, PyObject* partial, const std::vector<Ref<>>& values) {
  auto keywords = Ref<>::steal(PyDict_New());
  for (size_t i = 2; keywords && i < step.parts.size(); i += 2) {
    if (PyDict_SetItem(keywords.get(), values[step.parts[i]].get(), values[step.parts[i + 1]].get()) < 0)
      return false;
  }
  if (!keywords) return false;
  return static_cast<bool>(
      Ref<>::steal(PyObject_CallMethod(partial, "__setstate__", "((OOOO))", values[step.parts[0]].get(),
                                       values[step.parts[1]].get(), keywords.get(), Py_None)));
}

}  // namespace stator
