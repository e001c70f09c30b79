// capture/recording/indirect_calls.cpp: calls of C objects that lead to other calls: partial, lru_cache,
// itemgetter and the like; and what C code reads in one go: a reduced object, a matched class.
#include "capture/recording/indirect_calls.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/module_attribute.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/referents.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/attributes.h"
#include "capture/recording/calls.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/paused_capture.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"
#include "capture/recording/results.h"
#include "capture/recording/writes.h"

namespace stator {

namespace {

Ref<> text(const char* name) { return Ref<>::steal(PyUnicode_InternFromString(name)); }

}  // namespace

bool before_partial(Recording& recording, PyObject* partial, PyObject* const* arguments, Py_ssize_t count) {
  if (!is_known(recording, partial))
    return stop(recording, BreakCode::kUnguardable, "a partial of unknown origin is called");
  auto inner = Ref<>::steal(PyObject_GetAttrString(partial, "func"));
  auto given = Ref<>::steal(PyObject_GetAttrString(partial, "args"));
  auto named = Ref<>::steal(PyObject_GetAttrString(partial, "keywords"));
  if (!inner || !given || !named) return false;
  if (is_pinned(recording, partial)) {
    for (const char* name : {"func", "args", "keywords"}) {
      if (!read_member(recording, partial, name))
        return stop(recording, BreakCode::kUnknownFunction, "a partial of another make");
    }
  }
  if (!read_contents(recording, given.get()) ||
      !(is_fresh(recording, partial) || read_contents(recording, named.get())))
    return false;
  std::vector<PyObject*> all;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.get()); i++)
    all.push_back(PyTuple_GET_ITEM(given.get(), i));
  all.insert(all.end(), arguments, arguments + count);
  PyObject *key, *value;
  Py_ssize_t position = 0;
  while (PyDict_Next(named.get(), &position, &key, &value)) all.push_back(value);
  recording.slots = {};  // its arguments are others
  recording.keywords += PyDict_GET_SIZE(named.get());
  return before_call_with(recording, inner.get(), all.data(), static_cast<Py_ssize_t>(all.size()));
}

// Made in the run, or a copy that stands for an argument: nobody may keep it. A symbol means nothing later.
static bool is_of_this_call(const Recording& recording, PyObject* object) {
  if (recording.domain.is_immutable(object)) return recording.domain.is_symbolic(object);
  if (PyFrozenSet_CheckExact(object)) {
    const Ref<> items = Ref<>::steal(PySequence_Tuple(object));
    if (!items) drop_error();
    return !items || is_of_this_call(recording, items.get());
  }
  if (Py_IS_TYPE(object, &Py_GenericAliasType)) {  // `tuple[int]`: equal by what it is made of
    for (const char* part : {"__origin__", "__args__"}) {
      const auto value = Ref<>::steal(PyObject_GetAttrString(object, part));
      if (!value) drop_error();
      if (!value || is_of_this_call(recording, value.get())) return true;
    }
    return false;
  }
  if (!PyTuple_CheckExact(object)) return is_of_call(recording, object);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); i++) {
    if (is_of_this_call(recording, PyTuple_GET_ITEM(object, i))) return true;
  }
  return false;
}

namespace {

// The limit of a functools.lru_cache, which tells it by a function with a closure; nullopt if it cannot be
// known.
std::optional<Py_ssize_t> limit_of_cache(PyObject* cache) {
  const Ref<> told = Ref<>::steal(PyObject_GetAttrString(cache, "cache_parameters"));
  if (!told) drop_error();
  if (!told || !PyFunction_Check(told.get())) return std::nullopt;
  auto* const code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(told.get()));
  const Ref<> names = Ref<>::steal(PyCode_GetFreevars(code));
  PyObject* const cells = PyFunction_GET_CLOSURE(told.get());
  if (!names || cells == nullptr) return drop_error(), std::nullopt;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(cells) && i < PyTuple_GET_SIZE(names.get()); i++) {
    PyObject* const limit = PyCell_GET(PyTuple_GET_ITEM(cells, i));
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names.get(), i), "maxsize") != 0) continue;
    if (limit == Py_None) return PY_SSIZE_T_MAX;
    if (limit == nullptr || !PyLong_CheckExact(limit)) return std::nullopt;
    const Py_ssize_t number = PyLong_AsSsize_t(limit);
    return PyErr_Occurred() ? (drop_error(), PY_SSIZE_T_MAX) : number;
  }
  return std::nullopt;
}

// Calls that a capture answers do not make an entry the last used one: a small cache, which often has to
// choose what to forget, would forget another entry than in eager code.
bool often_forgets(PyObject* cache) {
  constexpr Py_ssize_t kSmall = 16;
  const auto limit = limit_of_cache(cache);
  return !limit || (*limit != 1 && *limit < kSmall);
}

}  // namespace

// A cached function is executed, not captured: what it gives later is what the cache holds, which is guarded.
bool before_cached_call(Recording& recording, PyObject* cache, PyObject* const* arguments, Py_ssize_t count) {
  if (!is_known(recording, cache))
    return stop(recording, BreakCode::kUnguardable, "a cached function of unknown origin is called");
  if (is_fresh(recording, cache))
    return stop(recording, BreakCode::kUnknownFunction, "a cached function that was made here");
  PyObject* results = cpython::dict_of_cache(cache);
  if (results == nullptr)
    return stop(recording, BreakCode::kUnknownFunction, "a cached function without a cache");
  if (often_forgets(cache))
    return stop(recording, BreakCode::kUnknownFunction,
                "a cached function that forgets what was not used for long");
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* argument = arguments[i];
    if (recording.domain.is_symbolic(argument))
      return stop(recording, BreakCode::kSymbolicNumber, "a cached function keeps it");
    if (recording.domain.is_tensor(argument) || is_of_this_call(recording, argument) ||
        !is_known(recording, argument)) {
      return stop(
          recording, BreakCode::kUnguardable,
          std::string("a cached function is called with a ") + Py_TYPE(argument)->tp_name + " of this call");
    }
  }
  pin(recording, results, {Origin::attribute, cache, text("cache")});
  if (recording.keywords != 0) {
    recording.cached.key = {};  // names are part of it, behind a mark of the cache's own
  } else if (count == 1 && (PyUnicode_CheckExact(arguments[0]) || PyLong_CheckExact(arguments[0]))) {
    recording.cached.key = Ref<>::share(arguments[0]);
  } else {
    recording.cached.key = Ref<>::steal(PyTuple_New(count));
    if (!recording.cached.key) return false;
    for (Py_ssize_t i = 0; i < count; i++)
      PyTuple_SET_ITEM(recording.cached.key.get(), i, Py_NewRef(arguments[i]));
  }
  recording.cached.results = results;
  recording.cached.called = cache;
  recording.pending.back().kind = PendingResult::cached;
  recording.pause = std::make_unique<PausedCapture>(recording.capture);
  return true;
}

bool note_cached_result(Recording& recording, PyObject* result) {
  PyObject* results = recording.cached.results;
  const Ref<> key = std::move(recording.cached.key);
  recording.cached.answered.push_back(Ref<>::share(recording.cached.called));
  PyObject* entry = key && is_plain_key(key.get()) ? PyDict_GetItemWithError(results, key.get()) : nullptr;
  drop_error();
  if (entry != nullptr && entry != result && cpython::result_in_link(entry, result) == nullptr)
    entry = nullptr;  // of another call whose key is equal
  // Keywords and types of arguments are part of the key in ways of the cache's own: then all of it counts.
  if (!(entry != nullptr ? read_dict_item(recording, results, key.get()) : read_dict(recording, results)))
    return false;
  // A cache with a limit keeps results in links, which it uses again for other results.
  const auto read_link = [&](PyObject* link) {
    PyObject** const field = cpython::result_in_link(link, result);
    if (field == nullptr) return;
    recording.guards.keep(link);
    read_field(recording, link, field, "result");
  };
  if (entry != nullptr) {
    read_link(entry);
  } else {
    PyObject *other, *link;
    Py_ssize_t position = 0;
    while (PyDict_Next(results, &position, &other, &link)) read_link(link);
  }
  pin(recording, result, {Origin::item, results, key ? key : text("...")});
  return true;
}

bool before_getter(Recording& recording, PyObject* getter, PyObject* const* arguments, Py_ssize_t count) {
  if (!is_known(recording, getter) || count != 1)
    return stop(recording, BreakCode::kUnguardable, "a getter of unknown origin is called");
  if (is_pinned(recording, getter)) recording.guards.keep(getter);  // what it wants is part of it
  auto reduced = Ref<>::steal(PyObject_CallMethod(getter, "__reduce__", nullptr));
  if (!reduced) return false;
  PyObject* wanted = PyTuple_GET_ITEM(reduced.get(), 1);
  const std::string_view kind = Py_TYPE(getter)->tp_name;
  if (kind == "operator.methodcaller") {
    PyObject* name = PyTuple_GET_SIZE(wanted) > 0 ? PyTuple_GET_ITEM(wanted, 0) : nullptr;
    if (name == nullptr || !PyUnicode_Check(name))
      return stop(recording, BreakCode::kUnknownFunction, "a methodcaller with keywords");
    if (!read_attribute(recording, arguments[0], name)) return false;
    auto method = Ref<>::steal(PyObject_GetAttr(arguments[0], name));
    if (!method) return false;
    std::vector<PyObject*> rest;
    for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(wanted); i++) rest.push_back(PyTuple_GET_ITEM(wanted, i));
    return before_call_with(recording, method.get(), rest.data(), static_cast<Py_ssize_t>(rest.size()));
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(wanted); i++) {
    PyObject* item = PyTuple_GET_ITEM(wanted, i);
    if (kind == "operator.itemgetter") {
      if (!before_subscript(recording, arguments[0], item)) return false;
      expect_result(recording);
      continue;
    }
    if (PyUnicode_FindChar(item, '.', 0, PyUnicode_GET_LENGTH(item), 1) >= 0)
      return stop(recording, BreakCode::kUnknownFunction, "an attrgetter of a path");
    if (!read_attribute(recording, arguments[0], item)) return false;
  }
  return true;
}

bool before_subscript(Recording& recording, PyObject* container, PyObject* key) {
  if (find_argument(recording, container) != nullptr) {
    expect_result(recording);
    return read_subscript(recording, container, key);
  }
  // A default dictionary makes what it misses, and keeps it.
  if (is_default_dict(container)) {
    PyObject* found = look_up(recording, container, key);
    if (found == nullptr && PyErr_Occurred()) return false;
    if (found == nullptr) {
      expect_result(recording, PendingResult::made);
      recording.walked.written(container);
      // That it is missing, and what makes it, is relied on.
      if (!is_fresh(recording, container) &&
          !(is_writable(recording, container) &&
            read_attribute(recording, container, text("default_factory").get()) &&
            read_dict_item(recording, container, key) && before_key_write(recording, container, key)))
        return false;
      if (!read_contents(recording, container) || !read_deep(recording, key)) return false;
      const auto factory = Ref<>::steal(PyObject_GetAttrString(container, "default_factory"));
      if (!factory) return false;
      if (factory.get() != Py_None && !before_call_with(recording, factory.get(), nullptr, 0)) return false;
      expect_result(recording, PendingResult::made);
      return true;
    }
  }
  expect_result(recording);
  if (PyList_CheckExact(container)) return read_list_item(recording, container, key);
  return read_subscript(recording, container, key);
}

bool before_match(Recording& recording, PyObject* subject, PyObject* type, PyObject* names, int count) {
  if (!PyType_Check(type)) return true;  // raises
  expect_result(recording);
  if (!read_contents(recording, type) || !read_behaviour(recording, subject)) return false;
  if (PyObject_IsInstance(subject, type) != 1) {
    drop_error();
    return true;
  }
  if (count > 0) {
    const Ref<> match_args = text("__match_args__");
    if (!read_attribute(recording, type, match_args.get())) return false;
    auto order = Ref<>::steal(PyObject_GetAttr(type, match_args.get()));
    if (!order) drop_error();  // the subject itself is matched
    for (Py_ssize_t i = 0; order && PyTuple_CheckExact(order.get()) && i < count; i++) {
      if (i >= PyTuple_GET_SIZE(order.get())) break;
      PyObject* name = PyTuple_GET_ITEM(order.get(), i);
      if (!PyUnicode_Check(name) || !read_attribute(recording, subject, name))
        return recording.stopped.happened() ? false : true;
    }
  }
  for (Py_ssize_t i = 0; PyTuple_CheckExact(names) && i < PyTuple_GET_SIZE(names); i++) {
    if (!read_attribute(recording, subject, PyTuple_GET_ITEM(names, i))) return false;
  }
  return true;
}

// Classes can be registered with an abstract base class at any time; there is one count of that for all of
// them.
bool read_registry(Recording& recording) {
  static PyObject* const counter = module_attribute("_abc", "get_cache_token").release();
  if (counter == nullptr) return stop(recording, BreakCode::kUnguardable, "abstract base classes");
  return read_setting(recording, counter);
}

bool read_setting(Recording& recording, PyObject* function) {
  if (recording.guards.has<AnswerGuard>(function)) return true;
  auto answer = Ref<>::steal(PyObject_CallNoArgs(function));
  if (!answer) return false;
  if (!is_plain_key(answer.get()))
    return stop(recording, BreakCode::kUnknownFunction, text_of_call(function));
  recording.guards.add(AnswerGuard{Ref<>::share(function), std::move(answer)}, function);
  return true;
}

// A NumPy function of numbers, such as numpy.sqrt(64). With arrays it may do anything.
bool before_number_function(Recording& recording, PyObject* function, PyObject* const* arguments,
                            Py_ssize_t count) {
  const auto is_number = [&](PyObject* object) {
    if (PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object)) return true;
    return PyFloat_Check(object) && is_fresh(recording, object);  // what another such function gave
  };
  if (recording.keywords != 0 || !std::all_of(arguments, arguments + count, is_number))
    return stop(recording, BreakCode::kUnknownFunction, text_of_call(function));
  // Where the result is no number, NumPy asks its settings whether to warn or to raise.
  const auto result =
      Ref<>::steal(PyObject_Vectorcall(function, arguments, static_cast<size_t>(count), nullptr));
  if (!result) drop_error();
  const double value = result ? PyFloat_AsDouble(result.get()) : NAN;
  if (PyErr_Occurred() || !std::isfinite(value)) {
    drop_error();
    return stop(recording, BreakCode::kUnknownFunction, text_of_call(function));
  }
  return true;
}

// What object.__reduce_ex__ shows of an instance: its class and its dictionary.
bool read_reduced(Recording& recording, PyObject* object) {
  const Ref<> state = text("__getstate__");
  PyObject* own = _PyType_Lookup(Py_TYPE(object), state.get());
  if (own != nullptr && PyFunction_Check(own))
    return read_attribute(recording, object, state.get());  // Python code, captured as it runs
  if (Py_IS_TYPE(object, &PySet_Type))
    return is_fresh(recording, object) || read_contents(recording, object);  // its items, in a list
  if (PyODict_CheckExact(object)) {
    // Its class, and an iterator over its items.
    PyObject** own_dict = _PyObject_GetDictPtr(object);
    if (own_dict != nullptr && *own_dict != nullptr && PyDict_GET_SIZE(*own_dict) != 0)
      return stop(recording, BreakCode::kUnknownFunction, "__reduce_ex__ of an OrderedDict with attributes");
    return is_fresh(recording, object) || read_contents(recording, object);
  }
  if (Py_TYPE(object)->tp_itemsize != 0 || PyList_Check(object) || PyDict_Check(object) ||
      !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
    return stop(recording, BreakCode::kUnknownFunction,
                std::string("__reduce_ex__ of a ") + Py_TYPE(object)->tp_name);
  }
  if (!read_object(recording, object)) return false;
  PyObject** slot = _PyObject_GetDictPtr(object);
  if (slot == nullptr)
    return stop(recording, BreakCode::kUnknownFunction, "__reduce_ex__ of an object with slots");
  if (*slot == nullptr) return true;
  if (is_fresh(recording, object)) {
    make_fresh(recording, *slot);
    return true;
  }
  static PyObject* const maker = module_attribute("copyreg", "__newobj__").release();
  if (maker == nullptr) return stop(recording, BreakCode::kUnknownFunction, "__reduce_ex__");
  pin(recording, maker, {Origin::root, nullptr, text("copyreg.__newobj__")});
  return read_dict(recording, *slot);
}

}  // namespace stator
