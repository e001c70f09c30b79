// src/core/ir/parse.h: reads the text that print.h writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/ir/graph.h"
#include "core/result.h"

namespace stator::ir {

struct ParseError {
  int line;    // from 1
  int column;  // from 1, in bytes
  std::string message;
  std::string text() const { return std::to_string(line) + ":" + std::to_string(column) + ": " + message; }
};

// Operators are looked up in the table by name. Unknown ones are added as the text declares or uses them; one
// that is not declared has no flag, so passes take it to do anything. The graph is not verified here.
Result<Graph, ParseError> parse(std::string_view text, std::shared_ptr<OperatorTable> operators = nullptr);

}  // namespace stator::ir
