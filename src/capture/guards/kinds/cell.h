// capture/guards/kinds/cell.h: the content of a cell: a variable of an enclosing function.
#ifndef STATOR_CAPTURE_GUARDS_KINDS_CELL_H
#define STATOR_CAPTURE_GUARDS_KINDS_CELL_H

#include "capture/guards/guard_kind.h"

namespace stator {

struct CellGuard {
  PyObject* cell;
  ExpectedValue content;

  GuardKey key() const { return {cell}; }
  bool holds(FoundByGuards) { return content.is_now(PyCell_GET(cell)); }
  std::string text() const { return "holds " + text_of(content); }
  void words(GuardWords& words) const { words.add(&reinterpret_cast<PyCellObject*>(cell)->ob_ref); }
  bool note_changes(Changes& changes) { return changes.note(content, Py_None, PyCell_GET(cell)); }
  template <class Visit>
  void each_expected(Visit&& visit) {
    visit(content);
  }
};

}  // namespace stator

#endif
