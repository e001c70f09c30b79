// capture/objects/cell.cpp: cells, the variables that functions share.
#include "capture/objects/cell.h"

#include "capture/program/effects.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/capture_stop.h"
#include "capture/recording/custom_gradients.h"
#include "capture/recording/functions.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/places.h"
#include "capture/recording/reads.h"
#include "capture/recording/writes.h"

namespace stator {
namespace {

class WrittenCell : public Written {
 public:
  explicit WrittenCell(PyObject* cell) : Written(cell) {
    PyObject* const content = PyCell_GET(cell);
    entry = Ref<>::share(content != nullptr ? content : Journal::absent());
  }

  bool put_back() const override { return PyCell_Set(object.get(), Journal::or_null(entry.get())) == 0; }
  bool is_as_before() const override { return PyCell_GET(object.get()) == Journal::or_null(entry.get()); }
  void collect(Effects& effects, const Recording& recording) const override {
    Ref<> content = Ref<>::share(PyCell_GET(object.get()));
    if (content && recording.placed.in(object.get(), Py_None) == content.get()) return;
    effects.add(object.get(), {std::move(content)},
                [](PyObject* cell, const FinalValues& values) { return PyCell_Set(cell, values[0]) == 0; });
  }
};

bool put(Recording& recording, PyObject* cell, PyObject*, PyObject*, PyObject* stands) {
  recording.journal.note<WrittenCell>(cell);
  return PyCell_Set(cell, stands) == 0;
}

// One that existed before is pinned, and is not described.
bool describe_cell(Description& description, size_t step, PyObject* cell) {
  description.begin(step, [](const Rebuild::Given&) { return Ref<>::steal(PyCell_New(nullptr)); });
  if (PyCell_GET(cell) == nullptr) return true;
  const size_t content = description.add(PyCell_GET(cell));
  description.fill(step, [content](PyObject* made, const Description::Values& values) {
    PyCell_SET(made, Py_NewRef(values[content].get()));
    return true;
  });
  return content != Description::kStopped;
}

}  // namespace

bool read_cell(Recording& recording, PyObject* cell, PyCodeObject* code, int index) {
  if (!before_followed_read(recording, cell) || !require_no_frame_cell(recording, cell)) return false;
  if (is_fresh(recording, cell) || !is_pinned(recording, cell))
    return true;  // cells of functions that this capture entered are made by it
  if (recording.journal.find(cell) != nullptr) return true;  // written here
  PyObject* content = PyCell_GET(cell);
  const bool proven = recording.known.proven_cells.count(cell) != 0;
  if (content != nullptr && !proven && !recording.guards.has<CellGuard>(cell)) {
    if (const Placed placed = see_place(recording, cell, Py_None, content); placed != Placed::no)
      return placed == Placed::yes;
  }
  if (!proven) recording.guards.add(CellGuard{cell, expect(content)}, cell);
  if (content != nullptr) {
    pin(recording, content,
        {Origin::attribute, cell, Ref<>::share(PyTuple_GET_ITEM(code->co_localsplusnames, index))});
  }
  return true;
}

bool before_cell_write(Recording& recording, PyObject* cell) {
  // Cells that are not pinned were made by this capture.
  if (!require_no_stand_in(recording, cell) || !require_no_frame_cell(recording, cell)) return false;
  if (find_argument(recording, cell) == nullptr) {
    if (!is_pinned(recording, cell)) return true;
    if (recording.known.proven_cells.count(cell) != 0)
      return stop(recording, BreakCode::kOutsideEffect,
                  "a variable of the function that made this one is written");
  }
  if (!before_replacing(recording, PyCell_GET(cell))) return false;
  recording.journal.note<WrittenCell>(cell);
  return true;
}

const ObjectKind CellKind::row = {.put = put, .describe = describe_cell};

}  // namespace stator
