// capture/recording/wrappers.cpp: callables that stand for a function, which is captured in their place.
#include "capture/recording/recording.h"

namespace stator {

// A partial of a wrapper (see below) is made anew around the function behind it.
bool Recording::look_through_partial(PyObject*& callable) {
  const Ref<> wrapper = Ref<>::steal(PyObject_GetAttrString(callable, "func"));
  if (!wrapper) return false;
  if (!PyFunction_Check(wrapper.get()) ||
      domain_.passes_on_to(reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(wrapper.get()))) == nullptr)
    return true;
  const auto part = [&](const char* name) {
    PyObject* found = is_pinned(callable) ? Py_XNewRef(read_member(callable, name))
                                          : PyObject_GetAttrString(callable, name);
    return Ref<>::steal(found);
  };
  const Ref<> own = part("func"), given = part("args"), named = part("keywords");
  if (!own || !given || !named || !read_contents(given.get()) ||
      !(is_fresh(callable) || read_contents(named.get())))
    return stop_.happened() ? false : stop(BreakCode::kUnknownFunction, "a partial of another make");
  PyObject* function = Ref<>(wrapper).release();
  const bool known = look_through(function);
  const Ref<> behind = Ref<>::steal(function);
  if (!known) return false;
  const Ref<> first = Ref<>::steal(PyTuple_Pack(1, behind.get()));
  const Ref<> all = Ref<>::steal(first ? PySequence_Concat(first.get(), given.get()) : nullptr);
  Ref<> alike = Ref<>::steal(
      all ? PyObject_Call(reinterpret_cast<PyObject*>(Py_TYPE(callable)), all.get(), named.get()) : nullptr);
  if (!alike) return false;
  make_fresh(alike.get());
  Py_SETREF(callable, alike.release());
  return true;
}

// A wrapper that only passes its arguments on gives way to the function that it calls.
bool Recording::look_through(PyObject*& callable) {
  if (Py_IS_TYPE(callable, &PyMethod_Type)) {
    const Ref<> wrapper = Ref<>::share(PyMethod_GET_FUNCTION(callable));
    PyObject* function = Ref<>(wrapper).release();
    const bool known = look_through(function);
    const Ref<> behind = Ref<>::steal(function);
    if (!known || behind.get() == wrapper.get()) return known;
    PyObject* bound = PyMethod_New(behind.get(), PyMethod_GET_SELF(callable));
    if (bound == nullptr) return false;
    Py_SETREF(callable, bound);
    return true;
  }
  if (const char* attribute = domain_.python_form(callable)) {
    const auto name = Ref<>::steal(PyUnicode_InternFromString(attribute));
    if (!name || !read_attribute(callable, name.get())) return false;
    PyObject* function = PyObject_GetAttr(callable, name.get());
    if (function == nullptr) return false;
    Py_SETREF(callable, function);
  }
  if (std::string_view(Py_TYPE(callable)->tp_name) == "functools.partial" && is_known(callable))
    return look_through_partial(callable);
  if (!PyFunction_Check(callable)) return follow_call(callable);
  auto* code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(callable));
  const char* variable = domain_.passes_on_to(code);
  if (variable == nullptr) return look_through_dispatch(callable) && follow_call(callable);
  if (!entering(reinterpret_cast<PyFunctionObject*>(callable), nullptr)) return false;
  PyObject* closure = PyFunction_GET_CLOSURE(callable);
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  for (int i = 0; closure != nullptr && i < code->co_nfreevars; i++) {
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, first + i), variable) !=
        0)
      continue;
    PyObject* cell = PyTuple_GET_ITEM(closure, i);
    if (!read_cell(cell, code, first + i)) return false;
    PyObject* function = PyCell_GET(cell);
    if (function != nullptr && PyFunction_Check(function)) Py_SETREF(callable, Py_NewRef(function));
  }
  return true;
}

}  // namespace stator
