// src/core/user_line.h: interned user stacks (file, line, function, caller), shared by nodes, guards and
// breaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/string_table.h"

namespace stator {

// One line of user code together with the calls that led to it. kNone: no line is known.
enum class LineId : uint32_t { kNone = 0 };

struct UserLine {
  StringId file;
  StringId function;  // may be the empty string
  int32_t line;
  LineId caller;
  bool operator==(const UserLine&) const = default;
};

// Says where the program stands. Asked for each thing that is recorded, so it must be cheap.
class UserPlace {
 public:
  virtual ~UserPlace() = default;
  virtual LineId line() = 0;
};

class UserLines {
 public:
  StringId intern(std::string_view text) { return strings_.intern(text); }
  const std::string& text(StringId id) const { return strings_[id]; }

  // Interns (file, line, function, caller). An interpreter keeps the StringIds of a code object, so that this
  // costs one hash lookup.
  LineId add(StringId file, int32_t line, StringId function, LineId caller = LineId::kNone);
  LineId add(std::string_view file, int32_t line, std::string_view function = {},
             LineId caller = LineId::kNone) {
    return add(intern(file), line, intern(function), caller);
  }

  // A line of which only the caller is known so far: `place` says the rest, before anybody reads it.
  LineId add_later(LineId caller);
  void place(LineId id, StringId file, int32_t line, StringId function);
  // It means what `other`, which was placed before, means.
  void place_as(LineId id, LineId other);

  // Precondition: id is not kNone and came from this table.
  const UserLine& operator[](LineId id) const { return lines_[static_cast<uint32_t>(id) - 1]; }
  bool contains(LineId id) const { return static_cast<uint32_t>(id) <= lines_.size(); }

  // Files under this folder are a library's own: what they rely on is ascribed to the line that called into
  // it.
  void set_library(std::string folder) { library_ = std::move(folder); }
  // The innermost line outside of the library; the line itself where there is none.
  LineId outside_library(LineId id) const;

  // `model.py:42`, without the folder; the empty string for kNone.
  std::string short_text(LineId id) const;
  // The whole stack, innermost first, one `  file:line in function` a line; the empty string for kNone.
  std::string stack_text(LineId id) const;

 private:
  struct Hash {
    size_t operator()(const UserLine& line) const;
  };
  StringTable strings_;
  std::string library_;
  std::vector<UserLine> lines_;
  std::unordered_map<UserLine, LineId, Hash> ids_;
};

}  // namespace stator
