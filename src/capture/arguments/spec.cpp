// capture/arguments/spec.cpp: matching arguments with those of the capture.
#include "capture/arguments/spec.h"

#include "capture/arguments/argument_paths.h"
#include "capture/cpython/exported.h"
#include "capture/objects/function_parts.h"

namespace stator {

template <class Visit>
bool ArgumentSpec::each_item(PyObject* value, Visit&& visit) const {
  if (Py_TYPE(value) != type()) return false;
  if (kind_ == Kind::tuple || kind_ == Kind::list) {
    if (PySequence_Fast_GET_SIZE(value) != static_cast<Py_ssize_t>(children_.size())) return false;
    for (size_t i = 0; i < children_.size(); i++) {
      if (!visit(children_[i], PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i)))) return false;
    }
    return true;
  }
  if (kind_ == Kind::set) {
    size_t count = 0;
    PyObject* item;
    Py_hash_t hash;
    Py_ssize_t position = 0;
    while (_PySet_NextEntry(value, &position, &item, &hash)) {
      if (count == keys_.size() || !expect(keys_[count++].get()).matches(item)) return false;
    }
    return count == keys_.size();
  }
  if (kind_ == Kind::method)
    return visit(children_[0], PyMethod_GET_FUNCTION(value)) && visit(children_[1], PyMethod_GET_SELF(value));
  if (kind_ == Kind::function) {
    size_t part = 0;
    return is_alike(value) &&
           each_part(value, [&](PyObject* item) { return visit(children_[part++], item); });
  }
  size_t i = 0;
  const auto each_in = [&](PyObject* dict, size_t count) {
    return dict != nullptr && PyDict_GET_SIZE(dict) == static_cast<Py_ssize_t>(count) &&
           each_pair(dict, [&](PyObject* key, PyObject* item) {
             const bool same_key = expect(keys_[i].get()).matches(key);
             return same_key && visit(children_[i++], item);
           });
  };
  if (kind_ == Kind::dict && !each_in(value, items_.value_or(children_.size()))) return false;
  return (kind_ == Kind::dict && !items_) ||
         each_in(attributes_of(value).get(), children_.size() - items_.value_or(0));
}

ArgumentSpec ArgumentSpec::unread(PyObject* value, const std::string& name) {
  ArgumentSpec spec;
  spec.kind_ = Kind::unread;
  spec.name_ = name;
  spec.object_type_ = Py_TYPE(value);
  return spec;
}

bool ArgumentSpec::is_same(PyObject* value) const {
  return value == expected_.object && (!weak_ || PyWeakref_GET_OBJECT(kept_.get()) == value);
}

bool ArgumentSpec::matches(PyObject* value, CallValues& values) const {
  switch (kind_) {
    case Kind::tensor:
      if (!guard_->holds(value, values.bindings)) return false;
      values.tensors.push_back(value);
      return true;
    case Kind::constant:
      return expected_.matches(value);
    case Kind::number:
      return bind_number(value, is_real_, symbol_, values.bindings);
    case Kind::immutable:
      if (value == kept_.get()) return true;
      return Py_TYPE(value) == Py_TYPE(kept_.get()) &&
             PyObject_RichCompareBool(value, kept_.get(), Py_EQ) == 1;
    case Kind::list:
    case Kind::set:
    case Kind::dict:
    case Kind::instance:
    case Kind::function:
      values.containers.push_back(value);
      [[fallthrough]];
    case Kind::tuple:
    case Kind::method:
      return each_item(
          value, [&](const ArgumentSpec& child, PyObject* item) { return child.matches(item, values); });
    case Kind::object:
      return is_same(value);
    case Kind::unread:
      return Py_TYPE(value) == object_type_;
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
    case Kind::list:
    case Kind::set:
    case Kind::dict:
    case Kind::instance:
    case Kind::function:
    case Kind::method: {
      bool same = true;
      const bool alike = each_item(value, [&](const ArgumentSpec& child, PyObject* item) {
        same = child.note_changes(item, varying) && same;
        return true;
      });
      return alike && same;
    }
    case Kind::object:
      if (is_same(value)) return true;
      if (Py_TYPE(value) == object_type_) varying.note_object(name_);
      return false;
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
      return name_ + " == " + repr_of(kind_ == Kind::constant ? expected_.object : kept_.get());
    case Kind::number:
      return name_ + " is " + (is_real_ ? "a float" : "an int");
    case Kind::object:
      return name_ + " is the same object";
    case Kind::unread:
      return name_ + " is of the same type";
    default:
      break;
  }
  std::string all = name_ + " is a " + type_name() + " with " +
                    std::to_string(kind_ == Kind::set ? keys_.size() : children_.size()) +
                    (kind_ == Kind::instance                            ? " attributes"
                     : kind_ == Kind::function || kind_ == Kind::method ? " parts"
                                                                        : " items");
  for (const ArgumentSpec& child : children_) all += "; " + child.text();
  return all;
}

std::string ArgumentSpec::type_name() const {
  PyObject* const type = PyWeakref_GET_OBJECT(type_.get());
  return PyType_Check(type) ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "<class that is gone>";
}

std::string ArgumentSpec::difference(PyObject* value) const {
  if (!type_) return text();
  const ArgumentSpec* different = nullptr;
  PyObject* found = nullptr;
  const LeasedValues values;
  each_item(value, [&](const ArgumentSpec& child, PyObject* item) {
    if (child.matches(item, *values)) return true;
    different = &child;
    found = item;
    return false;
  });
  if (different != nullptr) return different->difference(found);
  return name_ + " is a " + type_name() + " with the same " +
         (kind_ == Kind::instance ? "attributes" : "items");
}

}  // namespace stator
