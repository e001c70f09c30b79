// src/core/shape/parse_expr.cpp: reading expressions from text by recursive descent.
#include <cctype>
#include <charconv>

#include "core/shape/text.h"

namespace stator::shape {
namespace {

// expression := sum [("==" | "!=" | "<" | "<=") sum]; sum := term {("+" | "-") term};
// term := atom {("*" | "//" | "%") atom}; atom := "-" atom | number | symbol | "(" expression ")" | ("min" |
// "max") "(" list ")" | "fits" "(" sum ")"
class Parser {
 public:
  Parser(Context& context, std::string_view text) : context_(context), exprs_(context.exprs()), text_(text) {}

  ParsedExpr parse() {
    ParsedExpr result;
    result.expr = comparison();
    result.end = end_;
    result.error = error_;
    return result;
  }

 private:
  ExprId comparison() {
    ExprId left = sum();
    if (accept("==")) return exprs_.eq(left, sum());
    if (accept("!=")) return exprs_.ne(left, sum());
    if (accept("<=")) return exprs_.le(left, sum());
    if (accept("<")) return exprs_.lt(left, sum());
    return left;
  }

  ExprId sum() {
    ExprId result = term();
    while (error_.empty()) {
      if (accept("+")) {
        result = exprs_.add(result, term());
      } else if (accept("-")) {
        result = exprs_.sub(result, term());
      } else {
        break;
      }
    }
    return result;
  }

  ExprId term() {
    ExprId result = atom();
    while (error_.empty()) {
      if (accept("*")) {
        result = exprs_.mul(result, atom());
      } else if (accept("//")) {
        result = exprs_.floordiv(result, atom());
      } else if (accept("%")) {
        result = exprs_.mod(result, atom());
      } else {
        break;
      }
    }
    return result;
  }

  ExprId atom() {
    if (accept("-")) {
      if (++depth_ > kMaxDepth) return fail("expression nested too deeply");
      ExprId operand = atom();
      --depth_;
      return exprs_.neg(operand);
    }
    if (accept("(")) {
      // Nested text must not be able to exhaust the stack.
      if (++depth_ > kMaxDepth) return fail("expression nested too deeply");
      ExprId inner = comparison();
      --depth_;
      expect(")");
      return inner;
    }
    skip_spaces();
    size_t start = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ > start) {
      int64_t number = 0;
      auto [unused, code] = std::from_chars(text_.data() + start, text_.data() + at_, number);
      if (code != std::errc()) return at_ = start, fail("number out of range");
      end_ = at_;
      return exprs_.constant(number);
    }
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    std::string_view name = text_.substr(start, at_ - start);
    if (name.empty()) return fail("expected a number, a symbol or a parenthesis");
    if (name == "min" || name == "max") return end_ = at_, extremum(name == "min");
    if (name == "fits") return end_ = at_, fitting();
    auto symbol = context_.find_symbol(name);
    if (!symbol) return at_ = start, fail("unknown symbol '" + std::string(name) + "'");
    end_ = at_;
    return *symbol;
  }

  ExprId extremum(bool is_min) {
    expect("(");
    if (++depth_ > kMaxDepth) return fail("expression nested too deeply");
    ExprId result = sum();
    while (error_.empty() && accept(","))
      result = is_min ? exprs_.min(result, sum()) : exprs_.max(result, sum());
    --depth_;
    expect(")");
    return result;
  }

  ExprId fitting() {
    expect("(");
    if (++depth_ > kMaxDepth) return fail("expression nested too deeply");
    const ExprId result = exprs_.fits(sum());
    --depth_;
    expect(")");
    return result;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool accept(std::string_view token) {
    if (!error_.empty()) return false;
    size_t before = at_;
    skip_spaces();
    if (text_.substr(at_, token.size()) != token) return at_ = before, false;
    end_ = at_ += token.size();
    return true;
  }

  void expect(const char* token) {
    if (!accept(token)) fail(std::string("expected '") + token + "'");
  }

  ExprId fail(std::string message) {
    if (error_.empty()) {
      skip_spaces();
      error_ = std::move(message);
      end_ = at_;
    }
    return exprs_.constant(0);
  }

  static constexpr int kMaxDepth = 200;
  Context& context_;
  ExprTable& exprs_;
  std::string_view text_;
  size_t at_ = 0;
  size_t end_ = 0;  // after the last token read
  int depth_ = 0;
  std::string error_;
};

}  // namespace

ParsedExpr parse_expr(Context& context, std::string_view text) { return Parser(context, text).parse(); }

}  // namespace stator::shape
