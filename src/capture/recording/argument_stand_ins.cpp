// capture/recording/argument_stand_ins.cpp: what stands for a part of the arguments once it is read.
//
// A tracer stands for a tensor, a container of the same type for a container or plain instance, whose items
// are unread at first. So the arguments of a later call may be other objects, as long as they look alike in
// what was read. Everything else is the object that was given, and so is what the function also reaches by
// itself or is given twice: a copy of that would break aliasing.
#include "capture/arguments/plain_dict.h"
#include "capture/cpython/exported.h"
#include "capture/cpython/finalizers.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/python_class.h"
#include "capture/cpython/type_dict.h"
#include "capture/guards/function_parts.h"
#include "capture/recording/argument_functions.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"
#include "capture/recording/tensor_attributes.h"
#include "capture/recording/unread_value.h"

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

bool is_plain_set(PyObject* value) {
  return PySet_CheckExact(value) && each_item(value, [](PyObject* item) { return is_constant(item); });
}

using Kind = Argument::Kind;
using StepKind = ArgumentStep::Kind;

// Comparing and destroying the tree recurses.
constexpr size_t kMostLevels = 400;

bool stand_for_tensor(Recording& recording, Argument& argument) {
  PyObject* const value = argument.real;
  const Domain& domain = recording.domain;
  const std::string name = argument.name();
  argument.kind = Kind::tensor;
  argument.tensor = recording.arguments.tensors.size();
  recording.arguments.tensors.push_back(value);
  uint64_t changing = recording.varying->sizes(name);
  if (recording.varying->policy != DynamicSizes::never) changing = domain.marked_sizes(value, changing);
  if (changing != 0) recording.has_symbols = true;
  argument.stands = recording.capture.input(value, name, changing, argument.guard);
  if (!argument.guard && !PyErr_Occurred()) return stop(recording, BreakCode::kTensorSubclass, name);
  if (!argument.stands || !argument.guard) return false;
  // C code of the domain's calls methods of classes of the program's.
  if (domain.is_class_of_program(Py_TYPE(value)) && !read_type(recording, Py_TYPE(value))) return false;
  make_given_tensor(recording, argument.stands.get(), value, name, false);
  recording.arguments.by_tracer.emplace(argument.stands.get(), &argument);
  return true;
}

// An array of the caller's: captured code sees another one, on a tracer. Nothing: it is none.
std::optional<bool> stand_for_array(Recording& recording, Argument& argument) {
  const ArrayForms* const arrays = recording.domain.arrays();
  const Ref<> tensor = arrays != nullptr ? arrays->tensor_on(argument.real) : Ref<>();
  if (!tensor) return PyErr_Occurred() ? std::optional(false) : std::nullopt;
  if (!recording.arguments.copied.insert(argument.real).second) {
    recording.arguments.repeated.insert(argument.real);
    return stop(recording, BreakCode::kUnguardable, "one array is given twice");
  }
  PyObject* const array = std::exchange(argument.real, tensor.get());
  recording.arguments.kept.push_back(tensor);
  const bool stands = stand_for_tensor(recording, argument);
  argument.real = array;
  if (!stands) return false;
  recording.arguments.by_tracer.erase(argument.stands.get());
  recording.arguments.kept.push_back(argument.stands);
  argument.arrays = arrays;
  argument.stands = arrays->array_on(argument.stands.get());
  if (!argument.stands) return false;
  make_fresh(recording, argument.stands.get());
  recording.arguments.by_array.emplace(argument.stands.get(), &argument);
  return true;
}

// A number that varies gets a symbol; nothing stands for any other value.
bool stand_for_symbol(Recording& recording, Argument& argument) {
  PyObject* const value = argument.real;
  if (!recording.varying->has_places() || !(PyLong_CheckExact(value) || PyFloat_CheckExact(value)))
    return true;
  const std::string name = argument.name();
  if (!recording.varying->is_place(name)) return true;
  DomainCapture::NumberSymbol symbol = recording.capture.number(value, name);
  if (!symbol.stands) return !PyErr_Occurred();
  recording.has_symbols = true;
  argument.kind = Kind::number;
  argument.is_real = symbol.is_real;
  argument.symbol = symbol.index;
  recording.arguments.by_symbol.emplace(symbol.stands.get(), &argument);
  argument.stands = std::move(symbol.stands);
  return true;
}

// It keeps the locals of frames, and nobody may keep it. Nor is one that is caught ever the same again.
bool holds_frames(PyObject* value) {
  return PyTraceBack_Check(value) || PyFrame_Check(value) ||
         (PyExceptionInstance_Check(value) && Ref<>::steal(PyException_GetTraceback(value)));
}

// All that instances hold is in slots and a dictionary, or guarded at once with the object: items of tuples.
bool is_guarded_by_parts(PyTypeObject* type) {
  while (cpython::is_python_class(type)) type = type->tp_base;
  return type == &PyBaseObject_Type || type == &PyTuple_Type;
}

// The capture shall not take part in how long the object lives.
void watch(Argument& argument) {
  PyObject* const value = argument.real;
  argument.kept = Ref<>::steal(PyWeakref_NewRef(value, nullptr));
  argument.watched = Argument::Watched::itself;
  if (argument.kept) return;
  drop_error();
  if (cpython::is_python_class(Py_TYPE(value)) && is_guarded_by_parts(Py_TYPE(value))) {
    argument.watched = Argument::Watched::its_class;
    argument.kept = Ref<>::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value)), nullptr));
    if (argument.kept) return;
    drop_error();
  }
  argument.watched = Argument::Watched::kept_alive;
  argument.kept = Ref<>::share(value);
}

bool stand_for_object(Recording& recording, Argument& argument) {
  PyObject* const value = argument.real;
  if (holds_frames(value)) return stop(recording, BreakCode::kFrameIntrospection, argument.name());
  argument.kind = Kind::object;
  argument.expected.object = value;
  argument.object_type = Py_TYPE(value);
  const std::string name = argument.name();
  watch(argument);
  pin(recording, value, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString(name.c_str()))});
  argument.stands = Ref<>::share(value);
  return true;
}

Ref<> unread_sequence(PyObject* value) {
  const bool is_tuple = PyTuple_Check(value);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
  Ref<> copy = Ref<>::steal(is_tuple ? PyTuple_New(count) : PyList_New(count));
  for (Py_ssize_t i = 0; copy && i < count; i++) {
    if (is_tuple) {
      PyTuple_SET_ITEM(copy.get(), i, Py_NewRef(unread_item()));
    } else {
      PyList_SET_ITEM(copy.get(), i, Py_NewRef(unread_item()));
    }
  }
  if (!copy || !is_tuple || PyTuple_CheckExact(value)) return copy;
  auto arguments = Ref<>::steal(PyTuple_Pack(1, copy.get()));
  return Ref<>::steal(arguments ? PyTuple_Type.tp_new(Py_TYPE(value), arguments.get(), nullptr) : nullptr);
}

bool fill_unread(Recording& recording, PyObject* from, PyObject* to) {
  const bool is_ordered = PyODict_Check(to);
  return each_pair(from, [&](PyObject* key, PyObject*) {
    if (!is_constant(key))
      return stop(recording, BreakCode::kUnguardable,
                  "a dictionary argument with keys that are no constants");
    return (is_ordered ? PyODict_SetItem(to, key, unread_item()) : PyDict_SetItem(to, key, unread_item())) ==
           0;
  });
}

Ref<> unread_mapping(Recording& recording, PyObject* value) {
  const auto none = Ref<>::steal(PyTuple_New(0));
  Ref<> copy = Ref<>::steal(
      none ? (PyODict_Check(value) ? PyODict_Type : PyDict_Type).tp_new(Py_TYPE(value), none.get(), nullptr)
           : nullptr);
  return copy && fill_unread(recording, value, copy.get()) ? std::move(copy) : Ref<>();
}

// The dictionary of what stands for an instance stands for that of the instance.
bool stand_for_attributes(Recording& recording, Argument& argument, PyObject* copy) {
  const Ref<> attributes = attributes_of(argument.real);
  Ref<> copied = attributes_of(copy);
  if (!attributes || !copied || !fill_unread(recording, attributes.get(), copied.get())) return false;
  // The class leads to its methods.
  pin(recording, reinterpret_cast<PyObject*>(Py_TYPE(argument.real)), {Origin::type_of, argument.real, {}});
  argument.children.push_back(
      std::make_unique<Argument>(&argument, ArgumentStep{StepKind::attributes, 0, {}}, attributes.get()));
  Argument& child = *argument.children.back();
  child.kind = Kind::dict;
  child.type =
      Ref<>::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(attributes.get())), nullptr));
  recording.arguments.by_stand_in.emplace(copied.get(), &child);
  child.stands = std::move(copied);
  return static_cast<bool>(child.type);
}

Ref<> unread_instance(PyObject* value) {
  auto none = Ref<>::steal(PyTuple_New(0));
  return Ref<>::steal(none ? PyBaseObject_Type.tp_new(Py_TYPE(value), none.get(), nullptr) : nullptr);
}

// What stands for a container, instance, function or method; argument.kind says which.
Ref<> make_stand_in(Recording& recording, Argument& argument) {
  PyObject* const value = argument.real;
  switch (argument.kind) {
    case Kind::method:
      return stand_for_method(recording, argument);
    case Kind::function:
      return stand_for_function(recording, argument);
    case Kind::instance: {
      Ref<> copy = unread_instance(value);
      return copy && stand_for_attributes(recording, argument, copy.get()) ? std::move(copy) : Ref<>();
    }
    case Kind::set:
      return cpython::copy_set(value);
    case Kind::dict: {
      Ref<> copy = unread_mapping(recording, value);
      return copy && (is_plain_dict(value) || stand_for_attributes(recording, argument, copy.get()))
                 ? std::move(copy)
                 : Ref<>();
    }
    case Kind::tuple:
    case Kind::list:
      return unread_sequence(value);
    case Kind::unread:
    case Kind::tensor:
    case Kind::constant:
    case Kind::number:
    case Kind::immutable:
    case Kind::object:
      break;  // given as they are, or made elsewhere
  }
  PyErr_SetString(PyExc_SystemError, "an argument of this kind has no stand-in");
  return {};
}

// Of what kind the stand-in is; Kind::object: there is none.
Kind kind_of(Recording& recording, Argument& argument) {
  PyObject* const value = argument.real;
  if (PyTuple_CheckExact(value)) return Kind::tuple;
  if (PyList_CheckExact(value)) return Kind::list;
  if (is_plain_dict(value)) return Kind::dict;
  if (is_named_tuple(value)) return Kind::tuple;
  if (Py_IS_TYPE(value, &PyMethod_Type)) return Kind::method;
  if (is_plain_set(value)) return Kind::set;
  argument.deep = argument.deep || recording.varying->object(argument.name());
  if ((argument.deep || has_class_attribute(Py_TYPE(value), "__dataclass_fields__")) &&
      is_plain_instance(value))
    return Kind::instance;
  if (argument.deep && is_dict_instance(value)) return Kind::dict;
  if (argument.deep && is_plain_function(value)) return Kind::function;
  return Kind::object;
}

}  // namespace

bool stand_for(Recording& recording, Argument& argument) {
  if (argument.stands) return true;
  PyObject* const value = argument.real;
  if (recording.by_identity->count(value) != 0) return stand_for_object(recording, argument);
  if (recording.domain.is_tensor(value)) return stand_for_tensor(recording, argument);
  if (const std::optional<bool> stands = stand_for_array(recording, argument)) return *stands;
  if (!stand_for_symbol(recording, argument)) return false;
  if (argument.stands) return true;
  if (recording.takes_up_frame && PyUnicode_CheckExact(value) && recording.varying->text(argument.name()))
    return stop(recording, BreakCode::kUnguardable, "a text that is another one in each run");
  if (is_constant(value)) {
    note_constant(recording, value, nullptr, nullptr);
    argument.kind = Kind::constant;
    argument.expected = expect(value);
    argument.stands = Ref<>::share(value);
    return true;
  }
  if (recording.domain.is_immutable(value)) {
    argument.kind = Kind::immutable;
    argument.kept = argument.stands = Ref<>::share(value);
    return true;
  }
  const Kind kind = kind_of(recording, argument);
  if (kind == Kind::object) return stand_for_object(recording, argument);
  if (argument.depth > kMostLevels)
    return stop(recording, BreakCode::kUnguardable, "arguments that are nested very deeply");
  argument.kind = kind;
  argument.type = Ref<>::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(value)), nullptr));
  if (!argument.type) return false;
  if (kind != Kind::tuple && kind != Kind::method && !recording.arguments.copied.insert(value).second) {
    // The capture begins again, and this one is then given as it is.
    recording.arguments.repeated.insert(value);
    return stop(recording, BreakCode::kUnguardable, "one list or dictionary is given twice");
  }
  argument.stands = make_stand_in(recording, argument);
  if (!argument.stands) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_SystemError, "no stand-in for an argument");
    return false;
  }
  // There is one empty tuple in the process: it would stand for this argument, others and constants at once.
  const bool is_shared = PyTuple_CheckExact(value) && PyTuple_GET_SIZE(value) == 0;
  if (is_shared) {
    argument.length = 0;
  } else {
    recording.arguments.by_stand_in.emplace(argument.stands.get(), &argument);
  }
  return true;
}

}  // namespace stator
