// capture/arguments/describe.cpp: describing the arguments of a call that is captured, and making
// what stands for them.
#include "capture/arguments/argument_paths.h"
#include "capture/arguments/spec.h"
#include "capture/cpython/exported.h"
#include "capture/cpython/finalizers.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/type_dict.h"
#include "capture/engine/native_stack.h"
#include "capture/objects/function_parts.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/tensor_attributes.h"

namespace stator {
namespace {

bool has_class_attribute(PyTypeObject* type, const char* name) {
  auto key = Ref<>::steal(PyUnicode_InternFromString(name));
  return key && _PyType_Lookup(type, key.get()) != nullptr;
}

// All that an instance of it has is its dictionary, beside what makes it a `base`. Classes with a metaclass
// of their own (enums among them) may care which objects there are.
bool is_plain_class(PyTypeObject* type, PyTypeObject* base) {
  if (Py_TYPE(type) != &PyType_Type && std::string_view(Py_TYPE(type)->tp_name) != "ABCMeta") return false;
  for (PyTypeObject* at = type; at != base; at = at->tp_base) {
    if (at == nullptr || !cpython::is_python_class(at)) return false;
    const Ref<> dict = cpython::type_dict(at);
    PyObject *name, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict.get(), &position, &name, &value)) {
      if (Py_IS_TYPE(value, &PyMemberDescr_Type)) return false;
    }
  }
  return true;
}

bool is_plain_instance(PyObject* value, PyTypeObject* base = &PyBaseObject_Type) {
  if (PyType_Check(value) || cpython::has_finalizer(value) || !is_plain_class(Py_TYPE(value), base))
    return false;
  const Ref<> attributes = attributes_of(value);
  if (!attributes) return false;
  PyObject *name, *item;
  Py_ssize_t position = 0;
  while (PyDict_Next(attributes.get(), &position, &name, &item)) {
    if (!PyUnicode_CheckExact(name)) return false;
  }
  return true;
}

// A dictionary with attributes: `ModelOutput` of transformers, which holds all that it has in both ways.
bool is_dict_instance(PyObject* value) {
  if (!PyDict_Check(value) || (PyODict_Check(value) && !cpython::order_is_readable())) return false;
  return is_plain_instance(value, PyODict_Check(value) ? &PyODict_Type : &PyDict_Type);
}

// Named tuples: nothing but their items.
bool is_named_tuple(PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  return PyTuple_Check(value) && type->tp_base == &PyTuple_Type && type->tp_flags & Py_TPFLAGS_HEAPTYPE &&
         type->tp_dictoffset == 0 && has_class_attribute(type, "_fields") && !cpython::has_finalizer(value);
}

// A set of constants whose copy is walked through in the same order.
bool is_plain_set(PyObject* value) {
  if (!PySet_CheckExact(value)) return false;
  const Ref<> copy = Ref<>::steal(PySet_New(value));
  if (!copy) PyErr_Clear();
  PyObject *item, *copied;
  Py_hash_t hash;
  Py_ssize_t position = 0, position_in_copy = 0;
  while (copy && _PySet_NextEntry(value, &position, &item, &hash)) {
    if (!is_constant(item) || !_PySet_NextEntry(copy.get(), &position_in_copy, &copied, &hash) ||
        item != copied)
      return false;
  }
  return static_cast<bool>(copy);
}

}  // namespace

Ref<> ArgumentSpec::describe_child(PyObject* item, const std::string& key, bool whole,
                                   ArgumentsInCapture& in) {
  // Names of places grow with their depth, and specs are matched and destroyed by recursion.
  constexpr size_t kMostLevels = 400;
  if (in.depth == kMostLevels || native_stack_low()) {
    stop(in.recording, BreakCode::kUnguardable, "arguments that are nested very deeply");
    return {};
  }
  children_.emplace_back();
  ArgumentSpec inner;
  in.depth++;
  Ref<> stands = describe(item, name_ + key, whole, in, inner);
  in.depth--;
  children_.back() = std::move(inner);
  return stands;
}

Ref<> ArgumentSpec::describe(PyObject* value, const std::string& name, bool whole, ArgumentsInCapture& in,
                             ArgumentSpec& spec) {
  spec.name_ = name;
  const Domain& domain = in.recording.domain;
  if (in.by_identity.count(value) != 0) return spec.describe_object(value, in);
  if (domain.is_tensor(value)) {
    spec.kind_ = Kind::tensor;
    in.tensors.push_back(value);
    uint64_t changing = in.varying.sizes(name);
    if (in.varying.policy != DynamicSizes::never) changing = domain.marked_sizes(value, changing);
    if (changing != 0) in.recording.has_symbols = true;
    Ref<> tracer = in.capture.input(value, name, changing, spec.guard_);
    if (!spec.guard_) {
      if (!PyErr_Occurred()) stop(in.recording, BreakCode::kTensorSubclass, name);
      return {};
    }
    if (tracer) make_given_tensor(in.recording, tracer.get(), value, name);
    return tracer;
  }
  if (Ref<> stands; spec.describe_number(value, in, stands)) return stands;
  if (is_constant(value)) {
    note_constant(in.recording, value, nullptr, nullptr);
    spec.kind_ = Kind::constant;
    spec.expected_ = expect(value);
    return Ref<>::share(value);
  }
  if (domain.is_immutable(value)) {
    spec.kind_ = Kind::immutable;
    spec.kept_ = Ref<>::share(value);
    return Ref<>::share(value);
  }
  whole = whole || in.varying.object(name);
  const bool is_tuple = PyTuple_CheckExact(value) || is_named_tuple(value);
  const bool is_instance =
      (whole || has_class_attribute(Py_TYPE(value), "__dataclass_fields__")) && is_plain_instance(value);
  const bool is_dict = is_plain_dict(value) || (whole && is_dict_instance(value));
  const bool is_set = is_plain_set(value);
  const bool is_function = whole && is_plain_function(value);
  const bool is_method = Py_IS_TYPE(value, &PyMethod_Type);
  if (!is_tuple && !is_instance && !is_dict && !is_set && !is_function && !is_method &&
      !PyList_CheckExact(value))
    return spec.describe_object(value, in);
  spec.type_ = Ref<>::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value)), nullptr));
  if (!spec.type_) return {};
  if (!is_tuple && !is_method && !in.copied.insert(value).second) {
    in.repeated.insert(value);  // the capture begins again, and this one is then given as it is
    return Ref<>::share(value);
  }
  if (is_method) return spec.copy_method(value, whole, in);
  if (is_function) return spec.copy_function(value, in);
  Ref<> copy = is_instance ? spec.copy_instance(value, whole, in)
               : is_set    ? spec.copy_set(value)
               : is_dict   ? spec.copy_mapping(value, whole, in)
                           : spec.copy_sequence(value, whole, in);
  if (copy) make_given(in.recording, copy.get());
  return copy;
}

// Whether it is a symbol, or an error is set.
bool ArgumentSpec::describe_number(PyObject* value, ArgumentsInCapture& in, Ref<>& stands) {
  if (!(PyLong_CheckExact(value) || PyFloat_CheckExact(value)) || !in.varying.is_place(name_)) return false;
  DomainCapture::NumberSymbol symbol = in.capture.number(value, name_);
  if (PyErr_Occurred()) return true;
  if (!symbol.stands) return false;
  in.recording.has_symbols = true;
  kind_ = Kind::number;
  is_real_ = symbol.is_real;
  symbol_ = symbol.index;
  stands = std::move(symbol.stands);
  return true;
}

Ref<> ArgumentSpec::describe_object(PyObject* value, ArgumentsInCapture& in) {
  kind_ = Kind::object;
  expected_.object = value;
  object_type_ = Py_TYPE(value);
  kept_ = Ref<>::steal(PyWeakref_NewRef(value, nullptr));
  weak_ = static_cast<bool>(kept_);
  if (!weak_) {
    PyErr_Clear();
    if (PyTraceBack_Check(value) || PyFrame_Check(value)) {
      // It keeps the locals of frames, and nobody may keep it.
      stop(in.recording, BreakCode::kFrameIntrospection, name_);
      return {};
    }
    kept_ = Ref<>::share(value);
  }
  pin(in.recording, value, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString(name_.c_str()))});
  return Ref<>::share(value);
}

Ref<> ArgumentSpec::copy_sequence(PyObject* value, bool whole, ArgumentsInCapture& in) {
  const bool is_tuple = PyTuple_Check(value);
  kind_ = is_tuple ? Kind::tuple : Kind::list;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
  Ref<> copy = Ref<>::steal(is_tuple ? PyTuple_New(count) : PyList_New(count));
  for (Py_ssize_t i = 0; copy && i < count; i++) {
    Ref<> item = describe_child(PySequence_Fast_GET_ITEM(value, i), "[" + std::to_string(i) + "]", whole, in);
    if (!item) return {};
    if (is_tuple) {
      PyTuple_SET_ITEM(copy.get(), i, item.release());
    } else {
      PyList_SET_ITEM(copy.get(), i, item.release());
    }
  }
  if (!copy || !is_tuple || PyTuple_CheckExact(value)) return copy;
  auto arguments = Ref<>::steal(PyTuple_Pack(1, copy.get()));
  return Ref<>::steal(arguments ? PyTuple_Type.tp_new(Py_TYPE(value), arguments.get(), nullptr) : nullptr);
}

Ref<> ArgumentSpec::copy_set(PyObject* value) {
  kind_ = Kind::set;
  PyObject* item;
  Py_hash_t hash;
  Py_ssize_t position = 0;
  while (_PySet_NextEntry(value, &position, &item, &hash)) keys_.push_back(Ref<>::share(item));
  return Ref<>::steal(PySet_New(value));
}

Ref<> ArgumentSpec::copy_mapping(PyObject* value, bool whole, ArgumentsInCapture& in) {
  kind_ = Kind::dict;
  const bool is_ordered = PyODict_Check(value);
  const auto none = Ref<>::steal(PyTuple_New(0));
  Ref<> copy = Ref<>::steal(
      none ? (is_ordered ? PyODict_Type : PyDict_Type).tp_new(Py_TYPE(value), none.get(), nullptr) : nullptr);
  const bool done = copy && each_pair(value, [&](PyObject* key, PyObject* item) {
                      if (!is_constant(key))
                        return stop(in.recording, BreakCode::kUnguardable,
                                    "a dictionary argument with keys that are no constants");
                      keys_.push_back(Ref<>::share(key));
                      const Ref<> stands = describe_child(item, "[" + repr_of(key) + "]", whole, in);
                      return stands && (is_ordered ? PyODict_SetItem(copy.get(), key, stands.get())
                                                   : PyDict_SetItem(copy.get(), key, stands.get())) == 0;
                    });
  if (!done || is_plain_dict(value)) return done ? copy : Ref<>();
  items_ = keys_.size();
  return copy_attributes(value, copy.get(), whole, in) ? copy : Ref<>();
}

Ref<> ArgumentSpec::copy_instance(PyObject* value, bool whole, ArgumentsInCapture& in) {
  kind_ = Kind::instance;
  auto none = Ref<>::steal(PyTuple_New(0));
  Ref<> copy = Ref<>::steal(none ? PyBaseObject_Type.tp_new(Py_TYPE(value), none.get(), nullptr) : nullptr);
  return copy && copy_attributes(value, copy.get(), whole, in) ? copy : Ref<>();
}

bool ArgumentSpec::copy_attributes(PyObject* value, PyObject* copy, bool whole, ArgumentsInCapture& in) {
  const Ref<> attributes = attributes_of(value), copied = attributes_of(copy);
  if (!attributes || !copied) return false;
  // The class leads to its methods.
  pin(in.recording, reinterpret_cast<PyObject*>(Py_TYPE(value)), {Origin::type_of, value, {}});
  make_given(in.recording, copied.get());
  return each_pair(attributes.get(), [&](PyObject* name, PyObject* item) {
    keys_.push_back(Ref<>::share(name));
    const Ref<> stands = describe_child(item, std::string(".") + PyUnicode_AsUTF8(name), whole, in);
    return stands && PyDict_SetItem(copied.get(), name, stands.get()) == 0;
  });
}

}  // namespace stator
