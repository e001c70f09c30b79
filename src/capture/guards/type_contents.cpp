// capture/guards/type_contents.cpp: what a class and its bases define.
#include "capture/guards/type_contents.h"

#include <unordered_map>

#include "capture/cpython/exported.h"
#include "capture/cpython/type_dict.h"

namespace stator {

void TypeContents::read(PyTypeObject* type, std::vector<PyObject*>& found) {
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); i++) {
    PyObject* base = PyTuple_GET_ITEM(mro, i);
    found.push_back(base);
    auto* base_type = reinterpret_cast<PyTypeObject*>(base);
    if (!(base_type->tp_flags & Py_TPFLAGS_HEAPTYPE) || base_type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)
      continue;
    const Ref<> dict = cpython::type_dict(base_type);
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(dict.get(), &position, &key, &value)) {
      found.push_back(key);
      found.push_back(value);
    }
  }
}

TypeContents::TypeContents(PyTypeObject* type) {
  std::vector<PyObject*> found;
  read(type, found);
  all_.reserve(found.size());
  for (PyObject* object : found) all_.push_back(Ref<>::share(object));
}

std::shared_ptr<const TypeContents> TypeContents::of(PyTypeObject* type) {
  struct Known {
    unsigned int version = 0;
    std::weak_ptr<const TypeContents> contents;
  };
  // By address: a class that comes to lie where another one was has another version.
  static auto* const known = new std::unordered_map<PyTypeObject*, Known>;  // guarded by the GIL
  Known& row = (*known)[type];
  auto contents = row.version == type->tp_version_tag ? row.contents.lock() : nullptr;
  if (!contents) {
    contents = std::shared_ptr<const TypeContents>(new TypeContents(type));
    row = {type->tp_version_tag, contents};
  }
  return contents;
}

bool TypeContents::match(PyTypeObject* type) const {
  std::vector<PyObject*> found;
  read(type, found);
  if (found.size() != all_.size()) return false;
  for (size_t i = 0; i < found.size(); i++) {
    if (found[i] != all_[i].get()) return false;
  }
  return true;
}

unsigned int type_version(PyTypeObject* type) {
  static PyObject* const probe = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, probe);
  return type->tp_version_tag;
}

}  // namespace stator
