// src/core/user_line.cpp: interning of user stacks and their text.
#include "core/user_line.h"

namespace stator {

size_t UserLines::Hash::operator()(const UserLine& line) const {
  uint64_t hash = static_cast<uint64_t>(line.file) * 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ static_cast<uint64_t>(line.function)) * 0xff51afd7ed558ccdULL;
  hash = (hash ^ static_cast<uint64_t>(line.line)) * 0xc4ceb9fe1a85ec53ULL;
  hash = (hash ^ static_cast<uint64_t>(line.caller)) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 32);
}

LineId UserLines::add(StringId file, int32_t line, StringId function, LineId caller) {
  UserLine key{file, function, line, caller};
  auto [entry, is_new] = ids_.try_emplace(key, static_cast<LineId>(lines_.size() + 1));
  if (is_new) lines_.push_back(key);
  return entry->second;
}

LineId UserLines::add_later(LineId caller) {
  lines_.push_back({StringId{}, StringId{}, 0, caller});
  return static_cast<LineId>(lines_.size());
}

void UserLines::place(LineId id, StringId file, int32_t line, StringId function) {
  UserLine& placed = lines_[static_cast<uint32_t>(id) - 1];
  placed = {file, function, line, placed.caller};
}

void UserLines::place_as(LineId id, LineId other) { lines_[static_cast<uint32_t>(id) - 1] = (*this)[other]; }

LineId UserLines::outside_library(LineId id) const {
  if (library_.empty()) return id;
  for (LineId at = id; at != LineId::kNone; at = (*this)[at].caller) {
    if (!text((*this)[at].file).starts_with(library_)) return at;
  }
  return id;
}

std::string UserLines::short_text(LineId id) const {
  if (id == LineId::kNone) return {};
  const UserLine& line = (*this)[id];
  const std::string& file = text(line.file);
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(line.line);
}

std::string UserLines::stack_text(LineId id) const {
  std::string result;
  for (; id != LineId::kNone; id = (*this)[id].caller) {
    const UserLine& line = (*this)[id];
    result += "  " + text(line.file) + ":" + std::to_string(line.line);
    if (!text(line.function).empty()) result += " in " + text(line.function);
    result += '\n';
  }
  return result;
}

}  // namespace stator
