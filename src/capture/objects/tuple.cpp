// capture/objects/tuple.cpp: tuples, named tuples and structures of C code: known by their address, and made
// whole of their items.
#include "capture/objects/tuple.h"

#include "capture/cpython/attribute_lookup.h"
#include "capture/objects/sequence.h"
#include "capture/program/held_class.h"
#include "capture/recording/argument_reads.h"
#include "capture/recording/contents.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/reads.h"

namespace stator {
namespace {

// Of one that no argument is.
void pin_tuple_items(Recording& recording, PyObject* tuple) {
  if (!is_pinned(recording, tuple)) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (!is_constant(item)) pin(recording, item, {Origin::item, tuple, Ref<>::steal(PyLong_FromSsize_t(i))});
  }
}

bool read_tuple(Recording& recording, PyObject* tuple) {
  return read_type(recording, Py_TYPE(tuple)) && pin_items(recording, tuple);
}

bool describe_tuple(Description& description, size_t step, PyObject* tuple) {
  std::vector<size_t> parts;
  PyTypeObject* const type = Py_TYPE(tuple);
  const bool is_the_empty_one = PyTuple_CheckExact(tuple) && PyTuple_GET_SIZE(tuple) == 0;
  if (!is_the_empty_one && !description.is_made_here(tuple)) return description.refuse(tuple);
  // torch.return_types and the like are struct sequences, with a constructor of their own.
  const bool is_structure = has_attribute(reinterpret_cast<PyObject*>(type), "n_sequence_fields");
  if (!describe_items(description, tuple, parts)) return false;
  if (type != &PyTuple_Type && !description.add_attributes(step, tuple)) return false;
  const newfunc construct = is_structure ? type->tp_new : PyTuple_Type.tp_new;
  description.make_whole(
      step, [parts = std::move(parts), construct,
             held = HeldClass(description.recording.guards, type)](const Description::Values& values) {
        auto made = Ref<>::steal(PyTuple_New(static_cast<Py_ssize_t>(parts.size())));
        for (size_t i = 0; made && i < parts.size(); i++)
          PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), Py_NewRef(values[parts[i]].get()));
        const Ref<> of = held.get();
        if (as_type(of) == &PyTuple_Type || !made) return made;
        const auto arguments = Ref<>::steal(of ? PyTuple_Pack(1, made.get()) : nullptr);
        return Ref<>::steal(arguments ? construct(as_type(of), arguments.get(), nullptr) : nullptr);
      });
  return true;
}

}  // namespace

void take_made_tuple(Recording& recording, PyObject* tuple) {
  constexpr Py_ssize_t kHolders = 2;
  if (PyTuple_CheckExact(tuple) && Py_REFCNT(tuple) == kHolders && !is_pinned(recording, tuple))
    make_fresh(recording, tuple);
}

bool pin_items(Recording& recording, PyObject* tuple) {
  if (Argument* argument = find_argument(recording, tuple)) return reach_argument_items(recording, *argument);
  pin_tuple_items(recording, tuple);
  return true;
}

const ObjectKind TupleKind::row = {
    .read = read_tuple,
    .pin_parts = pin_tuple_items,
    .add_reached = add_items,
    .holds_unread = holds_unread_item,
    .read_unread = read_unread_items,
    .describe = describe_tuple,
};

}  // namespace stator
