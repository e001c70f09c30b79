// src/core/ir/text_cursor.h: reading words, numbers and quoted strings from text; the first error is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stator::ir {

// Statements end at line ends, so spaces are skipped but newlines are not. After an error every reader
// returns a neutral value and nothing is consumed, so callers check once a statement.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  size_t error_at() const { return error_at_; }
  void fail(std::string message) { fail_at(at_, std::move(message)); }
  void fail_at(size_t at, std::string message);

  size_t at() const { return at_; }
  void move_to(size_t at) { at_ = at; }
  std::string_view rest() const { return text_.substr(at_); }
  bool at_end() const { return at_ >= text_.size(); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_spaces();
  void skip_blank_lines();
  // After spaces.
  bool accept(std::string_view token);
  void expect(std::string_view token);
  // Takes the word only as a whole: `input` but not the start of `inputs`.
  bool accept_word(std::string_view word);
  std::string_view identifier(const char* what);  // [A-Za-z0-9_]+
  int64_t integer();                              // with sign
  uint32_t index(uint32_t limit);                 // below the limit
  double number();                                // with sign; inf and nan
  std::string quoted();
  void expect_line_end();

 private:
  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
  size_t error_at_ = 0;
};

}  // namespace stator::ir
