// capture/program/rebuild_describe.cpp: describing objects that outlive a capture.
#include "capture/cpython/exported.h"
#include "capture/cpython/instance_values.h"
#include "capture/cpython/ordered_dict.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/referents.h"
#include "capture/cpython/type_alias.h"
#include "capture/cpython/type_dict.h"
#include "capture/engine/native_stack.h"
#include "capture/program/rebuild.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/contents.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/plain_key.h"
#include "capture/recording/reads.h"
#include "capture/recording/tensor_classes.h"
#include "capture/recording/unread_value.h"

namespace stator {
namespace {

// Nobody but the objects of the run can hold it.
bool is_made_here(PyObject* value, const Recording& recording) {
  return is_fresh(recording, value) || Py_REFCNT(value) == 1;
}

// Making it anew runs no code of the user's.
bool hashes_plainly(PyObject* key, const Recording& recording) {
  return is_plain_key(key) || is_pinned(recording, key) || recording.domain.is_immutable(key) ||
         recording.domain.is_tensor(key) || Py_TYPE(key)->tp_hash == PyBaseObject_Type.tp_hash;
}

// A method of a builtin type's object, such as `items.append`; functions of modules are bound to their
// module.
bool is_bound_builtin(PyObject* value) {
  PyObject* self = PyCFunction_Check(value) ? reinterpret_cast<PyCFunctionObject*>(value)->m_self : nullptr;
  return self != nullptr && !PyModule_Check(self) && !PyType_Check(self);
}

// int, NoneType: there as long as the process.
bool is_static_type(PyObject* value) {
  return PyType_Check(value) && !(reinterpret_cast<PyTypeObject*>(value)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

PyTypeObject* storage_base(PyTypeObject* type) {
  return PyType_IsSubtype(type, &PyODict_Type)  ? &PyODict_Type
         : PyType_IsSubtype(type, &PyDict_Type) ? &PyDict_Type
         : PyType_IsSubtype(type, &PyList_Type) ? &PyList_Type
                                                : &PyBaseObject_Type;
}

// Two types of Python's own: attributes and nothing else, and a dictionary with a factory.
bool is_namespace(const PyTypeObject* type) {
  return std::string_view(type->tp_name) == "types.SimpleNamespace";
}
bool is_default_dict(const PyTypeObject* type) {
  return std::string_view(type->tp_name) == "collections.defaultdict" &&
         PyType_IsSubtype(const_cast<PyTypeObject*>(type), &PyDict_Type);
}

bool is_deque(const PyTypeObject* type) { return std::string_view(type->tp_name) == "collections.deque"; }

// Views of mappings are made of their mapping, which comes as the only item of a tuple.
PyObject* mapping_in(PyObject* arguments) { return PyTuple_GET_ITEM(PyTuple_GET_ITEM(arguments, 0), 0); }
PyObject* make_proxy(PyTypeObject*, PyObject* arguments, PyObject*) {
  return PyDictProxy_New(mapping_in(arguments));
}
PyObject* make_keys(PyTypeObject*, PyObject* arguments, PyObject*) {
  return PyObject_CallMethod(mapping_in(arguments), "keys", nullptr);
}
PyObject* make_values(PyTypeObject*, PyObject* arguments, PyObject*) {
  return PyObject_CallMethod(mapping_in(arguments), "values", nullptr);
}
PyObject* make_items(PyTypeObject*, PyObject* arguments, PyObject*) {
  return PyObject_CallMethod(mapping_in(arguments), "items", nullptr);
}

// nullptr: it is no view of a mapping that is no class of the program's.
newfunc maker_of_view(PyObject* value) {
  const newfunc maker = Py_IS_TYPE(value, &PyDictProxy_Type)    ? &make_proxy
                        : Py_IS_TYPE(value, &PyDictKeys_Type)   ? &make_keys
                        : Py_IS_TYPE(value, &PyDictValues_Type) ? &make_values
                        : Py_IS_TYPE(value, &PyDictItems_Type)  ? &make_items
                                                                : nullptr;
  if (maker == nullptr) return nullptr;
  PyObject* const mapping = cpython::mapping_of_view(value);
  return mapping != nullptr && PyDict_CheckExact(mapping) ? maker : nullptr;
}

}  // namespace

std::optional<ArgumentPath> Rebuild::path_behind(const Recording& recording, PyObject* value) {
  const Argument* argument = is_unread(value) ? argument_of(value) : find_argument(recording, value);
  const auto& arrays = recording.arguments.by_array;
  if (const auto array = arrays.find(value); array != arrays.end()) argument = array->second;
  if (argument != nullptr) return argument->path();
  const auto& attributes = recording.arguments.tensor_attributes;
  const auto found = attributes.find(value);
  if (found == attributes.end()) return std::nullopt;
  ArgumentPath path = found->second->path();
  path.steps.push_back({ArgumentStep::Kind::attributes, 0, {}});
  return path;
}

size_t Rebuild::add(PyObject* value, Capture& capture) {
  capture.inside++;
  const size_t step = describe(value, capture);
  capture.inside--;
  return step;
}

size_t Rebuild::describe(PyObject* value, Capture& capture) {
  if (const auto found = capture.made.find(value); found != capture.made.end())
    return is_made_late(found->second) && capture.inside > 1 ? kStopped : found->second;
  if (native_stack_low()) {
    stop(capture.recording, BreakCode::kUnguardable, "objects that are nested very deeply");
    return kStopped;
  }
  const auto owner = capture.owners.find(value);
  const Recording& recording = capture.recording;
  const size_t index = steps_.size();
  capture.made.emplace(value, index);
  steps_.emplace_back();
  Step& step = steps_.back();
  const auto stopped = [&] {
    stop(capture.recording, BreakCode::kUnguardable,
         std::string("a result of type ") + Py_TYPE(value)->tp_name);
    return kStopped;
  };
  if (const auto number = recording.arguments.by_symbol.find(value);
      number != recording.arguments.by_symbol.end()) {
    step.kind = Kind::given;
    step.path = number->second->path();
    return index;
  }
  if (recording.domain.is_tensor(value) || recording.domain.is_symbolic(value)) {
    step.kind = recording.domain.is_tensor(value) ? Kind::tensor : Kind::number;
    // A number that was only written somewhere is held by nobody once the writes are undone.
    if (!recording.domain.is_tensor(value)) step.object = Ref<>::share(value);
    // An instance of a class of the program's is made one after the run.
    if (recording.domain.is_tensor(value) && is_fresh(recording, value) &&
        is_tensor_subclass(Py_TYPE(value))) {
      if (!read_type(capture.recording, Py_TYPE(value))) return kStopped;
      step.object = Ref<>::share(reinterpret_cast<PyObject*>(Py_TYPE(value)));
    }
    step.tensor = capture.tensors.size();
    capture.tensors.push_back(value);
    return add_tensor_attributes(index, value, capture) ? index : kStopped;
  }
  if (owner != capture.owners.end()) {
    step.kind = Kind::attributes;
    step.parts.push_back(owner->second);
    whole_.push_back(index);
    return index;
  }
  if (std::optional<ArgumentPath> path = path_behind(recording, value)) {
    step.kind = Kind::given;
    step.path = std::move(*path);
    return index;
  }
  if (is_unread(value)) return stopped();
  if (PyLong_CheckExact(value) && is_identity(recording, value)) {
    stop(capture.recording, BreakCode::kUnguardable, "the identity of an object made here is kept");
    return kStopped;
  }
  if (PyTuple_CheckExact(value)) {
    if (const auto [container, key] = recording.placed.place_of(value); container != nullptr) {
      step.kind = Kind::placed;
      step.pinned = container;
      step.object = Ref<>::share(key);
      return index;
    }
  }
  if ((PyCell_Check(value) || PyFunction_Check(value)) && !may_outlive(capture.recording, value))
    return kStopped;
  if (is_pinned(recording, value) && !is_constant(value)) {
    step.kind = Kind::pinned;
    step.pinned = value;
    return index;
  }
  if (is_constant(value) || recording.domain.is_immutable(value) || PyRange_Check(value) ||
      PyCode_Check(value) || is_static_type(value) ||
      (PyCFunction_Check(value) && !is_bound_builtin(value))) {
    step.kind = Kind::object;
    step.object = Ref<>::share(value);
    return index;
  }
  if (PyCell_Check(value)) return add_cell(index, value, capture) ? index : kStopped;
  if (PyFunction_Check(value)) return add_function(index, value, capture) ? index : kStopped;
  PyTypeObject* type = Py_TYPE(value);
  if (cpython::is_type_alias(value)) return add_annotation(index, value, capture) ? index : kStopped;
  if (is_partial(type) && is_made_here(value, recording))
    return add_partial(index, value, capture) ? index : kStopped;
  if (is_iterator(value, recording)) return add_iterator(index, value, capture) ? index : kStopped;
  if (is_new_exception(value) && is_made_here(value, recording))
    return add_exception(index, value, capture) ? index : kStopped;
  // Made anew by a function, of one part.
  const auto made_of = [&](newfunc maker, PyObject* part) {
    step.kind = Kind::tuple;
    step.object = Ref<>::share(reinterpret_cast<PyObject*>(type));
    step.construct = maker;
    const size_t made = add(part, capture);
    if (made == kStopped) return kStopped;
    steps_[index].parts.push_back(made);
    whole_.push_back(index);
    return index;
  };
  if (const newfunc maker = maker_of_view(value)) return made_of(maker, cpython::mapping_of_view(value));
  const ArrayForms* const arrays = recording.domain.arrays();
  if (PyObject* const tensor = arrays != nullptr ? arrays->tensor_in(value) : nullptr)
    return made_of(arrays->maker_of(value), tensor);
  if (PyObject* const dtype = arrays != nullptr ? arrays->dtype_behind(value) : nullptr) {
    step.kind = Kind::object;
    step.object = Ref<>::share(dtype);
    return index;
  }
  const bool needs_parts = PyTuple_Check(value) || PyFrozenSet_CheckExact(value) || PyMethod_Check(value) ||
                           PyCFunction_Check(value);
  if (!needs_parts && !is_made_here(value, recording)) return stopped();
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
  } else if (PyList_CheckExact(value)) {
    step.kind = Kind::list;
    step.storage = &PyList_Type;
  } else if (PyDict_CheckExact(value)) {
    step.kind = Kind::dict;
    step.storage = &PyDict_Type;
  } else if (PySet_CheckExact(value)) {
    step.kind = Kind::set;
    step.storage = &PySet_Type;
  } else if (is_deque(type)) {
    step.kind = Kind::instance;
    step.object = Ref<>::share(reinterpret_cast<PyObject*>(type));
    step.storage = type;
    step.construct = type->tp_new;
  } else if (type->tp_flags & Py_TPFLAGS_HEAPTYPE || type == &PyODict_Type || is_namespace(type) ||
             is_default_dict(type)) {
    step.kind = Kind::instance;
    step.object = Ref<>::share(reinterpret_cast<PyObject*>(type));
    step.storage = storage_base(type);
    step.construct = is_namespace(type) ? type->tp_new : step.storage->tp_new;
    filled_.push_back(index);
    return add_instance(index, value, capture) ? index : kStopped;
  } else {
    return stopped();
  }
  if (!needs_parts) filled_.push_back(index);
  if (!add_parts(index, value, capture)) return kStopped;
  if (PyTuple_Check(value) && !PyTuple_CheckExact(value)) {
    filled_.push_back(index);
    if (!add_attributes(index, value, capture)) return kStopped;
  }
  if (needs_parts) whole_.push_back(index);
  if (steps_[index].kind == Kind::dict) keep_constants(index);
  return index;
}

// A dictionary with constant keys is copied with all that is the same on every call; the rest is filled in.
void Rebuild::keep_constants(size_t index) {
  Step& step = steps_[index];
  const auto constant = [&](size_t part) {
    const Step& of = steps_[step.parts[part]];
    return of.kind == Kind::object ? of.object.get() : nullptr;
  };
  for (size_t i = 0; i < step.parts.size(); i += 2) {
    if (constant(i) == nullptr) return;
  }
  auto pattern = Ref<>::steal(PyDict_New());
  std::vector<size_t> varied;
  for (size_t i = 0; pattern && i < step.parts.size(); i += 2) {
    PyObject* value = constant(i + 1);
    if (value == nullptr) varied.insert(varied.end(), {step.parts[i], step.parts[i + 1]});
    if (PyDict_SetItem(pattern.get(), constant(i), value != nullptr ? value : Py_None) < 0) pattern = {};
  }
  if (!pattern) return PyErr_Clear();
  step.object = std::move(pattern);
  step.parts = std::move(varied);
}

// Those of a tensor that was made in the run.
bool Rebuild::add_tensor_attributes(size_t step, PyObject* value, Capture& capture) {
  PyObject** dict = is_fresh(capture.recording, value) ? _PyObject_GetDictPtr(value) : nullptr;
  if (dict == nullptr || *dict == nullptr || PyDict_GET_SIZE(*dict) == 0) return true;
  filled_.push_back(step);
  return add_attributes(step, value, capture);
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
  if (is_deque(Py_TYPE(value))) {
    // Its items, and behind them how many it may have.
    const auto items = Ref<>::steal(PySequence_List(value));
    const auto longest = Ref<>::steal(items ? PyObject_GetAttrString(value, "maxlen") : nullptr);
    if (!longest) return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); i++) {
      if (!part(PyList_GET_ITEM(items.get(), i))) return false;
    }
    return part(longest.get());
  }
  if (PyCFunction_Check(value)) return part(reinterpret_cast<PyCFunctionObject*>(value)->m_self);
  if (PyMethod_Check(value)) return part(PyMethod_GET_FUNCTION(value)) && part(PyMethod_GET_SELF(value));
  PyObject *key, *item;
  Py_ssize_t position = 0;
  const auto key_part = [&] {
    if (hashes_plainly(key, capture.recording)) return part(key);
    return stop(capture.recording, BreakCode::kUnguardable, "a result with keys of the program's own type");
  };
  if (PyODict_Check(value)) {
    if (!cpython::order_is_readable())
      return stop(capture.recording, BreakCode::kUnguardable, "the order of an OrderedDict");
    for (const cpython::OrderNode* node = cpython::ordered(value)->first; node != nullptr;
         node = node->next) {
      key = node->key;
      item = PyDict_GetItemWithError(value, key);
      if (item == nullptr || !key_part() || !part(item)) return false;
    }
    return true;
  }
  if (PyDict_Check(value)) {
    while (PyDict_Next(value, &position, &key, &item)) {
      if (!key_part() || !part(item)) return false;
    }
    return true;
  }
  steps_[step].layout = cpython::SetLayout::unless_plain(value);
  Py_hash_t hash;
  while (_PySet_NextEntry(value, &position, &key, &hash)) {
    if (!key_part()) return false;
  }
  return true;
}

bool Rebuild::add_slot(size_t step, PyObject* value, PyObject* descriptor, Capture& capture) {
  const Ref<> content = read_slot(value, descriptor);
  if (!content) return true;
  const size_t index = add(content.get(), capture);
  if (index == kStopped) return false;
  steps_[step].slots.emplace_back(Ref<>::share(descriptor), index);
  return true;
}

// An instance of a Python class over object, list, dict or OrderedDict: its state is its items, its
// dictionary and its slots.
bool Rebuild::add_instance(size_t step, PyObject* value, Capture& capture) {
  PyTypeObject* type = Py_TYPE(value);
  if (is_namespace(type)) return add_attributes(step, value, capture);
  if (is_default_dict(type)) {
    PyObject* factory =
        _PyType_Lookup(type, Ref<>::steal(PyUnicode_InternFromString("default_factory")).get());
    return factory != nullptr && add_slot(step, value, factory, capture) && add_parts(step, value, capture);
  }
  PyTypeObject* base = storage_base(type);
  const auto refuse = [&] {
    return stop(capture.recording, BreakCode::kUnguardable, std::string("a result of type ") + type->tp_name);
  };
  for (PyTypeObject* at = type; at != base; at = at->tp_base) {
    if (at == nullptr || !cpython::is_python_class(at)) return refuse();
    const Ref<> dict = cpython::type_dict(at);
    PyObject *name, *descriptor;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict.get(), &position, &name, &descriptor)) {
      if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) continue;
      if (!cpython::is_slot(descriptor)) return refuse();
      if (!add_slot(step, value, descriptor, capture)) return false;
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
  make_fresh(capture.recording, attributes.get());
  // Attributes are set one by one, which makes no dictionary, unless the class would take them for its own
  // or the dictionary itself is at hand already.
  bool settable = capture.made.count(attributes.get()) == 0;
  PyObject *name, *content;
  Py_ssize_t position = 0;
  while (settable && PyDict_Next(attributes.get(), &position, &name, &content)) {
    PyObject* on_type = PyUnicode_CheckExact(name) ? _PyType_Lookup(Py_TYPE(value), name) : name;
    settable = on_type == nullptr || (on_type != name && Py_TYPE(on_type)->tp_descr_set == nullptr);
  }
  if (!settable) {
    const size_t index = add(attributes.get(), capture);
    steps_[step].attributes = index;
    attributed_.push_back(step);
    return index != kStopped;
  }
  capture.owners.emplace(attributes.get(), step);
  position = 0;
  while (PyDict_Next(attributes.get(), &position, &name, &content)) {
    const size_t index = add(content, capture);
    if (index == kStopped) return false;
    steps_[step].fields.push_back({Ref<>::share(name), index, stator_value_index(Py_TYPE(value), name)});
  }
  return true;
}

}  // namespace stator
