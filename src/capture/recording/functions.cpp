// capture/recording/functions.cpp: Python functions that a capture enters: where they come from, and what
// must stay.
#include "capture/recording/functions.h"

#include <utility>

#include "capture/cpython/exported.h"
#include "capture/cpython/type_dict.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/class_calls.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/imports.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/unread_holders.h"

namespace stator {

// Whether a class of the type's order of resolution holds the object, under a name that may not be its own:
// `__pow__ = wrapped(pow)`.
static bool is_defined_by(PyTypeObject* type, PyObject* object) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (!(base->tp_flags & Py_TPFLAGS_HEAPTYPE)) continue;
    const Ref<> dict = cpython::type_dict(base);
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict.get(), &position, &key, &value)) {
      if (value == object && PyUnicode_Check(key) && _PyType_Lookup(type, key) == object) return true;
    }
  }
  return false;
}

// A special method that C code found on the class of its first argument (or on that argument, a class) is as
// good as the class.
static bool pin_method(Recording& recording, PyFunctionObject* function, PyObject* first_argument) {
  if (first_argument == nullptr) return false;
  auto* object = reinterpret_cast<PyObject*>(function);
  for (PyObject* holder : {reinterpret_cast<PyObject*>(Py_TYPE(first_argument)), first_argument}) {
    if (!PyType_Check(holder)) continue;
    auto* type = reinterpret_cast<PyTypeObject*>(holder);
    auto found = Ref<>::share(_PyType_Lookup(type, function->func_name));
    if (found &&
        (Py_IS_TYPE(found.get(), &PyClassMethod_Type) || Py_IS_TYPE(found.get(), &PyStaticMethod_Type))) {
      found = Ref<>::steal(PyObject_GetAttrString(found.get(), "__func__"));
    }
    if (found.get() != object && !is_defined_by(type, object)) continue;
    if (!read_type(recording, type)) return false;
    pin(recording, object, {Origin::attribute, holder, Ref<>::share(function->func_name)});
    return true;
  }
  return false;
}

// C code that calls a Python function without having been given it has it from its module.
static bool pin_module_function(Recording& recording, PyFunctionObject* function) {
  PyObject* modules = PyImport_GetModuleDict();
  PyObject* name = function->func_module;
  if (name == nullptr || !PyUnicode_CheckExact(name)) return false;
  PyObject* module = PyDict_GetItemWithError(modules, name);
  if (module == nullptr || !PyModule_Check(module)) return false;
  PyObject* dict = PyModule_GetDict(module);
  auto* object = reinterpret_cast<PyObject*>(function);
  if (dict != function->func_globals || PyDict_GetItemWithError(dict, function->func_name) != object)
    return false;
  pin(recording, modules, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString("sys.modules"))});
  if (!read_dict_item(recording, modules, name)) return false;
  pin(recording, dict, {Origin::dict_of, module, {}});
  return read_dict_item(recording, dict, function->func_name);
}

void bound(Recording& recording, cpython::Frame* frame) {
  const PyCodeObject* code = frame->code;
  if (recording.domain.answers_for_operators(code)) {
    for (int i = 0; i < code->co_argcount; i++) {
      PyObject* given = frame->localsplus[i];
      if (given != nullptr && PyDict_CheckExact(given) && !is_known(recording, given))
        make_fresh(recording, given);
    }
  }
  note_bound_holders(recording, frame);
  const bool has_others = code->co_flags & CO_VARARGS;
  const int index = code->co_argcount + code->co_kwonlyargcount + (has_others ? 1 : 0);
  if (PyObject* others = has_others ? frame->localsplus[index - 1] : nullptr;
      others != nullptr && !is_pinned(recording, others) && !is_of_call(recording, others))
    make_fresh(recording, others);
  if (!(code->co_flags & CO_VARKEYWORDS)) return;
  if (PyObject* keywords = frame->localsplus[index]) make_fresh(recording, keywords);
}

void know_by_structure(Recording& recording, PyFunctionObject* function) {
  recording.known.proven_function = function;
  PyObject* closure = function->func_closure;
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); i++)
    recording.known.proven_cells.insert(PyTuple_GET_ITEM(closure, i));
}

void make_given_function(Recording& recording, PyObject* function, PyObject* real) {
  make_given(recording, function);
  recording.given_functions.emplace(function, real);
  PyObject* closure = PyFunction_GET_CLOSURE(function);
  for (Py_ssize_t i = 0; closure != nullptr && i < PyTuple_GET_SIZE(closure); i++)
    recording.given_functions.emplace(PyTuple_GET_ITEM(closure, i), real);
}

bool require_no_stand_in(Recording& recording, PyObject* object) {
  if (recording.given_functions.empty()) return true;
  const auto found = recording.given_functions.find(object);
  if (found == recording.given_functions.end()) return true;
  recording.wanted_by_identity.insert(found->second);
  return stop(recording, BreakCode::kUnguardable,
              "a function among the arguments is more than something to call");
}

bool require_no_frame_cell(Recording& recording, PyObject* cell) {
  return recording.known.frame_cells.count(cell) == 0 ||
         stop(recording, BreakCode::kUnguardable, "a function that shares a variable with this one");
}

// Cells of a function that is known by what it is made of are others in the next call.
bool before_keeping(Recording& recording, PyObject* object) {
  if (recording.known.proven_cells.count(object) != 0)
    return stop(recording, BreakCode::kUnguardable, "a variable of the function that made this one is kept");
  return require_no_stand_in(recording, object);
}

// Objects of the run have no source.
static PyObject* owner_of(const Recording& recording, const cpython::Frame* frame) {
  if (!recording.stack.source_of || frame->code->co_argcount < 1 || !is_owned_code(frame->code))
    return nullptr;
  PyObject* first = frame->localsplus[0];
  if (first != nullptr && PyCell_Check(first)) first = PyCell_GET(first);
  return first != nullptr && is_pinned(recording, first) ? first : nullptr;
}

bool entering(Recording& recording, cpython::Frame* frame, PyObject* first_argument) {
  // Where this frame lies another one may have been left by an error, while it waited for a result.
  std::erase_if(recording.pending, [&](const PendingResult& result) { return result.frame == frame; });
  if (is_callback_code(frame->code)) return true;  // made here, around a callable that C code was given
  recording.stack.entered(frame, owner_of(recording, frame));
  recording.capture.entering(frame->code, frame->previous != nullptr ? frame->previous->code : nullptr);
  PyObject* function = reinterpret_cast<PyObject*>(frame->function);
  if (function == recording.given_new_object && first_argument != nullptr && PyType_Check(first_argument)) {
    recording.given_new_object = nullptr;  // a class method: the object comes after the class
    PyObject* second = frame->code->co_argcount > 1 ? frame->localsplus[1] : nullptr;
    if (second != nullptr && !is_known(recording, second)) make_fresh(recording, second);
  }
  return entering(recording, reinterpret_cast<PyFunctionObject*>(function), first_argument);
}

bool entering(Recording& recording, PyFunctionObject* function, PyObject* first_argument) {
  // The instance that a class called in this capture has just made.
  if (first_argument != nullptr && !is_known(recording, first_argument) &&
      PyUnicode_CompareWithASCIIString(function->func_name, "__init__") == 0) {
    PyTypeObject* type = Py_TYPE(first_argument);
    bool is_new = recording.known.constructed.count(type) != 0;
    // C code that was given the class (`map`, `sorted`, a defaultdict) calls it unseen. Nobody but that call
    // and the frame holds an instance that is new.
    constexpr Py_ssize_t kHolders = 2;
    if (!is_new && recording.classes.is_given_out(type) && Py_REFCNT(first_argument) == kHolders) {
      if (!before_class_call(recording, type, nullptr, 0)) return false;
      is_new = true;
    }
    if (is_new) make_fresh(recording, first_argument);
  }
  auto* object = reinterpret_cast<PyObject*>(function);
  if (object == recording.given_new_object) {
    recording.given_new_object = nullptr;
    if (first_argument != nullptr && !is_known(recording, first_argument))
      make_fresh(recording, first_argument);
  }
  if (recording.given_functions.count(object) != 0) return true;  // all it leads to is known
  const bool fresh = is_fresh(recording, object);
  if (!fresh && !is_pinned(recording, object) && !pin_method(recording, function, first_argument) &&
      !recording.stopped.happened() && !pin_module_function(recording, function)) {
    if (recording.stopped.happened()) return false;
    return stop(recording, BreakCode::kUnguardable,
                std::string("a function of unknown origin is called (") +
                    PyUnicode_AsUTF8(function->func_qualname) + ")");
  }
  if (fresh) {
    // Its globals are those of the function that made it, and its cells are known by themselves.
    return true;
  }
  if (!before_loading(recording, function, first_argument)) return false;
  if (recording.guards.has<FunctionGuard>(function)) return true;
  if (function == recording.known.proven_function) {
    if (std::exchange(recording.known.proven_entered, true)) return true;
  } else {
    recording.guards.add(FunctionGuard(function), object);
    for (PyObject* part : {function->func_code, function->func_defaults, function->func_closure}) {
      if (part != nullptr) hold(recording, part);
    }
  }
  pin(recording, function->func_globals,
      {Origin::attribute, object, Ref<>::steal(PyUnicode_FromString("__globals__"))});
  pin(recording, function->func_builtins,
      {Origin::attribute, object, Ref<>::steal(PyUnicode_FromString("__builtins__"))});
  if (function->func_defaults != nullptr) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(function->func_defaults); i++) {
      pin(recording, PyTuple_GET_ITEM(function->func_defaults, i),
          {Origin::attribute, object, Ref<>::steal(PyUnicode_FromFormat("__defaults__[%zd]", i))});
    }
  }
  if (function->func_kwdefaults != nullptr) {
    pin(recording, function->func_kwdefaults,
        {Origin::attribute, object, Ref<>::steal(PyUnicode_FromString("__kwdefaults__"))});
    if (function == recording.known.proven_function) {
      PyObject *key, *value;
      Py_ssize_t position = 0;
      while (PyDict_Next(function->func_kwdefaults, &position, &key, &value))
        pin(recording, value, {Origin::item, function->func_kwdefaults, Ref<>::share(key)});
    } else if (!read_dict(recording, function->func_kwdefaults, true)) {  // bound to the arguments by now
      return false;
    }
  }
  if (function->func_closure != nullptr) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(function->func_closure); i++) {
      pin(recording, PyTuple_GET_ITEM(function->func_closure, i),
          {Origin::cell_of, object, Ref<>::steal(PyLong_FromSsize_t(i))});
    }
  }
  return true;
}

}  // namespace stator
