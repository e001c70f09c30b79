// capture/objects/function.cpp: Python functions: compared and called, and made anew with their variables.
// What one does that is called later is no part of the capture: it runs eagerly. Those that a call brings:
// recording/argument_functions.h.
#include "capture/objects/function.h"

#include <array>
#include <cstddef>

#include "capture/cpython/interrupts.h"
#include "capture/program/description.h"
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
  drop_error();  // there are none before 3.12
  return parameters && PyObject_Length(parameters.get()) > 0;
}

bool read_nothing(Recording&, PyObject*) { return true; }

bool describe_function(Description& description, size_t step, PyObject* function) {
  PyObject* const globals = PyFunction_GET_GLOBALS(function);
  if (!is_fresh(description.recording, function) || !is_pinned(description.recording, globals) ||
      has_type_parameters(function))
    return description.refuse(function);
  // The globals are borrowed: the guards prove them.
  description.begin(step,
                    [code = Ref<>::share(PyFunction_GET_CODE(function)), globals](const Rebuild::Given&) {
                      return Ref<>::steal(PyFunction_New(code.get(), globals));
                    });
  std::vector<std::pair<size_t, size_t>> members;  // offsets, and the steps of what they hold
  for (const size_t offset : kMembers) {
    PyObject* value = member(function, offset);
    if (value == nullptr) continue;
    const size_t content = description.add(value);
    if (content == Description::kStopped) return false;
    members.emplace_back(offset, content);
  }
  description.fill(step, [members = std::move(members)](PyObject* made, const Description::Values& values) {
    for (const auto& [offset, content] : members) {
      PyObject* old = member(made, offset);
      member(made, offset) = Py_NewRef(values[content].get());
      Py_XDECREF(old);
    }
    return true;
  });
  return description.add_attributes(step, function);
}

}  // namespace

const ObjectKind FunctionKind::row = {.read = read_nothing, .describe = describe_function};

}  // namespace stator
