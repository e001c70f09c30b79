// capture/recording/places.cpp: numbers and tensors that were replaced between calls, and are read from their
// place on each of them.
//
// While the capture lasts, a symbol or a tracer stands in that place, so that whoever reads it sees it. The
// journal puts the value back.
#include "capture/recording/recording.h"

namespace stator {

// Whether something stands there now, or stood there already. False: what is there is guarded as it is, or an
// error is set.
bool Recording::see_place(PyObject* container, PyObject* key, PyObject* value) {
  if (varying_ == nullptr || !varying_->has_places()) return false;
  if (following_ != 0) return false;  // whoever runs there reads the place by itself
  const bool is_number = PyLong_CheckExact(value) || PyFloat_CheckExact(value);
  const bool is_tuple = PyTuple_CheckExact(value);
  if (!is_number && !is_tuple && !domain_.is_tensor(value)) return false;
  if (stand_in(container, key) != nullptr) return true;
  if (item_at(container, key) != value) return false;  // written since
  if (PyDict_Check(container) && guards_.reads_key(container, key)) return false;
  const std::string name = place_name(source(container), key);
  if (!varying_->is_place(name)) return false;
  if (is_number) return !PyList_Check(container) && see_number(container, key, value, name);
  return is_tuple ? see_tuple(container, key, value, name) : see_tensor(container, key, value, name);
}

bool Recording::place(PyObject* container, PyObject* key, PyObject* value, Ref<> stands) {
  if (PyTypeObject* type = classes_.class_with(container)) {
    guards_.keep(key);
    guards_.set_apart(type, key);
    if (!journal_.class_attribute(type, key) ||
        PyType_Type.tp_setattro(reinterpret_cast<PyObject*>(type), key, stands.get()) < 0)
      return false;
  } else if (PyDict_Check(container)) {
    if (!journal_.dict_key(container, key, value) || PyDict_SetItem(container, key, stands.get()) < 0)
      return false;
  } else if (PyCell_Check(container)) {
    if (!journal_.cell(container) || PyCell_Set(container, stands.get()) < 0) return false;
  } else if (!PyList_Check(container)) {
    PyObject* descriptor = _PyType_Lookup(Py_TYPE(container), key);
    if (!journal_.slot(container, descriptor) ||
        Py_TYPE(descriptor)->tp_descr_set(descriptor, container, stands.get()) < 0)
      return false;
  } else {
    const Py_ssize_t index = PyLong_AsSsize_t(key);
    if (!journal_.list_item(container, index) ||
        PyList_SetItem(container, index, Ref<>(stands).release()) < 0)
      return false;
  }
  placed_.add(container, key, std::move(stands));
  return true;
}

bool Recording::see_number(PyObject* container, PyObject* key, PyObject* value, const std::string& name) {
  DomainCapture::NumberSymbol symbol = capture_.number(value, name);
  if (!symbol.stands) return false;
  guards_.add(NumberGuard{container, HeldKey(key), {symbol.is_real, symbol.index}}, container);
  expect_symbols();
  return place(container, key, value, std::move(symbol.stands));
}

// One that is reached in another way too is that one object.
bool Recording::may_be_placed(PyObject* value) const {
  if (PyTuple_CheckExact(value)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); i++) {
      if (!may_be_placed(PyTuple_GET_ITEM(value, i))) return false;
    }
  }
  return is_constant(value) || (!is_pinned(value) && !reads_freely(value) && by_identity_->count(value) == 0);
}

// The tracer of a tensor that the call brings in a place.
Ref<> Recording::placed_tracer(PyObject* value, const std::string& name,
                               std::unique_ptr<TensorGuard>& guard) {
  const uint64_t changing = domain_.marked_sizes(value, varying_->sizes(name));
  Ref<> tracer = capture_.input(value, name, changing, guard);
  if (!tracer || !guard) return {};
  if (changing != 0) expect_symbols();
  make_given_tensor(tracer.get(), value, name);
  placed_.tensors.push_back(Ref<>::share(value));
  return tracer;
}

bool Recording::see_tensor(PyObject* container, PyObject* key, PyObject* value, const std::string& name) {
  if (!may_be_placed(value) || PyODict_Check(container)) return false;
  std::unique_ptr<TensorGuard> guard;
  Ref<> tracer = placed_tracer(value, name, guard);
  if (!tracer) return false;
  guards_.add(TensorItemGuard{container, HeldKey(key), name, std::move(guard)}, container);
  return place(container, key, value, std::move(tracer));
}

Ref<> Recording::placed_part(PyObject* value, const std::string& name, TupleItemGuard::Part& part) {
  part.name = name;
  if (domain_.is_tensor(value)) return placed_tracer(value, name, part.tensor);
  part.is_tuple = PyTuple_CheckExact(value);
  if (!part.is_tuple) {
    const bool is_number = PyLong_CheckExact(value) || PyFloat_CheckExact(value);
    if (is_number && varying_->is_place(name)) {
      DomainCapture::NumberSymbol symbol = capture_.number(value, name);
      if (symbol.stands) {
        part.number = {symbol.is_real, symbol.index};
        expect_symbols();
        return std::move(symbol.stands);
      }
    }
    note_constant(value, nullptr, nullptr);
    part.constant = expect(value);
    return Ref<>::share(value);
  }
  const Py_ssize_t count = PyTuple_GET_SIZE(value);
  auto stands = Ref<>::steal(PyTuple_New(count));
  for (Py_ssize_t i = 0; stands && i < count; i++) {
    part.items.emplace_back();
    Ref<> item =
        placed_part(PyTuple_GET_ITEM(value, i), name + "[" + std::to_string(i) + "]", part.items.back());
    if (!item) return {};
    PyTuple_SET_ITEM(stands.get(), i, item.release());
  }
  return stands;
}

bool Recording::see_tuple(PyObject* container, PyObject* key, PyObject* value, const std::string& name) {
  if (!may_be_placed(value) || PyODict_Check(container) || !may_be_replaced(domain_, value)) return false;
  TupleItemGuard guard{container, HeldKey(key), {}};
  Ref<> stands = placed_part(value, name, guard.whole);
  if (!stands) {
    if (!PyErr_Occurred()) stop(BreakCode::kTensorSubclass, name);
    return false;
  }
  guards_.add(std::move(guard), container);
  placed_.add_tuple(stands.get(), value);
  return place(container, key, value, std::move(stands));
}

// False: it stands for a tuple, of which another attempt sees the object itself.
bool Recording::want_tuple_by_identity(PyObject* stands) {
  PyObject* const real = placed_.real_tuple(stands);
  if (real == nullptr) return true;
  wanted_by_identity_.insert(real);
  return stop(BreakCode::kUnguardable, "the identity of a tuple that is read from its place");
}

}  // namespace stator
