// capture/guards/source_text.cpp: sources in words.
#include "capture/guards/source_text.h"

#include "capture/cpython/interrupts.h"
#include "capture/guards/guard_set.h"

namespace stator {
namespace {

std::string shown(PyObject* key, bool as_expression) {
  if (key == nullptr) return "?";
  auto text = Ref<>::steal(as_expression ? PyObject_Repr(key) : PyObject_Str(key));
  return utf8(text.get());
}

// Whether Python code of the program's may say what the object is.
bool has_own_words(PyObject* object) { return Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE; }

}  // namespace

uint32_t SourceTexts::add(SourceStep step, uint32_t parent, PyObject* key) {
  Node node{step, false, parent, {}};
  if (key != nullptr && is_constant(key)) {
    node.key = Ref<>::share(key);
  } else if (key != nullptr) {
    // Never in the words of the program's own code.
    const bool is_pythons = PyType_Check(key) || PyFunction_Check(key) || PyModule_Check(key);
    node.key = Ref<>::steal(is_pythons && !has_own_words(key)
                                ? PyObject_Repr(key)
                                : PyUnicode_FromFormat("<%s object>", Py_TYPE(key)->tp_name));
    node.quoted = true;
    if (!node.key) drop_error();
  }
  nodes_.push_back(std::move(node));
  return static_cast<uint32_t>(nodes_.size() - 1);
}

// Of any depth, without recursion: from the object to its root, and back in words.
std::string SourceTexts::text(uint32_t node) const {
  std::vector<uint32_t> way;
  for (uint32_t at = node;; at = nodes_[at].parent) {
    way.push_back(at);
    if (nodes_[at].step == SourceStep::root) break;
  }
  std::string text;
  for (size_t i = way.size(); i > 0; i--) {
    const Node& step = nodes_[way[i - 1]];
    const bool is_text = step.key && !step.quoted && PyUnicode_Check(step.key.get());
    switch (step.step) {
      case SourceStep::root:
        text = shown(step.key.get(), false);
        break;
      case SourceStep::dict_of: {
        // An item of an instance's dictionary reads as its attribute.
        const Node* next = i > 1 ? &nodes_[way[i - 2]] : nullptr;
        const bool as_attribute = next != nullptr && next->step == SourceStep::item && next->key &&
                                  !next->quoted && PyUnicode_Check(next->key.get());
        if (!as_attribute) {
          text += ".__dict__";
        } else {
          text += "." + utf8(next->key.get());
          i--;
        }
        break;
      }
      case SourceStep::item:
        text += "[" + (step.quoted ? utf8(step.key.get()) : shown(step.key.get(), true)) + "]";
        break;
      case SourceStep::key_in:
        text = "a key of " + text;
        break;
      case SourceStep::attribute:
        text += "." + (is_text ? utf8(step.key.get()) : shown(step.key.get(), false));
        break;
      case SourceStep::cell_of:
        text += ".__closure__[" + shown(step.key.get(), false) + "]";
        break;
      case SourceStep::type_of:
        text.insert(0, "type(").append(")");
        break;
    }
  }
  return text;
}

}  // namespace stator
