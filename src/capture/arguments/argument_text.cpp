// capture/arguments/argument_text.cpp: what was read of the arguments, in words.
#include "capture/arguments/argument.h"

namespace stator {

std::string Argument::name() const {
  std::vector<const Argument*> way;
  const Argument* at = this;
  for (; at->parent != nullptr; at = at->parent) way.push_back(at);
  std::string text = at->root_name;
  for (; !way.empty(); way.pop_back()) {
    const Argument& at_part = *way.back();
    using enum ArgumentStep::Kind;
    switch (at_part.step.kind) {
      case root:
      case attributes:
        break;
      case item:
        text += "[" + std::to_string(at_part.step.index) + "]";
        break;
      case from_end:
        text += "[-" + std::to_string(at_part.step.index) + "]";
        break;
      case key:
        text += at_part.parent->step.kind == attributes ? "." + utf8(at_part.step.key.get())
                                                        : "[" + repr_of(at_part.step.key.get()) + "]";
        break;
      case ArgumentStep::Kind::part:
        text += ".part" + std::to_string(at_part.step.index);
        break;
      case function:
        text += ".__func__";
        break;
      case self:
        text += ".__self__";
        break;
    }
  }
  return text;
}

std::string Argument::type_name() const {
  PyObject* const found = PyWeakref_GET_OBJECT(type.get());
  return PyType_Check(found) ? reinterpret_cast<PyTypeObject*>(found)->tp_name : "<class that is gone>";
}

std::string Argument::text() const {
  switch (kind) {
    case Kind::unread:
      return name() + (not_none ? " is not None" : " is there");
    case Kind::tensor:
      return name() + " is " + (arrays != nullptr ? "an array like " : "") + guard->expected();
    case Kind::constant:
    case Kind::immutable:
      return name() + " == " + repr_of(kind == Kind::constant ? expected.object : kept.get());
    case Kind::number:
      return name() + " is " + (is_real ? "a float" : "an int");
    case Kind::object:
      return name() + " is the same object";
    case Kind::tuple:
    case Kind::list:
    case Kind::set:
    case Kind::dict:
    case Kind::instance:
    case Kind::function:
    case Kind::method:
      break;
  }
  std::string all = name() + " is a " + type_name();
  if (kind == Kind::set && whole) return all + " with the same " + std::to_string(keys.size()) + " items";
  if (length) all += " with " + std::to_string(*length) + " items";
  if (is_empty && !length) all += *is_empty ? " without items" : " with items";
  if ((kind == Kind::list || kind == Kind::tuple) && !keys.empty()) all += ", each the same constant";
  for (const Ref<>& key : members) all += ", with " + repr_of(key.get());
  for (const Ref<>& key : absent) all += ", without " + repr_of(key.get());
  return all;
}

std::string Argument::describe() const {
  if (!is_compared() && parent == nullptr) return {};
  // The dictionary of an instance is no part that a program names.
  std::string all = step.kind != ArgumentStep::Kind::attributes ? text() : std::string();
  for (const auto& child : children) {
    const std::string inner = child->describe();
    if (!inner.empty()) all += (all.empty() ? "" : "; ") + inner;
  }
  return all;
}

std::string Argument::difference(PyObject* value, CallValues& values) const {
  if (!type || !has_same_form(value)) return text();
  for (const auto& child : children) {
    PyObject* const item = child->step.find(value);
    if (item == nullptr) return child->name() + " is there";
    if (!child->matches(item, values)) return child->difference(item, values);
  }
  return name() + " is a " + type_name() + " with the same items in the same order";
}

}  // namespace stator
