// capture/guards/type_contents.cpp: what a class and its bases define.
#include "capture/guards/type_contents.h"

#include <optional>
#include <unordered_map>

#include "capture/cpython/exported.h"
#include "capture/cpython/interrupts.h"
#include "capture/cpython/type_dict.h"

namespace stator {

void TypeContents::read(PyTypeObject* type, const ApartNames* apart, std::vector<PyObject*>& found) {
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
      if (apart != nullptr && apart->count({base_type, key}) != 0) continue;
      found.push_back(key);
      found.push_back(value);
    }
  }
}

TypeContents::TypeContents(PyTypeObject* type) {
  std::vector<PyObject*> found;
  read(type, nullptr, found);
  all_.reserve(found.size());
  for (PyObject* object : found) all_.emplace_back(object);
  // Names are strings: what is a class where a name may stand is a base.
  for (uint32_t i = 0; i < found.size();) {
    const bool is_base = PyType_Check(found[i]);
    if (is_base) bases_.push_back(i);
    i += is_base ? 1 : 2;
  }
}

namespace {

// What tells apart objects that C code made for a class and that know no weak references; nullopt for
// objects of other types.
std::optional<std::vector<Ref<>>> parts_of(PyObject* object) {
  if (Py_IS_TYPE(object, &PyGetSetDescr_Type) || Py_IS_TYPE(object, &PyMemberDescr_Type))
    return std::vector{Ref<>::share(PyDescr_NAME(object)),
                       Ref<>::share(reinterpret_cast<PyObject*>(PyDescr_TYPE(object)))};
  std::vector<const char*> names;
  if (Py_IS_TYPE(object, &PyProperty_Type)) names = {"fget", "fset", "fdel"};
  if (Py_IS_TYPE(object, &PyClassMethod_Type) || Py_IS_TYPE(object, &PyStaticMethod_Type))
    names = {"__func__"};
  if (names.empty()) return std::nullopt;
  std::vector<Ref<>> parts;
  for (const char* name : names) {
    parts.push_back(Ref<>::steal(PyObject_GetAttrString(object, name)));
    if (!parts.back()) {
      drop_error();
      return std::nullopt;
    }
  }
  return parts;
}

}  // namespace

TypeContents::Seen::Seen(PyObject* object) : address(object), type(Py_TYPE(object)) {
  if (PyObject_IS_GC(object)) {
    if (const auto made_of = parts_of(object)) {
      for (const Ref<>& part : *made_of) parts.emplace_back(part.get());
      return;
    }
    if (PyType_SUPPORTS_WEAKREFS(type)) kept = Ref<>::steal(PyWeakref_NewRef(object, nullptr));
    is_weak = static_cast<bool>(kept);
    if (!is_weak) drop_error();
  }
  if (!is_weak) kept = Ref<>::share(object);
}

bool TypeContents::Seen::is(PyObject* object) const {
  if (object != address || Py_TYPE(object) != type) return false;
  if (kept) return !is_weak || PyWeakref_GET_OBJECT(kept.get()) == object;
  const auto made_of = parts_of(object);
  if (!made_of || made_of->size() != parts.size()) return false;
  for (size_t i = 0; i < parts.size(); i++) {
    if (!parts[i].is((*made_of)[i].get())) return false;
  }
  return true;
}

std::shared_ptr<const TypeContents> TypeContents::of(PyTypeObject* type) {
  struct Known {
    unsigned int version = 0;
    std::weak_ptr<const TypeContents> contents;
  };
  // By address: a class that comes to lie where another one was has another version.
  static auto* const known = new std::unordered_map<PyTypeObject*, Known>;  // guarded by the GIL
  Known& row = (*known)[type];
  auto contents = row.version != 0 && row.version == type->tp_version_tag ? row.contents.lock() : nullptr;
  if (!contents) {
    contents = std::shared_ptr<const TypeContents>(new TypeContents(type));
    row = {type->tp_version_tag, contents};
  }
  return contents;
}

bool TypeContents::match(PyTypeObject* type, const ApartNames* apart) const {
  return compare(type, apart, nullptr);
}

std::optional<std::vector<TypeContents::Difference>> TypeContents::differences(
    PyTypeObject* type, const ApartNames* apart) const {
  std::vector<Difference> found;
  if (!compare(type, apart, &found)) return std::nullopt;
  return found;
}

// Differences in values are noted, if somebody wants to know them.
bool TypeContents::compare(PyTypeObject* type, const ApartNames* apart,
                           std::vector<Difference>* different) const {
  std::vector<PyObject*> found;
  read(type, apart, found);
  if (apart == nullptr && found.size() != all_.size()) return false;
  size_t at = 0;
  for (size_t b = 0; b < bases_.size(); b++) {
    const size_t end = b + 1 < bases_.size() ? bases_[b + 1] : all_.size();
    size_t i = bases_[b];
    if (at == found.size() || !all_[i++].is(found[at++])) return false;
    auto* base = reinterpret_cast<PyTypeObject*>(found[at - 1]);
    for (; i < end; i += 2) {
      if (apart != nullptr && apart->count({base, all_[i].address}) != 0) continue;
      if (at + 1 >= found.size() || !all_[i].is(found[at])) return false;
      const Seen& value = all_[i + 1];
      if (!value.is(found[at + 1])) {
        if (different == nullptr || Py_TYPE(found[at + 1]) != value.type) return false;
        PyObject* constant = value.is_weak ? nullptr : value.kept.get();
        different->push_back({base, found[at], constant, found[at + 1], value.address});
      }
      at += 2;
    }
  }
  return at == found.size();
}

unsigned int type_version(PyTypeObject* type) {
  static PyObject* const probe = PyUnicode_InternFromString("__class__");
  _PyType_Lookup(type, probe);
  return type->tp_version_tag;
}

}  // namespace stator
