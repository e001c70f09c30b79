// capture/objects/iterator.cpp: iterators of Python's own that were made in a capture.
//
// They say by `__reduce__` what makes another one at the same position. Those of dictionaries and sets would
// be turned into lists by it: they are made anew and moved forward instead. What has neither ends the
// capture.
#include "capture/objects/iterator.h"

#include <algorithm>
#include <string_view>

#include "capture/cpython/interrupts.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/referents.h"
#include "capture/cpython/traits.h"
#include "capture/program/description.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"

namespace stator {
namespace {

// What an iterator that was made here leads to. Those inside of it are as new as itself.
void add_iterated(Recording& recording, PyObject* iterator, std::vector<PyObject*>& found) {
  const size_t first = found.size();
  cpython::add_referents(iterator, found);
  for (size_t i = first, end = found.size(); i < end; i++) {
    if (!PyTuple_CheckExact(found[i])) continue;  // of several iterators
    PyObject** const items = PySequence_Fast_ITEMS(found[i]);
    found.insert(found.end(), items, items + PyTuple_GET_SIZE(found[i]));
  }
  for (size_t i = first; i < found.size(); i++) {
    if (iterator_kind(found[i]) != nullptr && !is_known(recording, found[i])) make_fresh(recording, found[i]);
  }
}

// The beginning of CPython's iterators over dictionaries and sets, on every version.
struct TableIterator {
  PyObject ob_base;
  PyObject* table;    // nullptr at its end
  Py_ssize_t used;    // items that it had
  Py_ssize_t offset;  // of the next one among the entries, also those that were deleted
};

bool is_reversed_table_iterator(const PyTypeObject* type) {
  const std::string_view name = type->tp_name;
  return name == "dict_reversekeyiterator" || name == "dict_reversevalueiterator" ||
         name == "dict_reverseitemiterator";
}

bool is_table_iterator(const PyTypeObject* type) {
  const std::string_view name = type->tp_name;
  return name == "dict_keyiterator" || name == "dict_valueiterator" || name == "dict_itemiterator" ||
         name == "set_iterator" || is_reversed_table_iterator(type);
}

// Their position is counted from the end of the deque.
bool is_deque_iterator(const PyTypeObject* type) {
  const std::string_view name = type->tp_name;
  return name == "_collections._deque_iterator" || name == "_collections._deque_reverse_iterator";
}

// The beginnings of CPython's deque and of its iterators, on every version.
struct Deque {
  PyVarObject ob_base;
  void *first_block, *last_block;
  Py_ssize_t first, last;
  size_t changes;
};
struct DequeIterator {
  PyObject ob_base;
  void* block;
  Py_ssize_t index;
  const Deque* deque;
  size_t changes;  // of the deque when it was made: after others it raises
};

bool walks_changed_deque(PyObject* iterator) {
  const auto* const walks = reinterpret_cast<DequeIterator*>(iterator);
  return is_deque_iterator(Py_TYPE(iterator)) && walks->deque->changes != walks->changes;
}

// Another iterator of that kind, at its beginning: as `dict` and `set` make it, whatever a class over them
// says.
Ref<> walk_again(PyObject* table, PyTypeObject* iterator) {
  if (PyAnySet_Check(table)) return Ref<>::steal(PySet_Type.tp_iter(table));
  const std::string_view name = iterator->tp_name;
  const auto of_dict = [&](const char* method) {
    return Ref<>::steal(PyObject_CallMethod(reinterpret_cast<PyObject*>(&PyDict_Type), method, "O", table));
  };
  const bool is_reversed = is_reversed_table_iterator(iterator);
  const bool gives_values = name.find("value") != name.npos;
  if (!gives_values && name.find("item") == name.npos)
    return is_reversed ? of_dict("__reversed__") : Ref<>::steal(PyDict_Type.tp_iter(table));
  const Ref<> view = of_dict(gives_values ? "values" : "items");
  if (!view || !is_reversed) return Ref<>::steal(view ? PyObject_GetIter(view.get()) : nullptr);
  return Ref<>::steal(PyObject_CallOneArg(reinterpret_cast<PyObject*>(&PyReversed_Type), view.get()));
}

// An iterator that is moved forward by so many items would stand there as well: no item before it was deleted
// or put in again since.
bool stands_behind(const TableIterator* walks, Py_ssize_t given) {
  if (!PyDict_CheckExact(walks->table)) return true;
  const bool backward = is_reversed_table_iterator(Py_TYPE(walks));
  PyObject *key, *value;
  Py_ssize_t next = 0, passed = 0;
  while (PyDict_Next(walks->table, &next, &key, &value))
    passed += backward ? next - 1 > walks->offset : next <= walks->offset;
  return passed == given;
}

bool describe_table_iterator(Description& description, size_t step, PyObject* iterator) {
  const auto* walks = reinterpret_cast<TableIterator*>(iterator);
  PyObject* table = walks->table;
  // The items of a set that is made anew may come in another order.
  const bool in_order =
      table != nullptr && (PyDict_CheckExact(table) || !is_fresh(description.recording, table));
  const Py_ssize_t size = in_order ? PyObject_Length(table) : 0;
  const Py_ssize_t left = PyObject_LengthHint(iterator, 0);
  if (!in_order || description.is_written(table) || walks->used != size || left > size ||
      !stands_behind(walks, size - left))
    return false;
  const size_t over = description.add(table);
  if (over == Description::kStopped) return false;
  const auto type = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(iterator)));
  description.make_late(step, [over, type, given = size - left](const Description::Values& values) {
    Ref<> made = walk_again(values[over].get(), reinterpret_cast<PyTypeObject*>(type.get()));
    for (Py_ssize_t i = 0; made && i < given; i++) Ref<>::steal(PyIter_Next(made.get()));
    return PyErr_Occurred() ? Ref<>() : std::move(made);
  });
  return true;
}

// iter() and reversed() ask the class of what they are given, whose answer may be Python code; so does the
// constructor of an iterator over others.
bool asks_python(PyObject* iterated, bool reversed) {
  static PyObject* const forward[] = {PyUnicode_InternFromString("__iter__"),
                                      PyUnicode_InternFromString("__reversed__")};
  static PyObject* const backward[] = {PyUnicode_InternFromString("__reversed__"),
                                       PyUnicode_InternFromString("__len__")};
  const auto& names = reversed ? backward : forward;
  return std::any_of(std::begin(names), std::end(names), [&](PyObject* name) {
    PyObject* const method = _PyType_Lookup(Py_TYPE(iterated), name);
    return method != nullptr && cpython::is_python_class(Py_TYPE(iterated)) &&
           !Py_IS_TYPE(method, &PyWrapperDescr_Type) && !Py_IS_TYPE(method, &PyMethodDescr_Type);
  });
}

// Some say how to make an iterator over a list of what they have left: another one to whom it is given.
bool makes_same_kind(PyObject* maker, PyObject* arguments, PyTypeObject* type) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
    if (asks_python(PyTuple_GET_ITEM(arguments, i), type == &PyReversed_Type)) return false;
  }
  if (maker == reinterpret_cast<PyObject*>(type)) return true;
  const auto made = Ref<>::steal(PyObject_CallObject(maker, arguments));  // iter() or reversed()
  if (!made) drop_error();
  return made && Py_IS_TYPE(made.get(), type);
}

bool describe_walk(Description& description, size_t step, PyObject* iterator) {
  PyTypeObject* type = Py_TYPE(iterator);
  if (is_table_iterator(type)) return describe_table_iterator(description, step, iterator);
  if (walks_changed_deque(iterator)) return false;
  if (!cpython::kItertoolsReduce && std::string_view(type->tp_name).starts_with("itertools.")) return false;
  const auto reduced = Ref<>::steal(PyObject_CallMethod(iterator, "__reduce__", nullptr));
  if (!reduced || !PyTuple_CheckExact(reduced.get()) || PyTuple_GET_SIZE(reduced.get()) < 2 ||
      PyTuple_GET_SIZE(reduced.get()) > 3)
    return false;
  PyObject* maker = PyTuple_GET_ITEM(reduced.get(), 0);
  PyObject* arguments = PyTuple_GET_ITEM(reduced.get(), 1);
  if (!PyTuple_CheckExact(arguments) || !makes_same_kind(maker, arguments, type)) return false;
  std::vector<size_t> parts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
    // Of several iterables: the iterator made it of its arguments, and nobody else has seen it.
    PyObject* const part = PyTuple_GET_ITEM(arguments, i);
    Recording& recording = description.recording;
    if (PyTuple_CheckExact(part) && !is_pinned(recording, part) && !is_of_call(recording, part))
      make_fresh(recording, part);
    description.note_walk(part);
    if (description.is_written(part) && is_deque_iterator(type)) return false;
    if (!description.add_part(parts, part)) return false;
  }
  size_t state = Description::kStopped;
  if (PyTuple_GET_SIZE(reduced.get()) == 3 && PyTuple_GET_ITEM(reduced.get(), 2) != Py_None) {
    state = description.add(PyTuple_GET_ITEM(reduced.get(), 2));
    if (state == Description::kStopped) return false;
  }
  // New objects keep their addresses until all is described.
  description.recording.known.kept.push_back(reduced);
  description.make_late(step, [parts = std::move(parts), state,
                               maker = Ref<>::share(maker)](const Description::Values& values) {
    const auto with = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
    for (size_t i = 0; with && i < parts.size(); i++)
      PyTuple_SET_ITEM(with.get(), static_cast<Py_ssize_t>(i), Py_NewRef(values[parts[i]].get()));
    Ref<> made = Ref<>::steal(with ? PyObject_CallObject(maker.get(), with.get()) : nullptr);
    if (!made || state == Description::kStopped) return made;
    static PyObject* const set_state = PyUnicode_InternFromString("__setstate__");
    const auto done = Ref<>::steal(PyObject_CallMethodOneArg(made.get(), set_state, values[state].get()));
    return done ? std::move(made) : Ref<>();
  });
  return true;
}

bool describe_iterator(Description& description, size_t step, PyObject* iterator) {
  constexpr Py_ssize_t kOwnerAndReduced = 2;
  if (!is_fresh(description.recording, iterator) && Py_REFCNT(iterator) > kOwnerAndReduced)
    return any_instance.describe(description, step, iterator);
  return description.describe_late(step, iterator,
                                   [&] { return describe_walk(description, step, iterator); });
}

}  // namespace

bool read_iterator(Recording& recording, PyObject* iterator, bool& looks) {
  const IteratorKind* kind = iterator_kind(iterator);
  if (kind == nullptr) return true;
  if (kind->is_leaf) return true;
  std::vector<PyObject*> inside;
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

const ObjectKind IteratorObjectKind::row = {.add_reached = add_iterated, .describe = describe_iterator};

}  // namespace stator
