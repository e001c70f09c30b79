// capture/marks/mark.cpp: the callable types that carry a mark.
#include "capture/marks/mark.h"

#include <array>

namespace stator {
namespace {

struct Row {
  PyTypeObject* type = nullptr;
  Marked (*read)(PyObject*) = nullptr;
};
std::array<Row, 2> rows;  // written while the extension module is initialised

}  // namespace

void recognise_mark(PyTypeObject* type, Marked (*read)(PyObject*)) {
  for (Row& row : rows) {
    if (row.type != nullptr && row.type != type) continue;
    row = {type, read};
    return;
  }
}

Marked mark_of(PyObject* callable) {
  for (const Row& row : rows) {
    if (Py_TYPE(callable) == row.type) return row.read(callable);
  }
  return {};
}

}  // namespace stator
