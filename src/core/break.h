// src/core/break.h: the value that says why an instruction could not be captured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/user_line.h"

namespace stator {

enum class BreakCode : uint8_t {
#define STATOR_BREAK(identifier, code, message, hint) identifier,
#include "core/break_reasons.def"
};

struct BreakReason {
  const char* code;     // data-dependent-operator
  const char* message;  // what happened
  const char* hint;     // what the user can do; may be empty
};

const BreakReason& reason(BreakCode code);
std::optional<BreakCode> break_code_from_text(std::string_view code);
size_t break_code_count();

// An expected failure, returned and never thrown across layers.
struct Break {
  BreakCode code = BreakCode::kInternal;
  LineId line = LineId::kNone;  // in the capture's UserLines
  std::string detail;           // the operator, function or source concerned; may be empty

  // `model.py:42: data-dependent-operator: the result … (aten::item)` and the hint on a line of its own.
  std::string text(const UserLines& lines) const;
};

}  // namespace stator
