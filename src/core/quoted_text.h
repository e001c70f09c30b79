// src/core/quoted_text.h: strings in double quotes with escapes, as graphs and sources print them.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace stator {

// Control characters are escaped, so the result is one line; other bytes (UTF-8) stay as they are.
inline void append_quoted(std::string_view text, std::string* out) {
  *out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (c == '\n') {
      *out += "\\n";
    } else if (c == '\t') {
      *out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      char escape[5];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      *out += escape;
    } else {
      *out += c;
    }
  }
  *out += '"';
}

inline std::string quoted(std::string_view text) {
  std::string out;
  append_quoted(text, &out);
  return out;
}

}  // namespace stator
