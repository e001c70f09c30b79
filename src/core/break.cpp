// src/core/break.cpp: the table of break reasons, and a break as text.
#include "core/break.h"

#include <iterator>

namespace stator {
namespace {

constexpr BreakReason kReasons[] = {
#define STATOR_BREAK(identifier, code, message, hint) {code, message, hint},
#include "core/break_reasons.def"
};

}  // namespace

const BreakReason& reason(BreakCode code) { return kReasons[static_cast<size_t>(code)]; }

size_t break_code_count() { return std::size(kReasons); }

std::optional<BreakCode> break_code_from_text(std::string_view code) {
  for (size_t i = 0; i < std::size(kReasons); ++i) {
    if (code == kReasons[i].code) return static_cast<BreakCode>(i);
  }
  return std::nullopt;
}

std::string Break::text(const UserLines& lines) const {
  const BreakReason& why = reason(code);
  std::string result = lines.short_text(line);
  if (!result.empty()) result += ": ";
  result += std::string(why.code) + ": " + why.message;
  if (!detail.empty()) result += " (" + detail + ")";
  if (*why.hint != '\0') result += std::string("\n  hint: ") + why.hint;
  return result;
}

}  // namespace stator
