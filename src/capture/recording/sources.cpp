// capture/recording/sources.cpp: how an object was reached, as the steps that lead to it.
#include "capture/recording/sources.h"

#include "capture/recording/recording.h"

namespace stator {

// A parent may be gone: nothing is asked of it.
static Ref<> name_of_unpinned(const Recording& recording, PyObject* object, bool is_alive) {
  const auto noted = recording.known.class_names.find(object);
  if (noted != recording.known.class_names.end()) return Ref<>::share(noted->second.get());
  const bool is_class = is_alive && object != nullptr && PyType_Check(object);
  return Ref<>::steal(PyUnicode_FromString(object == nullptr ? "the caller"
                                           : is_class ? reinterpret_cast<PyTypeObject*>(object)->tp_name
                                                      : "<made here>"));
}

static uint32_t add_source(Recording& recording, PyObject* object, SourceTexts& texts) {
  // The way up to something that has a number, then down again.
  std::vector<PyObject*> way;
  uint32_t at = 0;
  for (PyObject* next = object;;) {
    if (const auto known = recording.source_numbers.find(next); known != recording.source_numbers.end()) {
      at = known->second;
      break;
    }
    way.push_back(next);
    const auto found = next != nullptr ? recording.known.pinned.find(next) : recording.known.pinned.end();
    if (found == recording.known.pinned.end() || found->second.kind == SourceStep::root) break;
    // It may lead in a circle: a class by a method's globals, and the method by the class.
    if (way.size() > kLongestSource) break;
    next = found->second.parent;
  }
  for (; !way.empty(); way.pop_back()) {
    PyObject* next = way.back();
    const auto found = next != nullptr ? recording.known.pinned.find(next) : recording.known.pinned.end();
    if (found == recording.known.pinned.end()) {
      at = texts.add(SourceStep::root, 0, name_of_unpinned(recording, next, next == object).get());
    } else {
      at = texts.add(found->second.kind, at, found->second.key.get());
    }
    recording.source_numbers.emplace(next, at);
  }
  return at;
}

std::string source(Recording& recording, PyObject* object) {
  SourceTexts texts;
  recording.source_numbers.clear();
  const uint32_t number = add_source(recording, object, texts);
  recording.source_numbers.clear();
  return texts.text(number);
}

void name_guards(Recording& recording) {
  recording.source_numbers.clear();
  recording.guards.name(
      [&](PyObject* subject, SourceTexts& texts) { return add_source(recording, subject, texts); });
}

}  // namespace stator
