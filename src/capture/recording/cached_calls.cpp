// capture/recording/cached_calls.cpp: functions with a cache that are given symbols.
//
// What a cache keeps outlives the symbols of a capture, so the function behind it is followed instead: with
// the number itself in its key each size would need a capture of its own.
#include "capture/recording/cached_calls.h"

#include "capture/cpython/cache_counts.h"
#include "capture/cpython/interrupts.h"
#include "capture/recording/attributes.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

// What a list, dictionary or set holds, as a tuple; a tuple itself; null if the object is no container.
Ref<> contents_of(PyObject* object) {
  if (PyTuple_Check(object)) return Ref<>::share(object);
  if (PyList_Check(object) || PyAnySet_Check(object)) return Ref<>::steal(PySequence_Tuple(object));
  if (!PyDict_Check(object)) return {};
  const Ref<> items = Ref<>::steal(PyDict_Items(object));
  const Py_ssize_t count = items ? PyList_GET_SIZE(items.get()) : 0;
  Ref<> flat = items ? Ref<>::steal(PyTuple_New(2 * count)) : Ref<>();
  for (Py_ssize_t i = 0; flat && i < count; i++) {
    PyObject* pair = PyList_GET_ITEM(items.get(), i);
    PyTuple_SET_ITEM(flat.get(), 2 * i, Py_NewRef(PyTuple_GET_ITEM(pair, 0)));
    PyTuple_SET_ITEM(flat.get(), 2 * i + 1, Py_NewRef(PyTuple_GET_ITEM(pair, 1)));
  }
  return flat;
}

// False: there is more of it than anybody would keep in a cache, or it contains itself.
template <class Visit>
bool each_container(PyObject* object, int depth, const Visit& visit) {
  const Ref<> contents = contents_of(object);
  if (!contents) {
    drop_error();
    return true;
  }
  if (depth > 8 || !visit(object, contents)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(contents.get()); i++) {
    if (!each_container(PyTuple_GET_ITEM(contents.get(), i), depth + 1, visit)) return false;
  }
  return true;
}

bool same_items(PyObject* left, PyObject* right) {
  if (PyTuple_GET_SIZE(left) != PyTuple_GET_SIZE(right)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(left); i++) {
    if (PyTuple_GET_ITEM(left, i) != PyTuple_GET_ITEM(right, i)) return false;
  }
  return true;
}

// The code of functions that are not followed, in this process. They are kept, so that none is mistaken.
std::unordered_set<PyObject*>& functions_given_numbers() {
  static std::unordered_set<PyObject*> codes;
  return codes;
}

bool has_symbol(const Domain& domain, PyObject* object) {
  if (domain.is_symbolic(object)) return true;
  for (Py_ssize_t i = 0; PyTuple_Check(object) && i < PyTuple_GET_SIZE(object); i++) {
    if (has_symbol(domain, PyTuple_GET_ITEM(object, i))) return true;
  }
  return false;
}

}  // namespace

CachedCalls::~CachedCalls() {
  for (const Ref<>& cache : answered) cpython::add_cache_hits(cache.get(), -1);
}

bool CachedCalls::may_follow(PyObject* code) { return functions_given_numbers().count(code) == 0; }

bool CachedCalls::give_numbers_to(PyObject* code) {
  if (functions_given_numbers().insert(code).second) Py_INCREF(code);
  was_unsound = true;
  return false;
}

bool CachedCalls::settle(const cpython::Frame* frame, uint64_t writes, PyObject** sp) {
  const Followed done = followed.back();
  if (done.caller != frame) return true;
  followed.pop_back();
  if (done.writes != writes) return give_numbers_to(done.code);
  PyObject* result = sp > cpython::stack_base(const_cast<cpython::Frame*>(frame)) ? sp[-1] : nullptr;
  const auto keep = [&](PyObject* container, const Ref<>& contents) {
    if (!PyTuple_Check(container)) kept.push_back({Ref<>::share(container), contents, done.code});
    return true;
  };
  return result == nullptr || each_container(result, 0, keep) || give_numbers_to(done.code);
}

bool CachedCalls::are_as_given(PyObject* returned) {
  for (const Kept& one : kept) {
    const Ref<> now = contents_of(one.container.get());
    if (!now || !same_items(now.get(), one.contents.get())) return give_numbers_to(one.code);
  }
  const auto is_own = [&](PyObject* container, const Ref<>&) {
    const auto found = std::find_if(kept.begin(), kept.end(),
                                    [&](const Kept& one) { return one.container.get() == container; });
    return found == kept.end() || give_numbers_to(found->code);
  };
  return each_container(returned, 0, is_own) || give_numbers_to(kept.front().code);
}

// The function behind the cache takes its place on the stack, where a symbol is given to it.
bool follow_cached(Recording& recording, PyObject*& callable, PyObject** arguments, PyObject** end) {
  const bool is_method = Py_IS_TYPE(callable, &PyMethod_Type);
  PyObject* cache = is_method ? PyMethod_GET_FUNCTION(callable) : callable;
  if (!is_known(recording, cache) || is_fresh(recording, cache)) return true;
  if (std::none_of(arguments, end, [&](PyObject* given) { return has_symbol(recording.domain, given); }))
    return true;
  static PyObject* const name = PyUnicode_InternFromString("__wrapped__");
  if (!read_attribute(recording, cache, name)) return false;
  Ref<> function = Ref<>::steal(PyObject_GetAttr(cache, name));
  if (!function) return false;
  PyObject* code = PyFunction_Check(function.get()) ? PyFunction_GET_CODE(function.get()) : nullptr;
  if (code == nullptr || !CachedCalls::may_follow(code)) return true;
  if (is_method) function = Ref<>::steal(PyMethod_New(function.get(), PyMethod_GET_SELF(callable)));
  if (!function) return false;
  recording.cached.followed.push_back({recording.frame, code, recording.journal.writes()});
  Py_SETREF(callable, function.release());
  return true;
}

}  // namespace stator
