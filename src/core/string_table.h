// src/core/string_table.h: interned strings, so that names and file paths are stored once and compared as
// ids.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace stator {

enum class StringId : uint32_t {};

class StringTable {
 public:
  StringTable() = default;
  // The map's keys point into strings_: moving a deque keeps its elements in place, copying does not.
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;

  StringId intern(std::string_view text) {
    auto found = ids_.find(text);
    if (found != ids_.end()) return found->second;
    auto id = static_cast<StringId>(strings_.size());
    strings_.emplace_back(text);
    ids_.emplace(strings_.back(), id);
    return id;
  }

  // The reference stays valid for as long as the table lives.
  const std::string& operator[](StringId id) const { return strings_[static_cast<uint32_t>(id)]; }
  size_t size() const { return strings_.size(); }

 private:
  std::deque<std::string> strings_;
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace stator
