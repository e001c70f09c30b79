// capture/recording/sources.cpp: how an object was reached, as the steps that lead to it.
#include "capture/recording/recording.h"

namespace stator {

uint32_t Recording::add_source(PyObject* object, SourceTexts& texts) {
  // The way up to something that has a number, then down again.
  std::vector<PyObject*> way;
  uint32_t at = 0;
  for (PyObject* next = object;;) {
    if (const auto known = source_numbers_.find(next); known != source_numbers_.end()) {
      at = known->second;
      break;
    }
    way.push_back(next);
    const auto found = next != nullptr ? pinned_.find(next) : pinned_.end();
    if (found == pinned_.end() || found->second.kind == SourceStep::root) break;
    // It may lead in a circle: a class by a method's globals, and the method by the class.
    if (way.size() > kLongestSource) break;
    next = found->second.parent;
  }
  for (; !way.empty(); way.pop_back()) {
    PyObject* next = way.back();
    const auto found = next != nullptr ? pinned_.find(next) : pinned_.end();
    if (found == pinned_.end()) {
      const char* name = next == nullptr      ? "the caller"
                         : PyType_Check(next) ? reinterpret_cast<PyTypeObject*>(next)->tp_name
                                              : "<made here>";
      at = texts.add(SourceStep::root, 0, Ref<>::steal(PyUnicode_FromString(name)).get());
    } else {
      at = texts.add(found->second.kind, at, found->second.key.get());
    }
    source_numbers_.emplace(next, at);
  }
  return at;
}

std::string Recording::source(PyObject* object) {
  SourceTexts texts;
  source_numbers_.clear();
  const uint32_t number = add_source(object, texts);
  source_numbers_.clear();
  return texts.text(number);
}

void Recording::name_guards() {
  source_numbers_.clear();
  guards_.name([&](PyObject* subject, SourceTexts& texts) { return add_source(subject, texts); });
}

}  // namespace stator
