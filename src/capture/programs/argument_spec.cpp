// capture/programs/argument_spec.cpp: describing and matching arguments.
#include "capture/programs/argument_spec.h"

namespace stator {

static std::string text_of(PyObject* object) {
  auto repr = Ref<>::steal(PyObject_Repr(object));
  const char* utf8 = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 != nullptr ? utf8 : "?";
}

Ref<> ArgumentSpec::describe(PyObject* value, const std::string& name, const Varying& varying,
                             Recording& recording, DomainCapture& capture, std::vector<PyObject*>& tensors,
                             ArgumentSpec& spec) {
  spec.name_ = name;
  const Domain& domain = recording.domain();
  if (domain.is_tensor(value)) {
    spec.kind_ = Kind::tensor;
    tensors.push_back(value);
    uint64_t changing = varying.sizes(name);
    if (varying.policy != DynamicSizes::never) changing = domain.marked_sizes(value, changing);
    if (changing != 0) recording.expect_symbols();
    Ref<> tracer = capture.input(value, name, changing, spec.guard_);
    if (!spec.guard_) {
      if (!PyErr_Occurred()) recording.stop(BreakCode::kTensorSubclass, name);
      return {};
    }
    if (tracer) recording.make_given(tracer.get());
    return tracer;
  }
  if ((PyLong_CheckExact(value) || PyFloat_CheckExact(value)) && varying.number(name)) {
    DomainCapture::NumberSymbol symbol = capture.number(value, name);
    if (PyErr_Occurred()) return {};
    if (symbol.stands) {
      recording.expect_symbols();
      spec.kind_ = Kind::number;
      spec.is_real_ = symbol.is_real;
      spec.symbol_ = symbol.index;
      return std::move(symbol.stands);
    }
  }
  if (is_constant(value)) {
    spec.kind_ = Kind::constant;
    spec.expected_ = expect(value);
    return Ref<>::share(value);
  }
  if (domain.is_immutable(value)) {
    spec.kind_ = Kind::immutable;
    spec.kept_ = Ref<>::share(value);
    return Ref<>::share(value);
  }
  const auto child = [&](PyObject* item, const std::string& key) {
    spec.children_.emplace_back();
    ArgumentSpec inner;
    Ref<> stands = describe(item, name + key, varying, recording, capture, tensors, inner);
    spec.children_.back() = std::move(inner);
    return stands;
  };
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value)) {
    const bool is_tuple = PyTuple_CheckExact(value);
    spec.kind_ = is_tuple ? Kind::tuple : Kind::list;
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
    Ref<> copy = Ref<>::steal(is_tuple ? PyTuple_New(count) : PyList_New(count));
    for (Py_ssize_t i = 0; copy && i < count; i++) {
      Ref<> item = child(PySequence_Fast_GET_ITEM(value, i), "[" + std::to_string(i) + "]");
      if (!item) return {};
      if (is_tuple) {
        PyTuple_SET_ITEM(copy.get(), i, item.release());
      } else {
        PyList_SET_ITEM(copy.get(), i, item.release());
      }
    }
    if (copy) recording.make_given(copy.get());
    return copy;
  }
  if (PyDict_CheckExact(value)) {
    spec.kind_ = Kind::dict;
    Ref<> copy = Ref<>::steal(PyDict_New());
    PyObject *key, *item;
    Py_ssize_t position = 0;
    while (copy && PyDict_Next(value, &position, &key, &item)) {
      if (!is_constant(key)) {
        recording.stop(BreakCode::kUnguardable, "a dictionary argument with keys that are no constants");
        return {};
      }
      spec.keys_.push_back(Ref<>::share(key));
      Ref<> stands = child(item, "[" + text_of(key) + "]");
      if (!stands || PyDict_SetItem(copy.get(), key, stands.get()) < 0) return {};
    }
    if (copy) recording.make_given(copy.get());
    return copy;
  }
  spec.kind_ = Kind::object;
  spec.expected_.object = value;
  spec.kept_ = Ref<>::steal(PyWeakref_NewRef(value, nullptr));
  spec.weak_ = static_cast<bool>(spec.kept_);
  if (!spec.weak_) {
    PyErr_Clear();
    if (PyTraceBack_Check(value) || PyFrame_Check(value)) {
      // It keeps the locals of frames, and nobody may keep it.
      recording.stop(BreakCode::kFrameIntrospection, name);
      return {};
    }
    spec.kept_ = Ref<>::share(value);
  }
  recording.pin(value, {Origin::root, nullptr, Ref<>::steal(PyUnicode_FromString(name.c_str()))});
  return Ref<>::share(value);
}

bool ArgumentSpec::matches(PyObject* value, std::vector<PyObject*>& tensors,
                           shape::Bindings& bindings) const {
  switch (kind_) {
    case Kind::tensor:
      if (!guard_->holds(value, bindings)) return false;
      tensors.push_back(value);
      return true;
    case Kind::constant:
      return expected_.matches(value);
    case Kind::number:
      return bind_number(value, is_real_, symbol_, bindings);
    case Kind::immutable:
      if (value == kept_.get()) return true;
      return Py_TYPE(value) == Py_TYPE(kept_.get()) &&
             PyObject_RichCompareBool(value, kept_.get(), Py_EQ) == 1;
    case Kind::tuple:
    case Kind::list: {
      if (kind_ == Kind::tuple ? !PyTuple_CheckExact(value) : !PyList_CheckExact(value)) return false;
      if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(children_.size())) return false;
      for (size_t i = 0; i < children_.size(); i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i));
        if (!children_[i].matches(item, tensors, bindings)) return false;
      }
      return true;
    }
    case Kind::dict: {
      if (!PyDict_CheckExact(value) || PyDict_GET_SIZE(value) != static_cast<Py_ssize_t>(children_.size()))
        return false;
      PyObject *key, *item;
      Py_ssize_t position = 0;
      for (size_t i = 0; i < children_.size(); i++) {
        if (!PyDict_Next(value, &position, &key, &item)) return false;
        if (!expect(keys_[i].get()).matches(key) || !children_[i].matches(item, tensors, bindings))
          return false;
      }
      return true;
    }
    case Kind::object:
      return value == expected_.object && (weak_ ? PyWeakref_GET_OBJECT(kept_.get()) == value : true);
  }
  return false;
}

bool ArgumentSpec::note_changes(PyObject* value, Varying& varying) const {
  switch (kind_) {
    case Kind::tensor:
      varying.note_sizes(name_, guard_->changed_sizes(value));
      return true;
    case Kind::constant:
      // True and False are values of a flag, not sizes of something.
      if (Py_TYPE(value) == Py_TYPE(expected_.object) && !expected_.matches(value) &&
          (PyLong_CheckExact(value) || PyFloat_CheckExact(value)))
        varying.note_number(name_);
      return true;
    case Kind::tuple:
    case Kind::list: {
      if (kind_ == Kind::tuple ? !PyTuple_CheckExact(value) : !PyList_CheckExact(value)) return false;
      if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(children_.size())) return false;
      bool same = true;
      for (size_t i = 0; i < children_.size(); i++) {
        PyObject* item = PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i));
        same = children_[i].note_changes(item, varying) && same;
      }
      return same;
    }
    case Kind::dict: {
      if (!PyDict_CheckExact(value) || PyDict_GET_SIZE(value) != static_cast<Py_ssize_t>(children_.size()))
        return false;
      PyObject *key, *item;
      Py_ssize_t position = 0;
      bool same = true;
      for (size_t i = 0; i < children_.size() && PyDict_Next(value, &position, &key, &item); i++) {
        if (!expect(keys_[i].get()).matches(key)) return false;
        same = children_[i].note_changes(item, varying) && same;
      }
      return same;
    }
    case Kind::object:
      return value == expected_.object && (weak_ ? PyWeakref_GET_OBJECT(kept_.get()) == value : true);
    default:
      return true;
  }
}

std::string ArgumentSpec::text() const {
  switch (kind_) {
    case Kind::tensor:
      return name_ + " is " + guard_->expected();
    case Kind::constant:
    case Kind::immutable:
      return name_ + " == " + text_of(kind_ == Kind::constant ? expected_.object : kept_.get());
    case Kind::number:
      return name_ + " is " + (is_real_ ? "a float" : "an int");
    case Kind::object:
      return name_ + " is the same object";
    default: {
      std::string all = name_ + " has " + std::to_string(children_.size()) + " items";
      for (const ArgumentSpec& child : children_) all += "; " + child.text();
      return all;
    }
  }
}

}  // namespace stator
