// src/core/guard/guard.h: guards as data: what is checked, where, what is expected, and which user line
// relied on it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/guard/source.h"
#include "core/user_line.h"

namespace stator::guard {

enum class GuardKind : uint8_t {
#define STATOR_GUARD(identifier, cost, text) identifier,
#include "core/guard/guards.def"
};

int cost(GuardKind kind);

struct Guard {
  GuardKind kind;
  SourceId source;    // kNone for kModes and kSize
  uint32_t expected;  // what the checker compares with: an index into a table of its own
  StringId expected_text;
  LineId line;  // the first user line that relied on it
};

// The guards of one capture. Checking belongs to the layers above, which know objects and tensors.
class GuardSet {
 public:
  // Adds a guard unless the same (kind, source, expected) is there. Returns its index.
  uint32_t add(GuardKind kind, SourceId source, uint32_t expected, std::string_view expected_text,
               LineId line);

  std::span<const Guard> guards() const { return guards_; }
  const std::string& expected_text(const Guard& guard) const { return strings_[guard.expected_text]; }
  // Indices in the order of checking: cheapest first, otherwise as recorded, so that a base comes before its
  // parts.
  std::vector<uint32_t> order() const;

  // `L["self"].training is False`
  std::string text(const Guard& guard, const SourceTable& sources) const;
  // `L["self"].training is False  # model.py:12`, and after a failure `…, but found True`.
  std::string report(const Guard& guard, const SourceTable& sources, const UserLines& lines,
                     std::string_view found = {}) const;

 private:
  struct Key {
    GuardKind kind;
    SourceId source;
    uint32_t expected;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::vector<Guard> guards_;
  std::unordered_map<Key, uint32_t, Hash> indices_;
  StringTable strings_;
};

}  // namespace stator::guard
