// capture/program/rebuild_iterators.cpp: iterators and exceptions that were made in a capture and outlive it.
//
// Python's own iterators say by `__reduce__` what makes another one at the same position. Those of
// dictionaries and sets would be turned into lists by it: they are made anew and moved forward instead.
#include <string_view>
#include <utility>

#include "capture/cpython/python_class.h"
#include "capture/cpython/traits.h"
#include "capture/policy/iterators.h"
#include "capture/program/rebuild.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"

namespace stator {
namespace {

// The beginning of CPython's iterators over dictionaries and sets, on every version.
struct TableIterator {
  PyObject ob_base;
  PyObject* table;  // nullptr at its end
  Py_ssize_t used;  // items that it had
};

bool starts_with(const char* name, std::string_view start) {
  return std::string_view(name).substr(0, start.size()) == start;
}

bool is_table_iterator(const PyTypeObject* type) {
  const std::string_view name = type->tp_name;
  return name == "dict_keyiterator" || name == "dict_valueiterator" || name == "dict_itemiterator" ||
         name == "set_iterator";
}

// What is walked through.
Ref<> walked(PyObject* table, const PyTypeObject* iterator) {
  const std::string_view name = iterator->tp_name;
  if (name == "dict_valueiterator") return Ref<>::steal(PyObject_CallMethod(table, "values", nullptr));
  if (name == "dict_itemiterator") return Ref<>::steal(PyObject_CallMethod(table, "items", nullptr));
  return Ref<>::share(table);
}

// All that its instances hold beside a dictionary is what every exception holds.
bool is_plain_exception_class(PyTypeObject* type) {
  while (cpython::is_python_class(type)) type = type->tp_base;
  const auto* base = reinterpret_cast<PyTypeObject*>(PyExc_BaseException);
  return PyType_IsSubtype(type, const_cast<PyTypeObject*>(base)) && type->tp_basicsize == base->tp_basicsize;
}

}  // namespace

bool Rebuild::is_iterator(PyObject* value, const Recording& recording) {
  constexpr Py_ssize_t kOwnerAndReduced = 2;
  return iterator_kind(value) != nullptr &&
         (is_fresh(recording, value) || Py_REFCNT(value) <= kOwnerAndReduced);
}

bool Rebuild::add_iterator(size_t step, PyObject* value, Capture& capture) {
  PyTypeObject* type = Py_TYPE(value);
  const auto refuse = [&] {
    PyErr_Clear();
    return stop(capture.recording, BreakCode::kUnguardable, std::string("a result of type ") + type->tp_name);
  };
  // Iterators are made last, when all that they walk through is there: only others of them can hold them.
  if (capture.inside > 1) return refuse();
  const size_t inside = std::exchange(capture.inside, 0);
  const bool added = add_walk(step, value, capture);
  capture.inside = inside;
  return added || refuse();
}

bool Rebuild::add_walk(size_t step, PyObject* value, Capture& capture) {
  PyTypeObject* type = Py_TYPE(value);
  const auto part = [&](PyObject* item) {
    const size_t index = add(item, capture);
    if (index != kStopped) steps_[step].parts.push_back(index);
    return index != kStopped;
  };
  steps_[step].object = Ref<>::share(reinterpret_cast<PyObject*>(type));
  if (is_table_iterator(type)) {
    const auto* walks = reinterpret_cast<TableIterator*>(value);
    PyObject* table = walks->table;
    // The items of a set that is made anew may come in another order.
    const bool in_order =
        table != nullptr && (PyDict_CheckExact(table) || !is_fresh(capture.recording, table));
    const Py_ssize_t size = in_order ? PyObject_Length(table) : 0;
    const Py_ssize_t left = PyObject_LengthHint(value, 0);
    if (!in_order || walks->used != size || left > size) return false;
    steps_[step].kind = Kind::table_iterator;
    steps_[step].tensor = static_cast<size_t>(size - left);  // that it has given
    if (!part(table)) return false;
    iterators_.push_back(step);
    return true;
  }
  if (!cpython::kItertoolsReduce && starts_with(type->tp_name, "itertools.")) return false;
  const auto reduced = Ref<>::steal(PyObject_CallMethod(value, "__reduce__", nullptr));
  if (!reduced || !PyTuple_CheckExact(reduced.get()) || PyTuple_GET_SIZE(reduced.get()) < 2 ||
      PyTuple_GET_SIZE(reduced.get()) > 3)
    return false;
  PyObject* arguments = PyTuple_GET_ITEM(reduced.get(), 1);
  if (!PyTuple_CheckExact(arguments)) return false;
  steps_[step].kind = Kind::iterator;
  steps_[step].object = Ref<>::share(PyTuple_GET_ITEM(reduced.get(), 0));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++) {
    if (!part(PyTuple_GET_ITEM(arguments, i))) return false;
  }
  if (PyTuple_GET_SIZE(reduced.get()) == 3 && PyTuple_GET_ITEM(reduced.get(), 2) != Py_None) {
    steps_[step].attributes = add(PyTuple_GET_ITEM(reduced.get(), 2), capture);
    if (steps_[step].attributes == kStopped) return false;
  }
  capture.recording.known.kept.push_back(reduced);  // new objects keep their addresses until all is described
  iterators_.push_back(step);
  return true;
}

Ref<> Rebuild::make_iterator(const Step& step, const std::vector<Ref<>>& values) {
  if (step.kind == Kind::table_iterator) {
    const Ref<> over =
        walked(values[step.parts[0]].get(), reinterpret_cast<PyTypeObject*>(step.object.get()));
    Ref<> made = over ? Ref<>::steal(PyObject_GetIter(over.get())) : Ref<>();
    for (size_t i = 0; made && i < step.tensor; i++) Ref<>::steal(PyIter_Next(made.get()));
    return PyErr_Occurred() ? Ref<>() : std::move(made);
  }
  auto arguments = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(step.parts.size())));
  for (size_t i = 0; arguments && i < step.parts.size(); i++)
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i), Py_NewRef(values[step.parts[i]].get()));
  Ref<> made = Ref<>::steal(arguments ? PyObject_CallObject(step.object.get(), arguments.get()) : nullptr);
  if (!made || step.attributes == SIZE_MAX) return made;
  const auto done =
      Ref<>::steal(PyObject_CallMethod(made.get(), "__setstate__", "O", values[step.attributes].get()));
  return done ? std::move(made) : Ref<>();
}

bool Rebuild::is_new_exception(PyObject* value) {
  if (!PyExceptionInstance_Check(value) || !is_plain_exception_class(Py_TYPE(value))) return false;
  const auto* fields = reinterpret_cast<PyBaseExceptionObject*>(value);
  return fields->traceback == nullptr && fields->context == nullptr && fields->cause == nullptr &&
         !fields->suppress_context;
}

// One that was not raised yet.
bool Rebuild::add_exception(size_t step, PyObject* value, Capture& capture) {
  const size_t arguments = add(reinterpret_cast<PyBaseExceptionObject*>(value)->args, capture);
  if (arguments == kStopped) return false;
  steps_[step].kind = Kind::exception;
  steps_[step].object = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(value)));
  steps_[step].parts.push_back(arguments);
  whole_.push_back(step);
  filled_.push_back(step);
  return add_attributes(step, value, capture);
}

Ref<> Rebuild::make_exception(const Step& step, const std::vector<Ref<>>& values) {
  const newfunc construct = reinterpret_cast<PyTypeObject*>(PyExc_BaseException)->tp_new;
  return Ref<>::steal(
      construct(reinterpret_cast<PyTypeObject*>(step.object.get()), values[step.parts[0]].get(), nullptr));
}

}  // namespace stator
