// capture/arguments/argument_match.cpp: matching arguments with those of the capture.
#include <algorithm>

#include "capture/arguments/argument.h"
#include "capture/arguments/plain_dict.h"
#include "capture/cpython/interrupts.h"
#include "capture/guards/function_parts.h"
#include "capture/guards/guard.h"

namespace stator {

// Objects that cannot be compared (handles of the domain's) are different ones.
static bool is_equal_immutable(PyObject* value, PyObject* kept) {
  if (Py_TYPE(value) != Py_TYPE(kept)) return false;
  const int equal = PyObject_RichCompareBool(value, kept, Py_EQ);
  if (equal < 0) drop_error();
  return equal == 1;
}

// Its items stand among the keys, see pack().
static bool is_packed(const Argument& argument) {
  return !argument.keys.empty() &&
         (argument.kind == Argument::Kind::list || argument.kind == Argument::Kind::tuple);
}

bool Argument::is_same(PyObject* value) const {
  if (value != expected.object) return false;
  if (watched == Watched::kept_alive) return true;
  PyObject* const seen = watched == Watched::its_class ? reinterpret_cast<PyObject*>(Py_TYPE(value)) : value;
  return PyWeakref_GET_OBJECT(kept.get()) == seen;
}

// The same code over parts in the same places.
bool Argument::is_alike(PyObject* value) const {
  const auto* function = reinterpret_cast<PyFunctionObject*>(value);
  if (function->func_code != kept.get() || function->func_globals != expected.object ||
      !is_plain_function(value) || !has_keyword_names(value, keys))
    return false;
  size_t parts = 0;
  each_part(value, [&](PyObject*) { return ++parts != 0; });
  return parts == children.size();
}

// The dictionary of its attributes is a part of it.
static bool compares_attributes(const Argument& argument) {
  return std::ranges::any_of(argument.children, [](const std::unique_ptr<Argument>& child) {
    return child->step.kind == ArgumentStep::Kind::attributes;
  });
}

// What was asked of it as a whole, without its parts.
bool Argument::has_same_form(PyObject* value) const {
  // Of a class that is gone, this is the address of something that is no class.
  if (reinterpret_cast<PyObject*>(Py_TYPE(value)) != PyWeakref_GET_OBJECT(type.get())) return false;
  if (kind == Kind::function) return is_alike(value);
  if (kind == Kind::instance || kind == Kind::method) return true;
  const Py_ssize_t size = kind == Kind::dict  ? PyDict_GET_SIZE(value)
                          : kind == Kind::set ? PySet_GET_SIZE(value)
                                              : PySequence_Fast_GET_SIZE(value);
  if ((length && size != *length) || (is_empty && (size == 0) != *is_empty)) return false;
  if (kind == Kind::dict) {
    if (PyODict_CheckExact(value) && !is_without_attributes(value) && !compares_attributes(*this))
      return false;
    for (const Ref<>& key : absent) {
      if (PyDict_GetItemWithError(value, key.get()) != nullptr) return false;
      drop_error();
    }
  }
  if (kind == Kind::set) {
    for (const Ref<>& key : members) {
      if (PySet_Contains(value, key.get()) != 1) return false;
    }
    for (const Ref<>& key : absent) {
      if (PySet_Contains(value, key.get()) != 0) return false;
    }
    if (layout && !layout->is_of(value)) return false;
    size_t count = 0;
    if (whole && !each_item(value, [&](PyObject* item) {
          return count < keys.size() && expect(keys[count++].get()).matches(item);
        }))
      return false;
  }
  return true;
}

bool Argument::matches_pairs(PyObject* dict, CallValues& values) const {
  size_t i = 0;
  return each_pair(dict, [&](PyObject* key, PyObject* item) {
    const Argument& child = *children[i++];
    return (key == child.step.key.get() || expect(child.step.key.get()).matches(key)) &&
           child.matches(item, values);
  });
}

// Of a list whose items are packed: the first one that differs from the constant, or as many as there are.
// The length is compared by now.
static size_t first_other(PyObject* sequence, const std::vector<Ref<>>& constants) {
  PyObject** const items = PySequence_Fast_ITEMS(sequence);
  size_t i = 0;
  while (i < constants.size() &&
         (items[i] == constants[i].get() || expect(constants[i].get()).matches(items[i])))
    i++;
  return i;
}

bool Argument::matches_children(PyObject* value, CallValues& values) const {
  size_t from = 0;
  if (is_packed(*this)) return first_other(value, keys) == keys.size();
  if (kind == Kind::dict && whole) {  // the length is compared by now
    if (!matches_pairs(value, values)) return false;
    from = static_cast<size_t>(*length);
  }
  if (kind == Kind::list || kind == Kind::tuple) {
    // Items mostly stand in their order, and are constants: this is what long lists cost.
    PyObject** const items = PySequence_Fast_ITEMS(value);
    const Py_ssize_t size = PySequence_Fast_GET_SIZE(value);
    for (; from < children.size(); from++) {
      const Argument& child = *children[from];
      if (child.kind != Kind::constant || child.step.kind != ArgumentStep::Kind::item) break;
      if (child.step.index >= size || !child.expected.matches(items[child.step.index])) return false;
    }
  }
  for (size_t i = from; i < children.size(); i++) {
    PyObject* const item = children[i]->step.find(value);
    if (item == nullptr || !children[i]->matches(item, values)) return false;
  }
  return true;
}

bool Argument::matches(PyObject* value, CallValues& values) const {
  switch (kind) {
    case Kind::unread:
      return !not_none || value != Py_None;
    case Kind::tensor:
      if (arrays != nullptr) {
        Ref<> on_array = arrays->tensor_on(value);
        if (!on_array) return false;
        values.containers.push_back(value);
        value = on_array.get();
        values.on_arrays.push_back(std::move(on_array));
      }
      if (!guard->holds(value, values.bindings)) return false;
      values.tensors[tensor] = value;
      return true;
    case Kind::constant:
      return expected.matches(value);
    case Kind::number:
      return bind_number(value, is_real, symbol, values.bindings);
    case Kind::immutable:
      return value == kept.get() || is_equal_immutable(value, kept.get());
    case Kind::list:
    case Kind::set:
    case Kind::dict:
    case Kind::instance:
    case Kind::function:
      values.containers.push_back(value);
      [[fallthrough]];
    case Kind::tuple:
    case Kind::method:
      return has_same_form(value) && matches_children(value, values);
    case Kind::object:
      return is_same(value);
  }
  return false;
}

bool Argument::note_changes(PyObject* value, Varying& varying) const {
  switch (kind) {
    case Kind::tensor: {
      const Ref<> on_array = arrays != nullptr ? arrays->tensor_on(value) : Ref<>();
      if (arrays == nullptr || on_array)
        varying.note_sizes(name(), guard->changed_sizes(on_array ? on_array.get() : value));
      return true;
    }
    case Kind::constant:
      // True and False are values of a flag, not sizes of something.
      if (Py_TYPE(value) == Py_TYPE(expected.object) && !expected.matches(value) &&
          (PyLong_CheckExact(value) || PyFloat_CheckExact(value)))
        varying.note_number(name());
      if (PyUnicode_CheckExact(value) && PyUnicode_CheckExact(expected.object) && !expected.matches(value))
        varying.note_text(name(), std::string(utf8(expected.object)), std::string(utf8(value)));
      return true;
    case Kind::tuple:
    case Kind::list:
    case Kind::set:
    case Kind::dict:
    case Kind::instance:
    case Kind::function:
    case Kind::method: {
      if (!has_same_form(value)) return false;
      bool same = true;
      for (size_t i = 0; is_packed(*this) && i < keys.size(); i++) {
        PyObject* const item = PySequence_Fast_GET_ITEM(value, static_cast<Py_ssize_t>(i));
        if (Py_TYPE(item) == Py_TYPE(keys[i].get()) &&
            (PyLong_CheckExact(item) || PyFloat_CheckExact(item)) && !expect(keys[i].get()).matches(item))
          varying.note_number(name() + "[" + std::to_string(i) + "]");
      }
      for (const auto& child : children) {
        PyObject* const item = child->step.find(value);
        same = item != nullptr && child->note_changes(item, varying) && same;
      }
      return same;
    }
    case Kind::object:
      if (is_same(value)) return true;
      if (Py_TYPE(value) == object_type) varying.note_object(name());
      return false;
    // Bound anew by each call, or compared as nothing that could vary.
    case Kind::unread:
    case Kind::number:
    case Kind::immutable:
      return true;
  }
  return true;
}

ArgumentPath Argument::path() const {
  ArgumentPath path;
  const Argument* at = this;
  for (; at->parent != nullptr; at = at->parent) path.steps.push_back(at->step);
  path.argument = static_cast<size_t>(at->step.index);
  std::reverse(path.steps.begin(), path.steps.end());
  return path;
}

// A long list of constants, each of which was read, is kept as just that.
static void pack(Argument& sequence) {
  constexpr size_t kLong = 32;
  auto& children = sequence.children;
  if ((sequence.kind != Argument::Kind::list && sequence.kind != Argument::Kind::tuple) ||
      children.size() < kLong || sequence.length != static_cast<Py_ssize_t>(children.size()))
    return;
  for (size_t i = 0; i < children.size(); i++) {
    const Argument& child = *children[i];
    if (child.kind != Argument::Kind::constant || child.step.kind != ArgumentStep::Kind::item ||
        child.step.index != static_cast<Py_ssize_t>(i))
      return;
  }
  for (const auto& child : children) sequence.keys.push_back(Ref<>::share(child->expected.object));
  children.clear();
  children.shrink_to_fit();
}

void Argument::forget_call() {
  pack(*this);
  real = nullptr;
  alive = {};
  stands = {};
  placeholder = {};
  for (const auto& child : children) child->forget_call();
}

}  // namespace stator
