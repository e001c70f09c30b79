// capture/cpython/line_table.h: the lines of a code object, read once, so that asking for one is a search.
#ifndef STATOR_CAPTURE_CPYTHON_LINE_TABLE_H
#define STATOR_CAPTURE_CPYTHON_LINE_TABLE_H

#include <algorithm>
#include <vector>

#include "capture/cpython/python.h"

namespace stator::cpython {

// CPython's own lookup (PyCode_Addr2Line) walks the table from its start on every call, which makes a long
// function quadratic. The format is that of 3.11 to 3.13: CPython's Objects/locations.md. Needs no GIL.
class LineTable {
 public:
  explicit LineTable(PyCodeObject* code) : first_(code->co_firstlineno) {
    const auto* at = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(code->co_linetable));
    const unsigned char* const end = at + PyBytes_GET_SIZE(code->co_linetable);
    int unit = 0, line = first_;
    while (at < end) {
      const unsigned form = *at >> 3 & 15;
      unit += (*at++ & 7) + 1;
      if (form >= kOneLine && form < kNoColumns) line += static_cast<int>(form - kOneLine);
      if (form == kNoColumns || form == kLong) line += signed_number(at, end);
      while (at < end && (*at & 0x80) == 0) at++;  // columns
      const int here = form == kNone ? 0 : line;
      if (!rows_.empty() && rows_.back().line == here) {
        rows_.back().end = unit;
      } else {
        rows_.push_back({unit, here});
      }
    }
  }

  // Of the instruction that has this code unit; the function's first line where it has none of its own.
  int line(int unit) const {
    const auto row = std::upper_bound(rows_.begin(), rows_.end(), unit,
                                      [](int wanted, const Row& each) { return wanted < each.end; });
    return row == rows_.end() || row->line == 0 ? first_ : row->line;
  }

 private:
  static constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15;
  static int signed_number(const unsigned char*& at, const unsigned char* end) {
    unsigned number = 0, shift = 0, byte = 0x40;
    while (at < end && byte & 0x40) {
      byte = *at++;
      number |= (byte & 0x3F) << shift;
      shift += 6;
    }
    return number & 1 ? -static_cast<int>(number >> 1) : static_cast<int>(number >> 1);
  }

  struct Row {
    int end;   // the first unit that belongs to the next row
    int line;  // 0: none
  };
  std::vector<Row> rows_;
  int first_;
};

}  // namespace stator::cpython

#endif
