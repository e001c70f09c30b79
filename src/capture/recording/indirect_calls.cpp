// capture/recording/indirect_calls.cpp: calls of C objects that lead to other calls: partial, lru_cache,
// itemgetter and the like; and what C code reads in one go: a reduced object, a matched class.
#include <algorithm>
#include <cmath>

#include "capture/cpython/exported.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/referents.h"
#include "capture/recording/module_attribute.h"
#include "capture/recording/paused_capture.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/recording.h"

namespace stator {

Recording::Recording(const Domain& domain, DomainCapture& capture, GuardSet& guards, UserStack& stack)
    : domain_(domain), capture_(capture), guards_(guards), stack_(stack) {
  guards_.follow(&stack, stack.lines());
}
Recording::~Recording() {
  guards_.follow(nullptr, stack_.lines());
  locks_.release_all();
}

void Recording::end_pause() { pause_.reset(); }

namespace {

Ref<> text(const char* name) { return Ref<>::steal(PyUnicode_InternFromString(name)); }

}  // namespace

bool Recording::before_partial(PyObject* partial, PyObject* const* arguments, Py_ssize_t count) {
  if (!is_known(partial)) return stop(BreakCode::kUnguardable, "a partial of unknown origin is called");
  auto inner = Ref<>::steal(PyObject_GetAttrString(partial, "func"));
  auto given = Ref<>::steal(PyObject_GetAttrString(partial, "args"));
  auto named = Ref<>::steal(PyObject_GetAttrString(partial, "keywords"));
  if (!inner || !given || !named) return false;
  if (is_pinned(partial)) {
    for (const char* name : {"func", "args", "keywords"}) {
      if (!read_member(partial, name)) return stop(BreakCode::kUnknownFunction, "a partial of another make");
    }
  }
  if (!read_contents(given.get()) || !(is_fresh(partial) || read_contents(named.get()))) return false;
  std::vector<PyObject*> all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.get()); i++)
    all.push_back(PyTuple_GET_ITEM(given.get(), i));
  all.insert(all.end(), arguments, arguments + count);
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(named.get(), &position, &key, &value)) all.push_back(value);
  keywords_ += PyDict_GET_SIZE(named.get());
  return before_call_with(inner.get(), all.data(), static_cast<Py_ssize_t>(all.size()));
}

// Made in the run, or a copy that stands for an argument: nobody may keep it. A symbol means nothing later.
bool Recording::is_of_this_call(PyObject* object) const {
  if (domain_.is_immutable(object)) return domain_.is_symbolic(object);
  if (PyFrozenSet_CheckExact(object)) {
    const Ref<> items = Ref<>::steal(PySequence_Tuple(object));
    if (!items) PyErr_Clear();
    return !items || is_of_this_call(items.get());
  }
  if (!PyTuple_CheckExact(object)) return reads_freely(object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
    if (is_of_this_call(PyTuple_GET_ITEM(object, i))) return true;
  }
  return false;
}

// A cached function is executed, not captured: what it gives later is what the cache holds, which is guarded.
bool Recording::before_cached_call(PyObject* cache, PyObject* const* arguments, Py_ssize_t count) {
  if (!is_known(cache)) return stop(BreakCode::kUnguardable, "a cached function of unknown origin is called");
  if (is_fresh(cache)) return stop(BreakCode::kUnknownFunction, "a cached function that was made here");
  PyObject* results = cpython::dict_of_cache(cache);
  if (results == nullptr) return stop(BreakCode::kUnknownFunction, "a cached function without a cache");
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* argument = arguments[i];
    if (domain_.is_symbolic(argument)) return stop(BreakCode::kSymbolicNumber, "a cached function keeps it");
    if (domain_.is_tensor(argument) || is_of_this_call(argument) || !is_known(argument)) {
      return stop(BreakCode::kUnguardable, std::string("a cached function is called with a ") +
                                               Py_TYPE(argument)->tp_name + " of this call");
    }
  }
  pin(results, {Origin::attribute, cache, text("cache")});
  if (count == 1 && (PyUnicode_CheckExact(arguments[0]) || PyLong_CheckExact(arguments[0]))) {
    cached_.key = Ref<>::share(arguments[0]);
  } else {
    cached_.key = Ref<>::steal(PyTuple_New(count));
    if (!cached_.key) return false;
    for (Py_ssize_t i = 0; i < count; i++) PyTuple_SET_ITEM(cached_.key.get(), i, Py_NewRef(arguments[i]));
  }
  cached_.results = results;
  pending_.back().kind = Pending::cached;
  pause_ = std::make_unique<PausedCapture>(capture_);
  return true;
}

bool Recording::note_cached_result(PyObject* result) {
  PyObject* results = cached_.results;
  const bool found =
      is_plain_key(cached_.key.get()) && PyDict_GetItemWithError(results, cached_.key.get()) != nullptr;
  if (PyErr_Occurred()) PyErr_Clear();
  // Keywords and types of arguments are part of the key in ways of the cache's own: then all of it counts.
  if (!(found ? read_dict_item(results, cached_.key.get()) : read_dict(results))) return false;
  pin(result, {Origin::item, results, std::move(cached_.key)});
  return true;
}

bool Recording::before_getter(PyObject* getter, PyObject* const* arguments, Py_ssize_t count) {
  if (!is_known(getter) || count != 1)
    return stop(BreakCode::kUnguardable, "a getter of unknown origin is called");
  if (is_pinned(getter)) guards_.keep(getter);  // what it wants is part of it
  auto reduced = Ref<>::steal(PyObject_CallMethod(getter, "__reduce__", nullptr));
  if (!reduced) return false;
  PyObject* wanted = PyTuple_GET_ITEM(reduced.get(), 1);
  const std::string_view kind = Py_TYPE(getter)->tp_name;
  if (kind == "operator.methodcaller") {
    PyObject* name = PyTuple_GET_SIZE(wanted) > 0 ? PyTuple_GET_ITEM(wanted, 0) : nullptr;
    if (name == nullptr || !PyUnicode_Check(name))
      return stop(BreakCode::kUnknownFunction, "a methodcaller with keywords");
    if (!read_attribute(arguments[0], name)) return false;
    auto method = Ref<>::steal(PyObject_GetAttr(arguments[0], name));
    if (!method) return false;
    std::vector<PyObject*> rest;
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(wanted); i++) rest.push_back(PyTuple_GET_ITEM(wanted, i));
    return before_call_with(method.get(), rest.data(), static_cast<Py_ssize_t>(rest.size()));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(wanted); i++) {
    PyObject* item = PyTuple_GET_ITEM(wanted, i);
    if (kind == "operator.itemgetter") {
      if (!read_subscript(arguments[0], item)) return false;
      continue;
    }
    if (PyUnicode_FindChar(item, '.', 0, PyUnicode_GET_LENGTH(item), 1) >= 0)
      return stop(BreakCode::kUnknownFunction, "an attrgetter of a path");
    if (!read_attribute(arguments[0], item)) return false;
  }
  return true;
}

bool Recording::before_subscript(PyObject* container, PyObject* key) {
  // A default dictionary makes what it misses, and keeps it.
  if (is_default_dict(container)) {
    PyObject* found = look_up(container, key);
    if (found == nullptr && PyErr_Occurred()) return false;
    if (found == nullptr) {
      expect_result(Pending::made);
      if (is_fresh(container)) return read_contents(container);
      // That it is missing, and what makes it, is relied on.
      return is_writable(container) && read_attribute(container, text("default_factory").get()) &&
             read_dict_item(container, key) && before_key_write(container, key);
    }
  }
  expect_result();
  if (PyList_CheckExact(container)) return read_list_item(container, key);
  return read_subscript(container, key);
}

bool Recording::before_match(PyObject* subject, PyObject* type, PyObject* names, int count) {
  if (!PyType_Check(type)) return true;  // raises
  expect_result();
  if (!read_contents(type) || !read_behaviour(subject)) return false;
  if (PyObject_IsInstance(subject, type) != 1) {
    PyErr_Clear();
    return true;
  }
  if (count > 0) {
    const Ref<> match_args = text("__match_args__");
    if (!read_attribute(type, match_args.get())) return false;
    auto order = Ref<>::steal(PyObject_GetAttr(type, match_args.get()));
    if (!order) PyErr_Clear();  // the subject itself is matched
    for (Py_ssize_t i = 0; order && PyTuple_CheckExact(order.get()) && i < count; i++) {
      if (i >= PyTuple_GET_SIZE(order.get())) break;
      PyObject* name = PyTuple_GET_ITEM(order.get(), i);
      if (!PyUnicode_Check(name) || !read_attribute(subject, name)) return stop_.happened() ? false : true;
    }
  }
  for (Py_ssize_t i = 0; PyTuple_CheckExact(names) && i < PyTuple_GET_SIZE(names); i++) {
    if (!read_attribute(subject, PyTuple_GET_ITEM(names, i))) return false;
  }
  return true;
}

// Classes can be registered with an abstract base class at any time; there is one count of that for all of
// them.
bool Recording::read_registry() {
  static PyObject* const counter = module_attribute("_abc", "get_cache_token").release();
  if (counter == nullptr) return stop(BreakCode::kUnguardable, "abstract base classes");
  return read_setting(counter);
}

bool Recording::read_setting(PyObject* function) {
  if (!guards_.once(function)) return true;
  auto answer = Ref<>::steal(PyObject_CallNoArgs(function));
  if (!answer) return false;
  if (!is_plain_key(answer.get())) return stop(BreakCode::kUnknownFunction, text_of_call(function));
  guards_.add(AnswerGuard{Ref<>::share(function), std::move(answer)}, function);
  return true;
}

bool Recording::before_context_read(PyObject* variable) {
  if (is_fresh(variable)) return true;  // nobody has set it
  if (!is_pinned(variable)) return stop(BreakCode::kUnguardable, "a context variable of unknown origin");
  const Ref<> value = read_context_variable(variable);
  if (value) pin(value.get(), {Origin::attribute, variable, text("get()")});
  // The variable's own address may stand for another guard on it.
  if (guards_.once(&variable->ob_type))
    guards_.add(ContextVariableGuard{variable, expect(value.get())}, variable);
  return true;
}

// A NumPy function of numbers, such as numpy.sqrt(64). With arrays it may do anything.
bool Recording::before_number_function(PyObject* function, PyObject* const* arguments, Py_ssize_t count) {
  const auto is_number = [&](PyObject* object) {
    if (PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object)) return true;
    return PyFloat_Check(object) && is_fresh(object);  // what another such function gave
  };
  if (keywords_ != 0 || !std::all_of(arguments, arguments + count, is_number))
    return stop(BreakCode::kUnknownFunction, text_of_call(function));
  // Where the result is no number, NumPy asks its settings whether to warn or to raise.
  const auto result =
      Ref<>::steal(PyObject_Vectorcall(function, arguments, static_cast<size_t>(count), nullptr));
  if (!result) PyErr_Clear();
  const double value = result ? PyFloat_AsDouble(result.get()) : NAN;
  if (PyErr_Occurred() || !std::isfinite(value)) {
    PyErr_Clear();
    return stop(BreakCode::kUnknownFunction, text_of_call(function));
  }
  return true;
}

// What object.__reduce_ex__ shows of an instance: its class and its dictionary.
bool Recording::read_reduced(PyObject* object) {
  const Ref<> state = text("__getstate__");
  PyObject* own = _PyType_Lookup(Py_TYPE(object), state.get());
  if (own != nullptr && PyFunction_Check(own))
    return read_attribute(object, state.get());  // Python code, captured as it runs
  if (Py_IS_TYPE(object, &PySet_Type))
    return is_fresh(object) || read_contents(object);  // its items, in a list
  if (PyODict_CheckExact(object)) {
    // Its class, and an iterator over its items.
    PyObject** own_dict = _PyObject_GetDictPtr(object);
    if (own_dict != nullptr && *own_dict != nullptr && PyDict_GET_SIZE(*own_dict) != 0)
      return stop(BreakCode::kUnknownFunction, "__reduce_ex__ of an OrderedDict with attributes");
    return is_fresh(object) || read_contents(object);
  }
  if (Py_TYPE(object)->tp_itemsize != 0 || PyList_Check(object) || PyDict_Check(object) ||
      !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    return stop(BreakCode::kUnknownFunction, std::string("__reduce_ex__ of a ") + Py_TYPE(object)->tp_name);
  }
  if (!read_object(object)) return false;
  PyObject** slot = _PyObject_GetDictPtr(object);
  if (slot == nullptr || *slot == nullptr || is_fresh(object))
    return slot != nullptr ? (make_fresh(*slot), true)
                           : stop(BreakCode::kUnknownFunction, "__reduce_ex__ of an object with slots");
  static PyObject* const maker = module_attribute("copyreg", "__newobj__").release();
  if (maker == nullptr) return stop(BreakCode::kUnknownFunction, "__reduce_ex__");
  pin(maker, {Origin::root, nullptr, text("copyreg.__newobj__")});
  return read_dict(*slot);
}

}  // namespace stator
