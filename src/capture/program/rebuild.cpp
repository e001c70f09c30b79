// capture/program/rebuild.cpp: making the objects again that outlived a capture.
#include "capture/program/rebuild.h"

#include <string_view>

#include "capture/cpython/instance_values.h"

namespace stator {

// One that was calculated is another object than those it was calculated from.
static Ref<> new_number(const Ref<>& number) {
  if (PyBool_Check(number.get())) return number;
  if (PyFloat_CheckExact(number.get()))
    return Ref<>::steal(PyFloat_FromDouble(PyFloat_AS_DOUBLE(number.get())));
  int overflow = 1;
  const long long value =
      PyLong_CheckExact(number.get()) ? PyLong_AsLongLongAndOverflow(number.get(), &overflow) : 0;
  return overflow == 0 ? Ref<>::steal(PyLong_FromLongLong(value)) : number;
}

static bool is_deque(PyObject* object) {
  return std::string_view(Py_TYPE(object)->tp_name) == "collections.deque";
}

Ref<> Rebuild::make_shell(const Step& step, const std::vector<Ref<>>& tensors,
                          PyObject* const* arguments) const {
  switch (step.kind) {
    case Kind::tensor:
      // Of a class of the program's.
      if (step.object &&
          reinterpret_cast<PyObject*>(Py_TYPE(tensors[step.tensor].get())) != step.object.get() &&
          PyObject_SetAttrString(tensors[step.tensor].get(), "__class__", step.object.get()) < 0)
        return {};
      return tensors[step.tensor];
    case Kind::number:
      return new_number(tensors[step.tensor]);
    case Kind::object:
      return step.object;
    case Kind::pinned:
      return Ref<>::share(step.pinned);
    case Kind::placed:
      return Ref<>::share(item_at(step.pinned, step.object.get()));
    case Kind::given:
      return Ref<>::share(step.path.find(arguments));
    case Kind::list:
      return Ref<>::steal(PyList_New(0));
    case Kind::dict:
      return Ref<>::steal(step.object ? PyDict_Copy(step.object.get()) : PyDict_New());
    case Kind::set:
      return Ref<>::steal(PySet_New(nullptr));
    case Kind::instance: {
      auto* type = reinterpret_cast<PyTypeObject*>(step.object.get());
      auto none = Ref<>::steal(PyTuple_New(0));
      return none ? Ref<>::steal(step.construct(type, none.get(), nullptr)) : Ref<>();
    }
    case Kind::function:
      return make_function(step);
    case Kind::cell:
      return Ref<>::steal(PyCell_New(nullptr));
    case Kind::partial:
      return make_partial(step);
    default:
      return {};
  }
}

bool Rebuild::fill_set(const Step& step, PyObject* set, const std::vector<Ref<>>& values) {
  std::vector<PyObject*> items(step.parts.size());
  for (size_t i = 0; i < items.size(); i++) items[i] = values[step.parts[i]].get();
  return cpython::fill_set(set, items, step.layout ? &*step.layout : nullptr);
}

Ref<> Rebuild::make_whole(const Step& step, const std::vector<Ref<>>& values) const {
  if (step.kind == Kind::builtin) {
    // The same C function, bound to the object of this call.
    auto* like = reinterpret_cast<PyCFunctionObject*>(step.object.get());
    return Ref<>::steal(
        PyCMethod_New(like->m_ml, values[step.parts[0]].get(), like->m_module, PyCFunction_GET_CLASS(like)));
  }
  if (step.kind == Kind::exception) return make_exception(step, values);
  if (step.kind == Kind::alias || step.kind == Kind::union_of) return make_annotation(step, values);
  if (step.kind == Kind::attributes)
    return Ref<>::steal(PyObject_GenericGetDict(values[step.parts[0]].get(), nullptr));
  if (step.kind == Kind::method)
    return Ref<>::steal(PyMethod_New(values[step.parts[0]].get(), values[step.parts[1]].get()));
  if (step.kind == Kind::frozenset) {
    auto made = Ref<>::steal(PyFrozenSet_New(nullptr));
    return made && fill_set(step, made.get(), values) ? std::move(made) : Ref<>();
  }
  const auto count = static_cast<Py_ssize_t>(step.parts.size());
  auto tuple = Ref<>::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; tuple && i < count; i++)
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(values[step.parts[static_cast<size_t>(i)]].get()));
  if (step.object.get() == reinterpret_cast<PyObject*>(&PyTuple_Type)) return tuple;
  auto arguments = Ref<>::steal(PyTuple_Pack(1, tuple.get()));
  auto* type = reinterpret_cast<PyTypeObject*>(step.object.get());
  return Ref<>::steal(arguments ? step.construct(type, arguments.get(), nullptr) : nullptr);
}

bool Rebuild::fill(const Step& step, PyObject* shell, const std::vector<Ref<>>& values) const {
  const size_t count = step.parts.size();
  const auto value = [&](size_t part) { return values[step.parts[part]].get(); };
  if (step.storage == &PyList_Type) {
    for (size_t i = 0; i < count; i++) {
      if (PyList_Append(shell, value(i)) < 0) return false;
    }
  } else if (step.storage == &PyODict_Type) {
    for (size_t i = 0; i < count; i += 2) {
      if (PyODict_SetItem(shell, value(i), value(i + 1)) < 0) return false;
    }
  } else if (step.storage == &PyDict_Type) {
    for (size_t i = 0; i < count; i += 2) {
      if (PyDict_SetItem(shell, value(i), value(i + 1)) < 0) return false;
    }
  } else if (step.storage == &PySet_Type) {
    if (!fill_set(step, shell, values)) return false;
  }
  if (step.kind == Kind::instance && is_deque(shell)) {
    auto items = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(count) - 1));
    for (size_t i = 0; items && i + 1 < count; i++)
      PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), Py_NewRef(value(i)));
    const auto arguments = Ref<>::steal(items ? PyTuple_Pack(2, items.get(), value(count - 1)) : nullptr);
    if (!arguments || Py_TYPE(shell)->tp_init(shell, arguments.get(), nullptr) < 0) return false;
  }
  if (step.kind == Kind::cell && count != 0) PyCell_SET(shell, Py_NewRef(value(0)));
  if (step.kind == Kind::partial && !fill_partial(step, shell, values)) return false;
  fill_function(step, shell, values);
  for (const auto& [descriptor, content] : step.slots) {
    if (Py_TYPE(descriptor.get())->tp_descr_set(descriptor.get(), shell, values[content].get()) < 0)
      return false;
  }
  for (const Step::Field& field : step.fields) {
    PyObject* content = values[field.content].get();
    if (field.index >= 0 && stator_store_value(shell, field.index, content) != 0) continue;
    if (PyObject_GenericSetAttr(shell, field.name.get(), content) < 0) return false;
  }
  return true;
}

bool Rebuild::make(const std::vector<Ref<>>& tensors, PyObject* const* arguments,
                   std::vector<Ref<>>& values) const {
  values.resize(steps_.size());
  for (size_t i = 0; i < steps_.size(); i++) {
    values[i] = make_shell(steps_[i], tensors, arguments);
    if (!values[i] && PyErr_Occurred()) return false;
  }
  for (size_t i : whole_) {
    values[i] = make_whole(steps_[i], values);
    if (!values[i]) return false;
  }
  for (size_t i : filled_) {
    if (!fill(steps_[i], values[i].get(), values)) return false;
  }
  for (size_t i : attributed_) {
    if (PyObject_GenericSetDict(values[i].get(), values[steps_[i].attributes].get(), nullptr) < 0)
      return false;
  }
  for (size_t i : iterators_) {
    values[i] = make_iterator(steps_[i], values);
    if (!values[i]) return false;
  }
  return true;
}

}  // namespace stator
