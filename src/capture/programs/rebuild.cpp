// capture/programs/rebuild.cpp: describing a result, and making it again.
#include "capture/programs/rebuild.h"

#include "capture/cpython/type_dict.h"

namespace stator {

bool Rebuild::describe(PyObject* value, Recording& recording, std::vector<PyObject*>& tensors) {
  bool ok = true;
  add(value, recording, tensors, ok);
  made_.clear();
  return ok;
}

// Returns the index of the step; on failure `ok` is false and the index means nothing.
size_t Rebuild::add(PyObject* value, Recording& recording, std::vector<PyObject*>& tensors, bool& ok) {
  if (!ok) return 0;
  const auto found = made_.find(value);
  if (found != made_.end()) {
    if (found->second == SIZE_MAX)
      ok = recording.stop(BreakCode::kUnguardable, "a result that contains itself");
    return found->second;
  }
  made_[value] = SIZE_MAX;  // in progress
  Step step{Kind::object, 0, {}, {}, SIZE_MAX};
  if (recording.domain().is_tensor(value)) {
    step.kind = Kind::tensor;
    step.tensor = tensors.size();
    tensors.push_back(value);
  } else if (is_constant(value) || recording.domain().is_immutable(value) || recording.is_pinned(value)) {
    step.object = Ref<>::share(value);
  } else if (PyTuple_Check(value) || PyList_CheckExact(value)) {
    step.kind = PyTuple_Check(value) ? Kind::tuple : Kind::list;
    if (PyTuple_Check(value)) step.object = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(value)));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
      step.parts.push_back(add(PySequence_Fast_GET_ITEM(value, i), recording, tensors, ok));
    }
  } else if (PyDict_CheckExact(value)) {
    step.kind = Kind::dict;
    PyObject *key, *item;
    Py_ssize_t position = 0;
    while (PyDict_Next(value, &position, &key, &item)) {
      step.parts.push_back(add(key, recording, tensors, ok));
      step.parts.push_back(add(item, recording, tensors, ok));
    }
  } else if (recording.is_fresh(value) && Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    const size_t index = add_instance(value, recording, tensors, ok);
    made_[value] = index;
    return index;
  } else {
    ok = recording.stop(BreakCode::kUnguardable, std::string("a result of type ") + Py_TYPE(value)->tp_name);
    return 0;
  }
  steps_.push_back(std::move(step));
  return made_[value] = steps_.size() - 1;
}

static bool has_slots(PyTypeObject* type) {
  static PyObject* const name = PyUnicode_InternFromString("__slots__");
  PyObject* slots = cpython::own_attribute(type, name);
  return slots != nullptr && !(PyTuple_Check(slots) && PyTuple_GET_SIZE(slots) == 0);
}

// An instance of a Python class over object, dict or OrderedDict whose state is its dictionary and its items.
size_t Rebuild::add_instance(PyObject* value, Recording& recording, std::vector<PyObject*>& tensors,
                             bool& ok) {
  PyTypeObject* type = Py_TYPE(value);
  PyTypeObject* base = PyODict_Check(value)  ? &PyODict_Type
                       : PyDict_Check(value) ? &PyDict_Type
                                             : &PyBaseObject_Type;
  for (PyTypeObject* at = type; at != base; at = at->tp_base) {
    if (at == nullptr || !(at->tp_flags & Py_TPFLAGS_HEAPTYPE) || has_slots(at)) {
      ok = recording.stop(BreakCode::kUnguardable, std::string("a result of type ") + type->tp_name);
      return 0;
    }
  }
  Step step{Kind::instance, 0, Ref<>::share(reinterpret_cast<PyObject*>(type)), {}, SIZE_MAX};
  if (base != &PyBaseObject_Type) {
    PyObject *key, *item;
    Py_ssize_t position = 0;
    while (PyDict_Next(value, &position, &key, &item)) {
      step.parts.push_back(add(key, recording, tensors, ok));
      step.parts.push_back(add(item, recording, tensors, ok));
    }
  }
  auto attributes = Ref<>::steal(PyObject_GenericGetDict(value, nullptr));
  if (attributes) {
    step.attributes = add(attributes.get(), recording, tensors, ok);
    made_.erase(attributes.get());
  } else {
    PyErr_Clear();
  }
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

namespace {

PyTypeObject* storage_base(PyTypeObject* type) {
  return PyType_IsSubtype(type, &PyODict_Type)  ? &PyODict_Type
         : PyType_IsSubtype(type, &PyDict_Type) ? &PyDict_Type
                                                : &PyBaseObject_Type;
}

}  // namespace

PyObject* Rebuild::make(const std::vector<Ref<>>& tensors) const {
  std::vector<Ref<>> values;
  values.reserve(steps_.size());
  for (const Step& step : steps_) {
    Ref<> value;
    const size_t count = step.parts.size();
    switch (step.kind) {
      case Kind::tensor:
        value = tensors[step.tensor];
        break;
      case Kind::object:
        value = step.object;
        break;
      case Kind::tuple: {
        auto tuple = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
        for (size_t i = 0; tuple && i < count; i++)
          PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(values[step.parts[i]].get()));
        if (tuple && step.object.get() != reinterpret_cast<PyObject*>(&PyTuple_Type)) {
          auto arguments = Ref<>::steal(PyTuple_Pack(1, tuple.get()));
          tuple =
              Ref<>::steal(arguments ? PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(step.object.get()),
                                                           arguments.get(), nullptr)
                                     : nullptr);
        }
        value = tuple;
        break;
      }
      case Kind::list: {
        value = Ref<>::steal(PyList_New(static_cast<Py_ssize_t>(count)));
        for (size_t i = 0; value && i < count; i++)
          PyList_SET_ITEM(value.get(), i, Py_NewRef(values[step.parts[i]].get()));
        break;
      }
      case Kind::dict: {
        value = Ref<>::steal(PyDict_New());
        for (size_t i = 0; value && i < count; i += 2) {
          if (PyDict_SetItem(value.get(), values[step.parts[i]].get(), values[step.parts[i + 1]].get()) < 0)
            return nullptr;
        }
        break;
      }
      case Kind::instance: {
        auto* type = reinterpret_cast<PyTypeObject*>(step.object.get());
        auto none = Ref<>::steal(PyTuple_New(0));
        PyTypeObject* base = storage_base(type);
        value = Ref<>::steal(none ? base->tp_new(type, none.get(), nullptr) : nullptr);
        for (size_t i = 0; value && i < count; i += 2) {
          PyObject* key = values[step.parts[i]].get();
          PyObject* item = values[step.parts[i + 1]].get();
          if ((base == &PyODict_Type ? PyODict_SetItem(value.get(), key, item)
                                     : PyDict_SetItem(value.get(), key, item)) < 0)
            return nullptr;
        }
        if (value && step.attributes != SIZE_MAX) {
          auto dict = Ref<>::steal(PyObject_GenericGetDict(value.get(), nullptr));
          if (!dict || PyDict_Update(dict.get(), values[step.attributes].get()) < 0) return nullptr;
        }
        break;
      }
    }
    if (!value) return nullptr;
    values.push_back(std::move(value));
  }
  return values.back().release();
}

}  // namespace stator
