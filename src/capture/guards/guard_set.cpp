// capture/guards/guard_set.cpp: checking, cheapest comparison first.
#include "capture/guards/guard_set.h"

#include "capture/cpython/dict_version.h"

namespace stator {

bool is_constant(PyObject* object) {
  return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) ||
         PyComplex_CheckExact(object) || object == Py_Ellipsis || object == Py_NotImplemented;
}

ExpectedValue expect(PyObject* object) {
  if (object != nullptr && is_constant(object)) return {object, Ref<>::share(object)};
  return {object, {}};
}

bool ExpectedValue::matches(PyObject* found) const {
  if (found == object) return true;
  if (!constant || found == nullptr || Py_TYPE(found) != Py_TYPE(constant.get())) return false;
  if (PyFloat_CheckExact(found)) {
    // By bits: 0.0 is not -0.0 to a program, and a NaN is the NaN it was.
    const double a = PyFloat_AS_DOUBLE(found), b = PyFloat_AS_DOUBLE(constant.get());
    return __builtin_memcmp(&a, &b, sizeof a) == 0;
  }
  return PyObject_RichCompareBool(found, constant.get(), Py_EQ) == 1;
}

Ref<> read_slot(PyObject* object, PyObject* descriptor) {
  auto value = Ref<>::steal(
      Py_TYPE(descriptor)->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  if (!value) PyErr_Clear();  // an empty slot
  return value;
}

namespace {

bool check_dict_contents(const DictGuard& guard) {
  if (guard.whole) {
    if (PyDict_GET_SIZE(guard.dict) != static_cast<Py_ssize_t>(guard.reads.size())) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    for (const DictGuard::Read& read : guard.reads) {
      if (!PyDict_Next(guard.dict, &position, &key, &value)) return false;
      if (!expect(read.key.get()).matches(key) || !read.value.matches(value)) return false;
    }
    return true;
  }
  for (const DictGuard::Read& read : guard.reads) {
    PyObject* found = PyDict_GetItemWithError(guard.dict, read.key.get());
    if (found == nullptr) PyErr_Clear();
    if (!read.value.matches(found)) return false;
  }
  return true;
}

struct Checker {
  bool operator()(DictGuard& guard) const {
    const uint64_t version = cpython::dict_version(guard.dict);
    if (version == guard.version) return true;
    if (!check_dict_contents(guard)) return false;
    guard.version = version;
    return true;
  }
  bool operator()(const ListGuard& guard) const {
    const size_t count = guard.items.size();
    if (PyList_GET_SIZE(guard.list) != static_cast<Py_ssize_t>(count)) return false;
    for (size_t i = 0; i < count; i++) {
      const ExpectedValue& expected = guard.items[i];
      if (expected.object != nullptr && !expected.matches(PyList_GET_ITEM(guard.list, i))) return false;
    }
    return true;
  }
  bool operator()(const TypeGuard& guard) const { return guard.type->tp_version_tag == guard.version; }
  bool operator()(const ObjectGuard& guard) const {
    return Py_TYPE(guard.object) == guard.type &&
           (guard.dict_slot == nullptr || *guard.dict_slot == guard.dict);
  }
  bool operator()(const FunctionGuard& guard) const {
    return guard.function->func_code == guard.code && guard.function->func_defaults == guard.defaults &&
           guard.function->func_kwdefaults == guard.keyword_defaults;
  }
  bool operator()(const CellGuard& guard) const { return guard.content.matches(PyCell_GET(guard.cell)); }
  bool operator()(const SlotGuard& guard) const {
    return guard.content.matches(read_slot(guard.object, guard.descriptor).get());
  }
  bool operator()(const PinnedTensorGuard& guard) const { return guard.guard->holds(guard.tensor); }
};

// An object that is compared by identity may be gone by now: nothing is asked of it.
std::string text(const ExpectedValue& value) {
  PyObject* object = value.constant.get();
  if (object == nullptr) return value.object == nullptr ? "<absent>" : "<the same object>";
  auto repr = Ref<>::steal(PyObject_Repr(object));
  const char* utf8 = repr ? PyUnicode_AsUTF8(repr.get()) : nullptr;
  if (utf8 == nullptr) PyErr_Clear();
  return utf8 != nullptr ? utf8 : "?";
}

struct Describer {
  std::string operator()(const DictGuard& guard) const {
    if (guard.whole) return "has the same " + std::to_string(guard.reads.size()) + " items";
    std::string all;
    for (const DictGuard::Read& read : guard.reads) {
      if (!all.empty()) all += ", ";
      all += "[" + text(expect(read.key.get())) + "] is " + text(read.value);
    }
    return all;
  }
  std::string operator()(const ListGuard& guard) const {
    const std::string count = std::to_string(guard.items.size());
    if (guard.whole) return "has the same " + count + " items";
    std::string all = "has " + count + " items";
    for (size_t i = 0; i < guard.items.size(); i++) {
      if (guard.items[i].object != nullptr) all += ", [" + std::to_string(i) + "] is " + text(guard.items[i]);
    }
    return all;
  }
  std::string operator()(const TypeGuard&) const { return "is an unchanged class"; }
  std::string operator()(const ObjectGuard& guard) const {
    return std::string("is a ") + guard.type->tp_name;
  }
  std::string operator()(const FunctionGuard&) const { return "has the same code and defaults"; }
  std::string operator()(const CellGuard& guard) const { return "holds " + text(guard.content); }
  std::string operator()(const SlotGuard& guard) const {
    return "has a slot that holds " + text(guard.content);
  }
  std::string operator()(const PinnedTensorGuard& guard) const { return guard.guard->expected(); }
};

}  // namespace

// No version is noted yet, so every dictionary is compared by its contents, and its version noted.
bool GuardSet::seal() { return check(nullptr); }

bool GuardSet::check(std::string* failed) {
  for (size_t i = 0; i < guards_.size(); i++) {
    if (std::visit(Checker{}, guards_[i])) continue;
    if (failed != nullptr) *failed = sources_[i] + " " + std::visit(Describer{}, guards_[i]);
    return false;
  }
  return true;
}

void GuardSet::add(Guard guard, PyObject* subject) {
  guards_.push_back(std::move(guard));
  subjects_.push_back(subject);
}

std::vector<std::string> GuardSet::describe() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < guards_.size(); i++)
    all.push_back(sources_[i] + " " + std::visit(Describer{}, guards_[i]));
  return all;
}

DictGuard& GuardSet::dict(PyObject* dict) {
  const auto [found, fresh] = seen_.emplace(dict, guards_.size());
  if (fresh) add(DictGuard{dict, 0, false, {}}, dict);
  return std::get<DictGuard>(guards_[found->second]);
}

ListGuard& GuardSet::list(PyObject* list, Py_ssize_t length) {
  const auto [found, fresh] = seen_.emplace(list, guards_.size());
  if (fresh) add(ListGuard{list, false, std::vector<ExpectedValue>(static_cast<size_t>(length))}, list);
  return std::get<ListGuard>(guards_[found->second]);
}

bool GuardSet::reads_key(PyObject* dict, PyObject* key) const {
  const auto found = seen_.find(dict);
  if (found == seen_.end()) return false;
  const auto* guard = std::get_if<DictGuard>(&guards_[found->second]);
  if (guard == nullptr) return false;
  for (const DictGuard::Read& read : guard->reads) {
    if (read.key.get() == key || PyObject_RichCompareBool(read.key.get(), key, Py_EQ) == 1) return true;
  }
  return false;
}

}  // namespace stator
