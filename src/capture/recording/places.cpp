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
  const bool is_number = PyLong_CheckExact(value) || PyFloat_CheckExact(value);
  if (!is_number && !domain_.is_tensor(value)) return false;
  if (stand_in(container, key) != nullptr) return true;
  if (item_at(container, key) != value) return false;  // written since
  if (PyDict_Check(container) && guards_.reads_key(container, key)) return false;
  const std::string name = place_name(source(container), key);
  if (!varying_->is_place(name)) return false;
  return is_number ? PyDict_Check(container) && see_number(container, key, value, name)
                   : see_tensor(container, key, value, name);
}

PyObject* Recording::stand_in(PyObject* container, PyObject* key) const {
  for (const StandIn& known : stand_ins_) {
    if (known.container == container && PyObject_RichCompareBool(known.key.get(), key, Py_EQ) == 1)
      return known.stands.get();
  }
  return nullptr;
}

bool Recording::place(PyObject* container, PyObject* key, PyObject* value, Ref<> stands) {
  if (PyTypeObject* type = class_with(container)) {
    guards_.keep(key);
    guards_.set_apart(type, key);
    if (!journal_.class_attribute(type, key) ||
        PyType_Type.tp_setattro(reinterpret_cast<PyObject*>(type), key, stands.get()) < 0)
      return false;
  } else if (PyDict_Check(container)) {
    if (!journal_.dict_key(container, key, value) || PyDict_SetItem(container, key, stands.get()) < 0)
      return false;
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
  stand_ins_.push_back({container, Ref<>::share(key), std::move(stands)});
  return true;
}

bool Recording::see_number(PyObject* dict, PyObject* key, PyObject* value, const std::string& name) {
  DomainCapture::NumberSymbol symbol = capture_.number(value, name);
  if (!symbol.stands) return false;
  guards_.add(NumberGuard{dict, HeldKey(key), symbol.is_real, symbol.index}, dict);
  expect_symbols();
  return place(dict, key, value, std::move(symbol.stands));
}

bool Recording::see_tensor(PyObject* container, PyObject* key, PyObject* value, const std::string& name) {
  // One that is reached in another way too is that one object.
  if (is_pinned(value) || reads_freely(value) || by_identity_->count(value) != 0 || PyODict_Check(container))
    return false;
  const uint64_t changing = domain_.marked_sizes(value, varying_->sizes(name));
  std::unique_ptr<TensorGuard> guard;
  Ref<> tracer = capture_.input(value, name, changing, guard);
  if (!tracer || !guard) return false;
  if (changing != 0) expect_symbols();
  make_given_tensor(tracer.get(), value, name);
  guards_.add(TensorItemGuard{container, HeldKey(key), name, std::move(guard)}, container);
  placed_tensors_.push_back(Ref<>::share(value));
  return place(container, key, value, std::move(tracer));
}

}  // namespace stator
