// src/core/ir/text_cursor.cpp: the lexical part of reading graphs.
#include "core/ir/text_cursor.h"

#include <charconv>

#include "core/ir/text_format.h"

namespace stator::ir {

void TextCursor::fail_at(size_t at, std::string message) {
  if (!error_.empty()) return;
  error_ = std::move(message);
  error_at_ = at;
}

void TextCursor::skip_spaces() {
  while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
}

void TextCursor::skip_blank_lines() {
  do {
    skip_spaces();
  } while (peek() == '\n' && ++at_);
}

bool TextCursor::accept(std::string_view token) {
  if (!ok()) return false;
  skip_spaces();
  if (rest().substr(0, token.size()) != token) return false;
  at_ += token.size();
  return true;
}

void TextCursor::expect(std::string_view token) {
  if (!accept(token)) fail("expected '" + std::string(token) + "'");
}

bool TextCursor::accept_word(std::string_view word) {
  if (!ok()) return false;
  skip_spaces();
  if (rest().substr(0, word.size()) != word || is_identifier_char(peek(word.size()))) return false;
  at_ += word.size();
  return true;
}

std::string_view TextCursor::identifier(const char* what) {
  if (!ok()) return {};
  skip_spaces();
  size_t start = at_;
  while (is_identifier_char(peek())) ++at_;
  if (at_ == start) fail(std::string("expected ") + what);
  return text_.substr(start, at_ - start);
}

int64_t TextCursor::integer() {
  if (!ok()) return 0;
  skip_spaces();
  int64_t value = 0;
  auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (code == std::errc::result_out_of_range) fail("number out of range");
  if (code == std::errc::invalid_argument) fail("expected an integer");
  if (ok()) at_ = static_cast<size_t>(end - text_.data());
  return value;
}

uint32_t TextCursor::index(uint32_t limit) {
  skip_spaces();
  size_t start = at_;
  int64_t value = integer();
  if (ok() && (value < 0 || value >= limit)) fail_at(start, "number out of range");
  return ok() ? static_cast<uint32_t>(value) : 0;
}

double TextCursor::number() {
  if (!ok()) return 0;
  skip_spaces();
  double value = 0;
  auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
  if (code != std::errc()) fail("expected a number");
  if (ok()) at_ = static_cast<size_t>(end - text_.data());
  return value;
}

std::string TextCursor::quoted() {
  expect("\"");
  std::string result;
  while (ok() && peek() != '"') {
    char c = peek();
    if (c == '\0' || c == '\n') {
      fail("the string does not end");
    } else if (c != '\\') {
      result += c;
      ++at_;
    } else if (peek(1) == 'x') {
      unsigned value = 0;
      const char* digits = text_.data() + at_ + 2;
      const char* last = text_.data() + std::min(text_.size(), at_ + 4);
      auto [end, code] = std::from_chars(digits, std::max(digits, last), value, 16);
      if (code != std::errc() || end != digits + 2) {
        fail("expected two hexadecimal digits");
      } else {
        result += static_cast<char>(value);
        at_ += 4;
      }
    } else {
      constexpr std::string_view kEscapes = "\"\\nt", kMeanings = "\"\\\n\t";
      size_t which = kEscapes.find(peek(1));
      if (peek(1) == '\0' || which == std::string_view::npos) {
        fail("unknown escape");
      } else {
        result += kMeanings[which];
        at_ += 2;
      }
    }
  }
  expect("\"");
  return result;
}

void TextCursor::expect_line_end() {
  skip_spaces();
  if (!at_end() && peek() != '\n') fail("expected the end of the line");
}

}  // namespace stator::ir
