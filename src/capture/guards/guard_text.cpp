// capture/guards/guard_text.cpp: guards in words.
#include "capture/guards/guard.h"

namespace stator {
namespace {

// Guards stay when what they look at is gone: nothing is asked of it here.
struct Describer {
  std::string operator()(const DictGuard& guard) const {
    if (guard.whole) return "has the same " + std::to_string(guard.reads.size()) + " items";
    std::string all;
    for (const DictGuard::Read& read : guard.reads) {
      if (!all.empty()) all += ", ";
      all += "[" + text_of(expect(read.key.get())) + "] is " + text_of(read.value);
    }
    return all;
  }
  std::string operator()(const ListGuard& guard) const {
    const std::string count = std::to_string(guard.items.size());
    if (guard.whole) return "has the same " + count + " items";
    std::string all = "has " + count + " items";
    for (size_t i = 0; i < guard.items.size(); i++) {
      if (guard.items[i].object != nullptr)
        all += ", [" + std::to_string(i) + "] is " + text_of(guard.items[i]);
    }
    return all;
  }
  std::string operator()(const TypeGuard&) const { return "is an unchanged class"; }
  std::string operator()(const ObjectGuard& guard) const { return "is a " + utf8(guard.type_name.get()); }
  std::string operator()(const FunctionGuard&) const { return "has the same code and defaults"; }
  std::string operator()(const TupleGuard& guard) const {
    return "has the same " + std::to_string(guard.items.size()) + " items";
  }
  std::string operator()(const MethodGuard&) const { return "binds the same function and object"; }
  std::string operator()(const CellGuard& guard) const { return "holds " + text_of(guard.content); }
  std::string operator()(const SlotGuard& guard) const {
    return "has a slot that holds " + text_of(guard.content);
  }
  std::string operator()(const OrderGuard&) const { return "has its items in the same order"; }
  std::string operator()(const ItemsGuard& guard) const {
    return "has the same " + std::to_string(guard.items.size()) + " items";
  }
  std::string operator()(const FieldGuard& guard) const {
    return std::string("has the same ") + guard.name + ": " + text_of(guard.content);
  }
  std::string operator()(const AnswerGuard& guard) const {
    return "gives " + text_of(expect(guard.answer.get()));
  }
  std::string operator()(const NoExceptionGuard&) const { return "handles no exception"; }
  std::string operator()(const ContextVariableGuard& guard) const {
    return "holds " + text_of(guard.content);
  }
  std::string operator()(const GetterGuard& guard) const {
    return "." + utf8(guard.name.get()) + " is " + text_of(guard.content);
  }
  std::string operator()(const GivenAttributeGuard& guard) const {
    return "gives " + guard.tensor_name + " whose " + PyUnicode_AsUTF8(guard.name.get()) + " is " +
           text_of(guard.value);
  }
  std::string operator()(const PinnedTensorGuard& guard) const { return guard.guard->expected(); }
  std::string operator()(const NumberGuard& guard) const {
    return "[" + text_of(expect(guard.key.get())) + "] is " + (guard.number.is_real ? "a float" : "an int");
  }
  std::string operator()(const TupleItemGuard& guard) const {
    return "[" + text_of(expect(guard.key.get())) + "] is a tuple of " +
           std::to_string(guard.whole.items.size()) + " like the captured one";
  }
  std::string operator()(const TensorItemGuard& guard) const {
    return "[" + text_of(expect(guard.key.get())) + "] is " + guard.guard->expected();
  }
};

}  // namespace

std::string text_of(const Guard& guard) { return std::visit(Describer{}, guard); }

std::string place_name(const std::string& container, PyObject* key) {
  return container + "[" + text_of(expect(key)) + "]";
}

}  // namespace stator
