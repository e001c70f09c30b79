// capture/recording/everything.cpp: all that C code may reach from an object that it is given.
//
// A walk over the object graph: containers nested to any depth, what views and iterators made here lead to,
// and the classes of instances, whose special methods C code calls. It ends at instances: C code comes to
// their attributes through Python code, which is captured as it runs.
#include <algorithm>

#include "capture/cpython/referents.h"
#include "capture/policy/hidden_contents.h"
#include "capture/policy/iterators.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/recording.h"

namespace stator {
namespace {

using Objects = std::vector<PyObject*>;

void add_referents(PyObject* object, Objects& found) {
  const visitproc add = [](PyObject* referent, void* list) {
    static_cast<Objects*>(list)->push_back(referent);
    return 0;
  };
  if (Py_TYPE(object)->tp_traverse != nullptr) Py_TYPE(object)->tp_traverse(object, add, &found);
}

// What an iterator that was made here leads to. Those inside of it are as new as itself.
void add_iterated(Recording& recording, PyObject* iterator, Objects& found) {
  const size_t first = found.size();
  add_referents(iterator, found);
  for (size_t i = first, end = found.size(); i < end; i++) {
    if (!PyTuple_CheckExact(found[i])) continue;  // of several iterators
    PyObject** const items = PySequence_Fast_ITEMS(found[i]);
    found.insert(found.end(), items, items + PyTuple_GET_SIZE(found[i]));
  }
  for (size_t i = first; i < found.size(); i++) {
    if (iterator_kind(found[i]) != nullptr && !is_known(recording, found[i])) make_fresh(recording, found[i]);
  }
}

// The objects that C code may go on to from this one; its own contents are read.
void add_reached(Recording& recording, PyObject* object, Objects& found) {
  if (PyTuple_Check(object) || PyList_Check(object)) {
    PyObject** const items = PySequence_Fast_ITEMS(object);
    found.insert(found.end(), items, items + PySequence_Fast_GET_SIZE(object));
  } else if (PyDict_Check(object)) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &value)) {
      found.push_back(key);
      found.push_back(value);
    }
  } else if (PyAnySet_Check(object) || is_deque(object)) {
    for (const ExpectedValue& item : expect_items(object)) found.push_back(item.object);
  } else if (is_view(object)) {
    PyObject* mapping = shows_class(recording, object) ? nullptr : cpython::mapping_of_view(object);
    if (mapping != nullptr) found.push_back(mapping);
  } else if (PyMethod_Check(object)) {
    found.push_back(PyMethod_GET_SELF(object));
  } else if (PySlice_Check(object)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(object);
    found.insert(found.end(), {slice->start, slice->stop, slice->step});
  } else if (PyWeakref_CheckRefExact(object)) {
    found.push_back(PyWeakref_GET_OBJECT(object));
  } else if (PyExceptionInstance_Check(object)) {
    if (PyObject* arguments = reinterpret_cast<PyBaseExceptionObject*>(object)->args)
      found.push_back(arguments);
  } else if (shows_referents(Py_TYPE(object))) {
    add_referents(object, found);
  } else if (iterator_kind(object) != nullptr) {
    add_iterated(recording, object, found);
  }
}

bool ends_walk(const Recording& recording, PyObject* object) {
  return is_constant(object) || PyType_Check(object) || PyFunction_Check(object) || PyModule_Check(object) ||
         PyCFunction_Check(object) || recording.domain.is_immutable(object);
}

// The usual argument that is no tensor: sizes, dimensions.
bool holds_constants(PyObject* object) {
  if (!PyTuple_CheckExact(object)) return false;
  PyObject** const items = PySequence_Fast_ITEMS(object);
  return std::all_of(items, items + PyTuple_GET_SIZE(object), is_constant);
}

}  // namespace

bool read_deep(Recording& recording, PyObject* object) {
  if (object == nullptr || is_constant(object) || recording.walked.contains(object)) return true;
  if (recording.domain.is_tensor(object) || ends_walk(recording, object))
    return read_contents(recording, object);
  if (holds_constants(object) && find_argument(recording, object) == nullptr) return true;
  Objects left{object};
  WalkedObjects unknown;  // of this walk: nobody keeps their addresses
  while (!left.empty()) {
    PyObject* next = left.back();
    left.pop_back();
    if (is_constant(next) || recording.walked.contains(next)) continue;
    if (recording.domain.is_tensor(next) || ends_walk(recording, next)) {
      if (!read_contents(recording, next)) return false;
      continue;
    }
    const bool is_kept = reads_freely(recording, next) || is_pinned(recording, next);
    if (!(is_kept ? recording.walked : unknown).insert(next)) continue;
    if (!read_contents(recording, next)) {
      recording.walked.clear();
      return false;
    }
    add_reached(recording, next, left);
  }
  return true;
}

bool read_iterator(Recording& recording, PyObject* iterator, bool& looks) {
  const IteratorKind* kind = iterator_kind(iterator);
  if (kind == nullptr) return true;
  if (kind->is_leaf) return true;
  Objects inside;
  add_iterated(recording, iterator, inside);
  const bool has_callable = std::any_of(inside.begin(), inside.end(),
                                        [](PyObject* referent) { return PyFunction_Check(referent); });
  looks = looks || kind->looks != IteratorKind::nowhere;
  if (kind->looks == IteratorKind::items || (kind->looks == IteratorKind::either && !has_callable))
    return read_deep(recording, iterator);
  for (PyObject* referent : inside) {
    if (iterator_kind(referent) != nullptr && !read_iterator(recording, referent, looks)) return false;
  }
  return true;
}

}  // namespace stator
