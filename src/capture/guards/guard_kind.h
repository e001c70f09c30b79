// capture/guards/guard_kind.h: what every kind of guard answers, each in its file under guards/kinds/.
#ifndef STATOR_CAPTURE_GUARDS_GUARD_KIND_H
#define STATOR_CAPTURE_GUARDS_GUARD_KIND_H

#include <concepts>
#include <string>
#include <vector>

#include "capture/guards/changes.h"
#include "capture/guards/expected_value.h"
#include "core/shape/bindings.h"

namespace stator {

// What guards find in a call.
struct FoundByGuards {
  shape::Bindings& bindings;
  std::vector<PyObject*>& tensors;  // borrowed
};

// A guard is known by its kind and the address of what it looks at: the object, and which part of it where
// there are several.
struct GuardKey {
  const void* address = nullptr;
  const void* part = nullptr;
  bool operator==(const GuardKey&) const = default;
};

// One machine word at a fixed address, which every call that hits compares.
struct GuardWord {
  const void* at;
  uint64_t expected;
};

// The words of guards, as they are at this moment.
class GuardWords {
 public:
  explicit GuardWords(std::vector<GuardWord>& all) : all_(all) {}
  void add(const void* at) {
    uint64_t now;
    __builtin_memcpy(&now, at, sizeof now);
    all_.push_back({at, now});
  }
  // A word that always differs: the guard is asked on each call, in the order of the others, since what it
  // proves alive is looked at behind it.
  void ask() { all_.push_back({&kAsked, ~kAsked}); }
  static bool is_asked(const GuardWord& word) { return word.at == &kAsked; }

 private:
  static inline const uint64_t kAsked = 0;
  std::vector<GuardWord>& all_;
};

template <class Kind>
concept GuardKind = requires(Kind guard, const Kind& constant, FoundByGuards found, GuardWords& words,
                             Changes& changes) {
  // Identity, with the kind.
  { constant.key() } -> std::same_as<GuardKey>;
  // By looking at all that it relies on; runs no Python code of the user's.
  { guard.holds(found) } -> std::same_as<bool>;
  // What is expected. What it looks at may be gone: nothing is asked of it.
  { constant.text() } -> std::same_as<std::string>;
  // Those that prove it unchanged; none where it must be asked.
  { constant.words(words) } -> std::same_as<void>;
  // In what a call that no capture serves differs. False: it differs in more than a number or tensor that may
  // change.
  { guard.note_changes(changes) } -> std::same_as<bool>;
  // Calls visit(value) for each value that it expects to find.
  {
    guard.each_expected([](ExpectedValue&) {})
    } -> std::same_as<void>;
};

// For kinds that differ in nothing that may change.
template <class Kind>
bool holds_still(Kind& guard) {
  shape::Bindings bindings;
  std::vector<PyObject*> tensors;
  return guard.holds(FoundByGuards{bindings, tensors});
}

}  // namespace stator

#endif
