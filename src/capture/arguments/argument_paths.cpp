// capture/arguments/argument_paths.cpp: the places of the arguments' containers.
#include "capture/arguments/argument_paths.h"

namespace stator {

PyObject* GivenPath::find(PyObject* const* arguments) const {
  PyObject* at = arguments[argument];
  for (const Ref<>& key : keys) {
    if (!key) {
      at = attributes_of(at).get();  // the object keeps it
    } else if (PyFunction_Check(at)) {
      at = PyCell_GET(PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(at), PyLong_AsSsize_t(key.get())));
    } else if (PyMethod_Check(at)) {
      at = PyMethod_GET_SELF(at);
    } else if (PyDict_Check(at)) {
      at = PyDict_GetItemWithError(at, key.get());
    } else {
      at = PySequence_Fast_GET_ITEM(at, PyLong_AsSsize_t(key.get()));
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

void GivenContainers::add(PyObject* stands, PyObject* real, const GivenPath& path) {
  if (stands == real || Py_TYPE(stands) != Py_TYPE(real)) return;  // given as it is, or a tracer
  const auto descend = [&](Ref<> key, PyObject* inner, PyObject* inner_real) {
    GivenPath deeper = path;
    deeper.keys.push_back(std::move(key));
    add(inner, inner_real, deeper);
  };
  const auto descend_to_attributes = [&] {
    const Ref<> attributes = attributes_of(stands), real_attributes = attributes_of(real);
    if (!attributes || !real_attributes) return;
    paths_.emplace(stands, path);
    descend({}, attributes.get(), real_attributes.get());
  };
  if (PyTuple_Check(real) || PyList_CheckExact(real)) {
    paths_.emplace(stands, path);
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(real); i++) {
      descend(Ref<>::steal(PyLong_FromSsize_t(i)), PySequence_Fast_GET_ITEM(stands, i),
              PySequence_Fast_GET_ITEM(real, i));
    }
  } else if (PySet_CheckExact(real)) {
    paths_.emplace(stands, path);
  } else if (PyDict_Check(real)) {
    paths_.emplace(stands, path);
    each_pair(real, [&](PyObject* key, PyObject* value) {
      if (PyObject* inner = PyDict_GetItemWithError(stands, key)) descend(Ref<>::share(key), inner, value);
      return true;
    });
    if (!is_plain_dict(real)) descend_to_attributes();
  } else if (PyFunction_Check(real)) {
    paths_.emplace(stands, path);
    PyObject* cells = PyFunction_GET_CLOSURE(stands);
    for (Py_ssize_t i = 0; cells != nullptr && i < PyTuple_GET_SIZE(cells); i++) {
      descend(Ref<>::steal(PyLong_FromSsize_t(i)), PyCell_GET(PyTuple_GET_ITEM(cells, i)),
              PyCell_GET(PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(real), i)));
    }
  } else if (PyMethod_Check(real)) {
    paths_.emplace(stands, path);
    descend(Ref<>::steal(PyLong_FromLong(0)), PyMethod_GET_SELF(stands), PyMethod_GET_SELF(real));
  } else if (Py_TYPE(real)->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    descend_to_attributes();
  }
}

}  // namespace stator
