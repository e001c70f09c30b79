// capture/recording/wrappers.cpp: callables that stand for a function, which is captured in their place.
#include "capture/recording/wrappers.h"

#include "capture/recording/attributes.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/single_dispatch.h"
#include "capture/recording/substitutes.h"

namespace stator {

// A partial of a wrapper (see below) is made anew around the function behind it.
static bool look_through_partial(Recording& recording, PyObject*& callable) {
  const Ref<> wrapper = Ref<>::steal(PyObject_GetAttrString(callable, "func"));
  if (!wrapper) return false;
  if (!PyFunction_Check(wrapper.get()) ||
      recording.domain.passes_on_to(reinterpret_cast<PyFunctionObject*>(wrapper.get())) == nullptr)
    return true;
  const auto part = [&](const char* name) {
    PyObject* found = is_pinned(recording, callable) ? Py_XNewRef(read_member(recording, callable, name))
                                                     : PyObject_GetAttrString(callable, name);
    return Ref<>::steal(found);
  };
  const Ref<> own = part("func"), given = part("args"), named = part("keywords");
  if (!own || !given || !named || !read_contents(recording, given.get()) ||
      !(is_fresh(recording, callable) || read_contents(recording, named.get())))
    return recording.stopped.happened()
               ? false
               : stop(recording, BreakCode::kUnknownFunction, "a partial of another make");
  PyObject* function = Ref<>(wrapper).release();
  const bool known = look_through(recording, function);
  const Ref<> behind = Ref<>::steal(function);
  if (!known) return false;
  const Ref<> first = Ref<>::steal(PyTuple_Pack(1, behind.get()));
  const Ref<> all = Ref<>::steal(first ? PySequence_Concat(first.get(), given.get()) : nullptr);
  Ref<> alike = Ref<>::steal(
      all ? PyObject_Call(reinterpret_cast<PyObject*>(Py_TYPE(callable)), all.get(), named.get()) : nullptr);
  if (!alike) return false;
  make_fresh(recording, alike.get());
  Py_SETREF(callable, alike.release());
  return true;
}

static void put_in_place(Recording& recording, PyObject*& callable, PyObject* function) {
  pin(recording, function, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("a substitute"))});
  Py_SETREF(callable, Py_NewRef(function));
}

void look_at_arguments(Recording& recording, PyObject*& callable, PyObject* const* arguments,
                       Py_ssize_t count) {
  PyObject* function = substitute_of_call(callable, arguments, count);
  if (function != nullptr) put_in_place(recording, callable, function);
}

// `dict[str, int]()` makes a dict. Instances of classes with attributes are told which alias made them.
static bool look_through_alias(Recording& recording, PyObject*& callable) {
  static PyObject* const name = PyUnicode_InternFromString("__origin__");
  if (!read_attribute(recording, callable, name)) return false;
  Ref<> origin = Ref<>::steal(PyObject_GetAttr(callable, name));
  if (!origin) return false;
  const auto* type = reinterpret_cast<PyTypeObject*>(origin.get());
  const bool is_bare =
      PyType_Check(origin.get()) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) == 0 && type->tp_dictoffset == 0;
  if (is_bare) Py_SETREF(callable, origin.release());
  return true;
}

// A wrapper that only passes its arguments on gives way to the function that it calls.
bool look_through(Recording& recording, PyObject*& callable) {
  if (PyObject* function = substitute_of(callable)) {
    put_in_place(recording, callable, function);
    return true;
  }
  if (Py_IS_TYPE(callable, &PyMethod_Type)) {
    if (Ref<> instead = recording.domain.called_instead(callable)) {
      Py_SETREF(callable, instead.release());
      return true;
    }
    const Ref<> wrapper = Ref<>::share(PyMethod_GET_FUNCTION(callable));
    PyObject* function = Ref<>(wrapper).release();
    const bool known = look_through(recording, function);
    const Ref<> behind = Ref<>::steal(function);
    if (!known || behind.get() == wrapper.get()) return known;
    PyObject* bound = PyMethod_New(behind.get(), PyMethod_GET_SELF(callable));
    if (bound == nullptr) return false;
    Py_SETREF(callable, bound);
    return true;
  }
  if (const char* attribute = recording.domain.python_form(callable)) {
    const auto name = Ref<>::steal(PyUnicode_InternFromString(attribute));
    if (!name || !read_attribute(recording, callable, name.get())) return false;
    PyObject* function = PyObject_GetAttr(callable, name.get());
    if (function == nullptr) return false;
    Py_SETREF(callable, function);
  }
  if (Py_IS_TYPE(callable, &Py_GenericAliasType) && is_known(recording, callable))
    return look_through_alias(recording, callable);
  if (std::string_view(Py_TYPE(callable)->tp_name) == "functools.partial" && is_known(recording, callable))
    return look_through_partial(recording, callable);
  if (!PyFunction_Check(callable)) return follow_call(recording, callable);
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callable));
  auto* wrapper = reinterpret_cast<PyFunctionObject*>(callable);
  if (recording.domain.keeps_from_capture(wrapper)) return stop(recording, BreakCode::kDisabled);
  const char* variable = recording.domain.passes_on_to(wrapper);
  if (variable == nullptr)
    return look_through_dispatch(recording, callable) && follow_call(recording, callable);
  if (!entering(recording, wrapper, nullptr)) return false;
  PyObject* closure = PyFunction_GET_CLOSURE(callable);
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  for (int i = 0; closure != nullptr && i < code->co_nfreevars; i++) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, first + i), variable) !=
        0)
      continue;
    PyObject* cell = PyTuple_GET_ITEM(closure, i);
    if (!read_cell(recording, cell, code, first + i)) return false;
    PyObject* function = PyCell_GET(cell);
    if (function == nullptr) return true;
    Py_SETREF(callable, Py_NewRef(function));
    return look_through(recording, callable);
  }
  return true;
}

}  // namespace stator
