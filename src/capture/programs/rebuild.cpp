// capture/programs/rebuild.cpp: describing objects that outlive a capture, and making them again.
#include "capture/programs/rebuild.h"

#include "capture/cpython/exported.h"
#include "capture/cpython/type_dict.h"
#include "capture/recording/plain_key.h"

namespace stator {
namespace {

// Nobody but the objects of the run can hold it.
bool is_made_here(PyObject* value, const Recording& recording) {
  return recording.is_fresh(value) || Py_REFCNT(value) == 1;
}

// Making it anew runs no code of the user's.
bool hashes_plainly(PyObject* key, const Recording& recording) {
  return is_plain_key(key) || recording.is_pinned(key) || recording.domain().is_immutable(key) ||
         recording.domain().is_tensor(key) || Py_TYPE(key)->tp_hash == PyBaseObject_Type.tp_hash;
}

// A method of a builtin type's object, such as `items.append`; functions of modules are bound to their
// module.
bool is_bound_builtin(PyObject* value) {
  PyObject* self = PyCFunction_Check(value) ? reinterpret_cast<PyCFunctionObject*>(value)->m_self : nullptr;
  return self != nullptr && !PyModule_Check(self) && !PyType_Check(self);
}

PyTypeObject* storage_base(PyTypeObject* type) {
  return PyType_IsSubtype(type, &PyODict_Type)  ? &PyODict_Type
         : PyType_IsSubtype(type, &PyDict_Type) ? &PyDict_Type
         : PyType_IsSubtype(type, &PyList_Type) ? &PyList_Type
                                                : &PyBaseObject_Type;
}

}  // namespace

size_t Rebuild::add(PyObject* value, Capture& capture) {
  if (const auto found = capture.made.find(value); found != capture.made.end()) return found->second;
  const Recording& recording = capture.recording;
  const size_t index = steps_.size();
  capture.made.emplace(value, index);
  steps_.emplace_back();
  Step& step = steps_.back();
  const auto stopped = [&] {
    capture.recording.stop(BreakCode::kUnguardable,
                           std::string("a result of type ") + Py_TYPE(value)->tp_name);
    return kStopped;
  };
  if (recording.domain().is_tensor(value) || recording.domain().is_symbolic(value)) {
    step.kind = Kind::tensor;
    // A number that was only written somewhere is held by nobody once the writes are undone.
    if (!recording.domain().is_tensor(value)) step.object = Ref<>::share(value);
    step.tensor = capture.tensors.size();
    capture.tensors.push_back(value);
    return index;
  }
  if (const GivenPath* path = capture.given.find(value)) {
    step.kind = Kind::given;
    step.path = *path;
    return index;
  }
  if (PyLong_CheckExact(value) && recording.is_identity(value)) {
    capture.recording.stop(BreakCode::kUnguardable, "the identity of an object made here is kept");
    return kStopped;
  }
  if (recording.is_pinned(value) && !is_constant(value)) {
    step.kind = Kind::pinned;
    step.pinned = value;
    return index;
  }
  if (is_constant(value) || recording.domain().is_immutable(value) || PyRange_Check(value) ||
      PyCode_Check(value) || (PyCFunction_Check(value) && !is_bound_builtin(value))) {
    step.kind = Kind::object;
    step.object = Ref<>::share(value);
    return index;
  }
  PyTypeObject* type = Py_TYPE(value);
  const bool needs_parts = PyTuple_Check(value) || PyFrozenSet_CheckExact(value) || PyMethod_Check(value) ||
                           PyCFunction_Check(value);
  if (needs_parts) {
    step.kind = PyTuple_Check(value)       ? Kind::tuple
                : PyMethod_Check(value)    ? Kind::method
                : PyCFunction_Check(value) ? Kind::builtin
                                           : Kind::frozenset;
    if (PyCFunction_Check(value)) step.object = Ref<>::share(value);
    if (PyTuple_Check(value)) {
      step.object = Ref<>::share(reinterpret_cast<PyObject*>(type));
      // torch.return_types and the like are struct sequences, with a constructor of their own.
      const bool is_structure = PyObject_HasAttrString(step.object.get(), "n_sequence_fields") != 0;
      step.construct = is_structure ? type->tp_new : PyTuple_Type.tp_new;
    }
  } else if (!is_made_here(value, recording)) {
    return stopped();
  } else if (PyList_CheckExact(value)) {
    step.kind = Kind::list;
  } else if (PyDict_CheckExact(value)) {
    step.kind = Kind::dict;
  } else if (PySet_CheckExact(value)) {
    step.kind = Kind::set;
  } else if (type->tp_flags & Py_TPFLAGS_HEAPTYPE || type == &PyODict_Type) {
    step.kind = Kind::instance;
    step.object = Ref<>::share(reinterpret_cast<PyObject*>(type));
    filled_.push_back(index);
    return add_instance(index, value, capture) ? index : kStopped;
  } else {
    return stopped();
  }
  if (!needs_parts) filled_.push_back(index);
  if (!add_parts(index, value, capture)) return kStopped;
  if (PyTuple_Check(value) && !PyTuple_CheckExact(value) && !add_attributes(index, value, capture))
    return kStopped;
  if (needs_parts) whole_.push_back(index);
  return index;
}

// Steps are found by number: adding one may move the others.
bool Rebuild::add_parts(size_t step, PyObject* value, Capture& capture) {
  const auto part = [&](PyObject* item) {
    const size_t index = add(item, capture);
    if (index != kStopped) steps_[step].parts.push_back(index);
    return index != kStopped;
  };
  if (PyTuple_Check(value) || PyList_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
      if (!part(PySequence_Fast_GET_ITEM(value, i))) return false;
    }
    return true;
  }
  if (PyCFunction_Check(value)) return part(reinterpret_cast<PyCFunctionObject*>(value)->m_self);
  if (PyMethod_Check(value)) return part(PyMethod_GET_FUNCTION(value)) && part(PyMethod_GET_SELF(value));
  PyObject *key, *item;
  Py_ssize_t position = 0;
  const auto key_part = [&] {
    if (hashes_plainly(key, capture.recording)) return part(key);
    return capture.recording.stop(BreakCode::kUnguardable, "a result with keys of the program's own type");
  };
  if (PyDict_Check(value)) {
    while (PyDict_Next(value, &position, &key, &item)) {
      if (!key_part() || !part(item)) return false;
    }
    return true;
  }
  Py_hash_t hash;
  while (_PySet_NextEntry(value, &position, &key, &hash)) {
    if (!key_part()) return false;
  }
  return true;
}

// An instance of a Python class over object, list, dict or OrderedDict: its state is its items, its
// dictionary and its slots.
bool Rebuild::add_instance(size_t step, PyObject* value, Capture& capture) {
  PyTypeObject* type = Py_TYPE(value);
  PyTypeObject* base = storage_base(type);
  for (PyTypeObject* at = type; at != base; at = at->tp_base) {
    if (at == nullptr || !(at->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
      return capture.recording.stop(BreakCode::kUnguardable,
                                    std::string("a result of type ") + type->tp_name);
    }
    const Ref<> dict = cpython::type_dict(at);
    PyObject *name, *descriptor;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict.get(), &position, &name, &descriptor)) {
      if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) continue;
      const Ref<> content = read_slot(value, descriptor);
      if (!content) continue;
      const size_t index = add(content.get(), capture);
      if (index == kStopped) return false;
      steps_[step].slots.emplace_back(Ref<>::share(descriptor), index);
    }
  }
  if (base != &PyBaseObject_Type && !add_parts(step, value, capture)) return false;
  return add_attributes(step, value, capture);
}

bool Rebuild::add_attributes(size_t step, PyObject* value, Capture& capture) {
  auto attributes = Ref<>::steal(PyObject_GenericGetDict(value, nullptr));
  if (!attributes) {
    PyErr_Clear();
    return true;
  }
  capture.recording.make_fresh(attributes.get());
  const size_t index = add(attributes.get(), capture);
  steps_[step].attributes = index;
  return index != kStopped;
}

Ref<> Rebuild::make_shell(const Step& step, const std::vector<Ref<>>& tensors,
                          PyObject* const* arguments) const {
  switch (step.kind) {
    case Kind::tensor:
      return tensors[step.tensor];
    case Kind::object:
      return step.object;
    case Kind::pinned:
      return Ref<>::share(step.pinned);
    case Kind::given:
      return Ref<>::share(step.path.find(arguments));
    case Kind::list:
      return Ref<>::steal(PyList_New(0));
    case Kind::dict:
      return Ref<>::steal(PyDict_New());
    case Kind::set:
      return Ref<>::steal(PySet_New(nullptr));
    case Kind::instance: {
      auto* type = reinterpret_cast<PyTypeObject*>(step.object.get());
      auto none = Ref<>::steal(PyTuple_New(0));
      return none ? Ref<>::steal(storage_base(type)->tp_new(type, none.get(), nullptr)) : Ref<>();
    }
    default:
      return {};
  }
}

Ref<> Rebuild::make_whole(const Step& step, const std::vector<Ref<>>& values) const {
  if (step.kind == Kind::builtin) {
    // The same C function, bound to the object of this call.
    auto* like = reinterpret_cast<PyCFunctionObject*>(step.object.get());
    return Ref<>::steal(
        PyCMethod_New(like->m_ml, values[step.parts[0]].get(), like->m_module, PyCFunction_GET_CLASS(like)));
  }
  if (step.kind == Kind::method)
    return Ref<>::steal(PyMethod_New(values[step.parts[0]].get(), values[step.parts[1]].get()));
  const auto count = static_cast<Py_ssize_t>(step.parts.size());
  auto tuple = Ref<>::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; tuple && i < count; i++)
    PyTuple_SET_ITEM(tuple.get(), i, Py_NewRef(values[step.parts[static_cast<size_t>(i)]].get()));
  if (!tuple || step.kind == Kind::frozenset)
    return Ref<>::steal(tuple ? PyFrozenSet_New(tuple.get()) : nullptr);
  if (step.object.get() == reinterpret_cast<PyObject*>(&PyTuple_Type)) return tuple;
  auto arguments = Ref<>::steal(PyTuple_Pack(1, tuple.get()));
  auto* type = reinterpret_cast<PyTypeObject*>(step.object.get());
  return Ref<>::steal(arguments ? step.construct(type, arguments.get(), nullptr) : nullptr);
}

bool Rebuild::fill(const Step& step, PyObject* shell, const std::vector<Ref<>>& values) const {
  const size_t count = step.parts.size();
  const auto value = [&](size_t part) { return values[step.parts[part]].get(); };
  if (PyList_Check(shell)) {
    for (size_t i = 0; i < count; i++) {
      if (PyList_Append(shell, value(i)) < 0) return false;
    }
  } else if (PyODict_Check(shell)) {
    for (size_t i = 0; i < count; i += 2) {
      if (PyODict_SetItem(shell, value(i), value(i + 1)) < 0) return false;
    }
  } else if (PyDict_Check(shell)) {
    for (size_t i = 0; i < count; i += 2) {
      if (PyDict_SetItem(shell, value(i), value(i + 1)) < 0) return false;
    }
  } else if (PySet_Check(shell)) {
    for (size_t i = 0; i < count; i++) {
      if (PySet_Add(shell, value(i)) < 0) return false;
    }
  }
  for (const auto& [descriptor, content] : step.slots) {
    if (Py_TYPE(descriptor.get())->tp_descr_set(descriptor.get(), shell, values[content].get()) < 0)
      return false;
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
  // Instances take over their attributes once every dictionary is filled.
  for (size_t i = 0; i < steps_.size(); i++) {
    const Step& step = steps_[i];
    if (step.attributes == SIZE_MAX) continue;
    auto dict = Ref<>::steal(PyObject_GenericGetDict(values[i].get(), nullptr));
    if (!dict || PyDict_Update(dict.get(), values[step.attributes].get()) < 0) return false;
  }
  return true;
}

}  // namespace stator
