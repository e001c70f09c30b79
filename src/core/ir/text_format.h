// src/core/ir/text_format.h: the words of the text format, shared by printer and parser.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "core/ir/operator.h"
#include "core/ir/value.h"

namespace stator::ir {

struct FlagText {
  OpFlag flag;
  std::string_view text;
};
inline constexpr std::array kFlagTexts = {
    FlagText{OpFlag::kPure, "pure"},        FlagText{OpFlag::kRandom, "random"},
    FlagText{OpFlag::kMode, "mode"},        FlagText{OpFlag::kMayRaise, "may_raise"},
    FlagText{OpFlag::kReturnsList, "list"},
};

struct ValueFlagText {
  ValueFlag flag;
  std::string_view text;
};
inline constexpr std::array kValueFlagTexts = {
    ValueFlagText{kRequiresGrad, "grad"},    ValueFlagText{kConjugate, "conj"},
    ValueFlagText{kNegative, "neg"},         ValueFlagText{kParameter, "parameter"},
    ValueFlagText{kWrappedNumber, "number"},
};

// Indexed by ValueKind; tensors have no word, their dtype is it.
inline constexpr std::array<std::string_view, 7> kKindTexts = {"undefined", "",     "int",   "float",
                                                               "bool",      "none", "opaque"};
inline constexpr std::string_view kind_text(ValueKind kind) { return kKindTexts[static_cast<size_t>(kind)]; }

// Indexed by AliasKind.
inline constexpr std::array<std::string_view, 4> kAliasTexts = {"", "same", "view", "shares"};
inline constexpr std::string_view alias_text(AliasKind kind) {
  return kAliasTexts[static_cast<size_t>(kind)];
}

inline bool is_identifier_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
inline bool is_identifier(std::string_view text) {
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') &&
         std::ranges::all_of(text, is_identifier_char);
}
inline bool is_operator_name(std::string_view text) {
  auto allowed = [](char c) { return is_identifier_char(c) || c == ':' || c == '.'; };
  return text.find("::") != std::string_view::npos && std::ranges::all_of(text, allowed);
}

// Words that mean something where a symbol could stand, so no symbol may have them as its name.
inline bool is_reserved(std::string_view word) {
  constexpr std::string_view kReserved[] = {"none", "true", "false", "inf", "nan", "min", "max", "in"};
  return std::ranges::find(kReserved, word) != std::end(kReserved);
}

// File and function names that need no quotes in a comment.
inline bool is_bare_word(std::string_view word) {
  auto allowed = [](char c) {
    return is_identifier_char(c) || std::string_view("./<>+-").find(c) != std::string_view::npos;
  };
  return !word.empty() && word != "<" && word != "in" && std::ranges::all_of(word, allowed);
}
// Comments to the end of a line that need no quotes.
inline bool reads_back_bare(std::string_view text) {
  auto allowed = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
  return text.front() != '"' && text.front() != ' ' && text.back() != ' ' &&
         std::ranges::all_of(text, allowed);
}

}  // namespace stator::ir
