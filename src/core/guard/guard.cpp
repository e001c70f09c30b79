// src/core/guard/guard.cpp: collecting guards and their text.
#include "core/guard/guard.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace stator::guard {
namespace {

struct GuardRow {
  int cost;
  std::string_view text;
};

constexpr GuardRow kRows[] = {
#define STATOR_GUARD(identifier, cost, text) {cost, text},
#include "core/guard/guards.def"
};

}  // namespace

int cost(GuardKind kind) { return kRows[static_cast<size_t>(kind)].cost; }

size_t GuardSet::Hash::operator()(const Key& key) const {
  uint64_t hash = (static_cast<uint64_t>(key.source) << 32 | key.expected) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ static_cast<uint64_t>(key.kind)) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

uint32_t GuardSet::add(GuardKind kind, SourceId source, uint32_t expected, std::string_view expected_text,
                       LineId line) {
  auto [entry, is_new] =
      indices_.try_emplace(Key{kind, source, expected}, static_cast<uint32_t>(guards_.size()));
  if (is_new) guards_.push_back({kind, source, expected, strings_.intern(expected_text), line});
  return entry->second;
}

std::vector<uint32_t> GuardSet::order() const {
  std::vector<uint32_t> order(guards_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t i) { return std::pair(cost(guards_[i].kind), i); });
  return order;
}

std::string GuardSet::text(const Guard& guard, const SourceTable& sources) const {
  std::string result;
  std::string_view pattern = kRows[static_cast<size_t>(guard.kind)].text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      result += pattern[i];
    } else if (pattern[++i] == 's') {
      result += sources.text(guard.source);
    } else {
      result += expected_text(guard);
    }
  }
  return result;
}

std::string GuardSet::report(const Guard& guard, const SourceTable& sources, const UserLines& lines,
                             std::string_view found) const {
  std::string result = text(guard, sources);
  if (!found.empty()) result += ", but found " + std::string(found);
  std::string line = lines.short_text(guard.line);
  if (!line.empty()) result += "  # " + line;
  return result;
}

}  // namespace stator::guard
