// capture/recording/places.cpp: numbers and tensors that were replaced between calls, and are read from their
// place on each of them.
//
// While the capture lasts, a symbol or a tracer stands in that place, so that whoever reads it sees it. The
// journal puts the value back.
#include "capture/recording/places.h"

#include "capture/recording/capture_stop.h"
#include "capture/recording/known_objects.h"
#include "capture/recording/object_kind.h"
#include "capture/recording/recording.h"
#include "capture/recording/sources.h"
#include "capture/recording/tensor_attributes.h"

namespace stator {

static Placed see_number(Recording& recording, PyObject* container, PyObject* key, PyObject* value,
                         const std::string& name);
static Placed see_tuple(Recording& recording, PyObject* container, PyObject* key, PyObject* value,
                        const std::string& name);
static Placed see_tensor(Recording& recording, PyObject* container, PyObject* key, PyObject* value,
                         const std::string& name);

// Where the domain gives nothing that could stand for a value.
static Placed not_placed() { return PyErr_Occurred() ? Placed::ended : Placed::no; }

Placed see_place(Recording& recording, PyObject* container, PyObject* key, PyObject* value) {
  if (recording.varying == nullptr || !recording.varying->has_places()) return Placed::no;
  if (recording.following != 0) return Placed::no;  // whoever runs there reads the place by itself
  const bool is_number = PyLong_CheckExact(value) || PyFloat_CheckExact(value);
  const bool is_tuple = PyTuple_CheckExact(value);
  if (!is_number && !is_tuple && !recording.domain.is_tensor(value)) return Placed::no;
  if (recording.placed.in(container, key) != nullptr) return Placed::yes;
  if (item_at(container, key) != value) return not_placed();  // written since
  if (PyDict_Check(container) && recording.guards.reads_key(container, key)) return Placed::no;
  const std::string name = place_name(source(recording, container), key);
  if (!recording.varying->is_place(name)) return Placed::no;
  if (is_number && PyList_Check(container)) return Placed::no;
  if (is_number) return see_number(recording, container, key, value, name);
  return is_tuple ? see_tuple(recording, container, key, value, name)
                  : see_tensor(recording, container, key, value, name);
}

static Placed place(Recording& recording, PyObject* container, PyObject* key, PyObject* value, Ref<> stands) {
  const auto put = of_kind<&ObjectKind::put>(recording, container);
  if (!put(recording, container, key, value, stands.get())) return Placed::ended;
  recording.placed.add(container, key, std::move(stands));
  return Placed::yes;
}

static Placed see_number(Recording& recording, PyObject* container, PyObject* key, PyObject* value,
                         const std::string& name) {
  DomainCapture::NumberSymbol symbol = recording.capture.number(value, name);
  if (!symbol.stands) return not_placed();
  recording.guards.add(NumberGuard{container, HeldKey(key), {symbol.is_real, symbol.index}}, container);
  recording.has_symbols = true;
  return place(recording, container, key, value, std::move(symbol.stands));
}

// One that is reached in another way too is that one object.
static bool may_be_placed(const Recording& recording, PyObject* value) {
  if (PyTuple_CheckExact(value)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++) {
      if (!may_be_placed(recording, PyTuple_GET_ITEM(value, i))) return false;
    }
  }
  return is_constant(value) || (!is_pinned(recording, value) && !is_of_call(recording, value) &&
                                recording.by_identity->count(value) == 0);
}

// The tracer of a tensor that the call brings in a place.
static Ref<> placed_tracer(Recording& recording, PyObject* value, const std::string& name,
                           std::unique_ptr<TensorGuard>& guard) {
  const uint64_t changing = recording.domain.marked_sizes(value, recording.varying->sizes(name));
  Ref<> tracer = recording.capture.input(value, name, changing, guard);
  if (!tracer || !guard) return {};
  if (changing != 0) recording.has_symbols = true;
  make_given_tensor(recording, tracer.get(), value, name, true);
  recording.placed.tensors.push_back(Ref<>::share(value));
  return tracer;
}

static Placed see_tensor(Recording& recording, PyObject* container, PyObject* key, PyObject* value,
                         const std::string& name) {
  if (!may_be_placed(recording, value) || PyODict_Check(container)) return Placed::no;
  std::unique_ptr<TensorGuard> guard;
  Ref<> tracer = placed_tracer(recording, value, name, guard);
  if (!tracer) return not_placed();
  recording.guards.add(TensorItemGuard{container, HeldKey(key), name, std::move(guard)}, container);
  return place(recording, container, key, value, std::move(tracer));
}

static Ref<> placed_part(Recording& recording, PyObject* value, const std::string& name,
                         TupleItemGuard::Part& part) {
  part.name = name;
  if (recording.domain.is_tensor(value)) return placed_tracer(recording, value, name, part.tensor);
  part.is_tuple = PyTuple_CheckExact(value);
  if (!part.is_tuple) {
    const bool is_number = PyLong_CheckExact(value) || PyFloat_CheckExact(value);
    if (is_number && recording.varying->is_place(name)) {
      DomainCapture::NumberSymbol symbol = recording.capture.number(value, name);
      if (symbol.stands) {
        part.number = {symbol.is_real, symbol.index};
        recording.has_symbols = true;
        return std::move(symbol.stands);
      }
    }
    note_constant(recording, value, nullptr, nullptr);
    part.constant = expect(value);
    return Ref<>::share(value);
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(value);
  auto stands = Ref<>::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; stands && i < count; i++) {
    part.items.emplace_back();
    Ref<> item = placed_part(recording, PyTuple_GET_ITEM(value, i), name + "[" + std::to_string(i) + "]",
                             part.items.back());
    if (!item) return {};
    PyTuple_SET_ITEM(stands.get(), i, item.release());
  }
  return stands;
}

static Placed see_tuple(Recording& recording, PyObject* container, PyObject* key, PyObject* value,
                        const std::string& name) {
  if (!may_be_placed(recording, value) || PyODict_Check(container) ||
      !may_be_replaced(recording.domain, value))
    return Placed::no;
  TupleItemGuard guard{container, HeldKey(key), {}};
  Ref<> stands = placed_part(recording, value, name, guard.whole);
  if (!stands) {
    if (!PyErr_Occurred()) stop(recording, BreakCode::kTensorSubclass, name);
    return Placed::ended;
  }
  recording.guards.add(std::move(guard), container);
  recording.placed.add_tuple(stands.get(), value, container, key);
  return place(recording, container, key, value, std::move(stands));
}

// If it stands for a tuple, the capture is stopped: another attempt sees the object itself.
bool want_tuple_by_identity(Recording& recording, PyObject* stands) {
  PyObject* const real = recording.placed.real_tuple(stands);
  if (real == nullptr) return true;
  recording.wanted_by_identity.insert(real);
  return stop(recording, BreakCode::kUnguardable, "the identity of a tuple that is read from its place");
}

}  // namespace stator
