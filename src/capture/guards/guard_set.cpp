// capture/guards/guard_set.cpp: checking, cheapest comparison first.
#include "capture/guards/guard_set.h"

#include <structmember.h>

#include <algorithm>

#include "capture/cpython/dict_version.h"
#include "capture/cpython/exported.h"
#include "capture/cpython/ordered_dict.h"

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

// No object of any program's.
static char any_object;

ExpectedValue ExpectedValue::anything() { return {reinterpret_cast<PyObject*>(&any_object), {}}; }

bool ExpectedValue::matches(PyObject* found) const {
  if (found == object || object == reinterpret_cast<PyObject*>(&any_object)) return true;
  if (!constant || found == nullptr || Py_TYPE(found) != Py_TYPE(constant.get())) return false;
  if (PyFloat_CheckExact(found)) {
    // By bits: 0.0 is not -0.0 to a program, and a NaN is the NaN it was.
    const double a = PyFloat_AS_DOUBLE(found), b = PyFloat_AS_DOUBLE(constant.get());
    return __builtin_memcmp(&a, &b, sizeof a) == 0;
  }
  return PyObject_RichCompareBool(found, constant.get(), Py_EQ) == 1;
}

bool ExpectedValue::is_now(PyObject* found) {
  if (!matches(found)) return false;
  if (constant && found != constant.get()) *this = expect(found);
  return true;
}

Ref<> read_getter(PyObject* object, PyObject* descriptor) {
  return Ref<>::steal(
      Py_TYPE(descriptor)->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

Ref<> read_slot(PyObject* object, PyObject* descriptor) {
  auto value = Ref<>::steal(
      Py_TYPE(descriptor)->tp_descr_get(descriptor, object, reinterpret_cast<PyObject*>(Py_TYPE(object))));
  if (!value) PyErr_Clear();  // an empty slot
  return value;
}

namespace {

// Calls `visit` with each item (borrowed) until it returns false. False: stopped, or the container is of no
// kind that is known.
template <class Visit>
bool each_item(PyObject* container, Visit&& visit) {
  if (PyAnySet_Check(container)) {
    Py_ssize_t position = 0;
    PyObject* key;
    Py_hash_t hash;
    while (_PySet_NextEntry(container, &position, &key, &hash)) {
      if (!visit(key)) return false;
    }
    return true;
  }
  const Py_ssize_t count = PySequence_Size(container);
  for (Py_ssize_t i = 0; i < count; i++) {
    auto item = Ref<>::steal(PySequence_GetItem(container, i));
    if (!item) PyErr_Clear();
    if (!item || !visit(item.get())) return false;
  }
  return count >= 0;
}

}  // namespace

std::vector<ExpectedValue> expect_items(PyObject* container) {
  std::vector<ExpectedValue> items;
  each_item(container, [&](PyObject* item) {
    items.push_back(expect(item));
    return true;
  });
  return items;
}

PyObject* DictGuard::Read::found_in(PyObject* dict) const {
  PyObject* const held = key.get();
  PyObject* const found = held != nullptr ? PyDict_GetItemWithError(dict, held) : nullptr;
  if (found == nullptr) PyErr_Clear();
  return found;
}

namespace {

bool check_dict_contents(const DictGuard& guard) {
  if (guard.whole) {
    if (PyDict_GET_SIZE(guard.dict) != static_cast<Py_ssize_t>(guard.reads.size())) return false;
    PyObject *key, *value;
    Py_ssize_t position = 0;
    for (const DictGuard::Read& read : guard.reads) {
      if (!PyDict_Next(guard.dict, &position, &key, &value)) return false;
      PyObject* const expected = read.key.get();
      if (expected == nullptr || !expect(expected).matches(key) || !read.value.matches(value)) return false;
    }
    return true;
  }
  for (const DictGuard::Read& read : guard.reads) {
    if (!read.value.matches(read.found_in(guard.dict))) return false;
  }
  return true;
}

struct Checker {
  FoundByGuards found;
  bool operator()(const DictGuard& guard) const { return check_dict_contents(guard); }
  bool operator()(ListGuard& guard) const {
    const size_t count = guard.items.size();
    if (PyList_GET_SIZE(guard.list) != static_cast<Py_ssize_t>(count)) return false;
    for (size_t i = 0; i < count; i++) {
      ExpectedValue& expected = guard.items[i];
      if (expected.object != nullptr && !expected.is_now(PyList_GET_ITEM(guard.list, i))) return false;
    }
    return true;
  }
  bool operator()(TypeGuard& guard) const {
    if (PyWeakref_GET_OBJECT(guard.alive.get()) != reinterpret_cast<PyObject*>(guard.type)) return false;
    if (guard.type->tp_version_tag == guard.version) return true;
    if (!guard.contents->match(guard.type)) return false;
    guard.version = type_version(guard.type);
    return guard.version != 0;
  }
  bool operator()(const ObjectGuard& guard) const {
    return Py_TYPE(guard.object) == guard.type &&
           (guard.dict_slot == nullptr || *guard.dict_slot == guard.dict);
  }
  bool operator()(const FunctionGuard& guard) const {
    return guard.function->func_code == guard.code && guard.function->func_defaults == guard.defaults &&
           guard.function->func_kwdefaults == guard.keyword_defaults;
  }
  bool operator()(CellGuard& guard) const { return guard.content.is_now(PyCell_GET(guard.cell)); }
  bool operator()(SlotGuard& guard) const {
    return guard.content.is_now(read_slot(guard.object, guard.descriptor).get());
  }
  bool operator()(OrderGuard& guard) const {
    const cpython::OrderNode* node = cpython::ordered(guard.dict)->first;
    for (const ExpectedValue& key : guard.keys) {
      if (node == nullptr || !key.matches(node->key)) return false;
      node = node->next;
    }
    return node == nullptr;
  }
  bool operator()(ItemsGuard& guard) const {
    size_t count = 0;
    const bool same = each_item(guard.container, [&](PyObject* item) {
      return count < guard.items.size() && guard.items[count++].is_now(item);
    });
    return same && count == guard.items.size();
  }
  bool operator()(FieldGuard& guard) const { return guard.content.is_now(*guard.field); }
  bool operator()(const RegistryGuard& guard) const {
    auto now = Ref<>::steal(PyObject_CallNoArgs(guard.counter.get()));
    if (!now) PyErr_Clear();
    return now && PyObject_RichCompareBool(now.get(), guard.count.get(), Py_EQ) == 1;
  }
  bool operator()(const NoExceptionGuard&) const { return !Ref<>::steal(PyErr_GetHandledException()); }
  bool operator()(const GetterGuard& guard) const {
    const Ref<> value = read_getter(guard.object, guard.descriptor);
    if (!value) PyErr_Clear();
    return value && guard.content.matches(value.get());
  }
  bool operator()(const PinnedTensorGuard& guard) const {
    return guard.guard->holds(guard.tensor, found.bindings);
  }
  bool operator()(const NumberGuard& guard) const {
    PyObject* const key = guard.key.get();
    PyObject* const value = key != nullptr ? PyDict_GetItemWithError(guard.dict, key) : nullptr;
    if (value == nullptr) PyErr_Clear();
    return value != nullptr && bind_number(value, guard.is_real, guard.symbol, found.bindings);
  }
  bool operator()(const TensorItemGuard& guard) const {
    PyObject* tensor = guard.find();
    if (tensor == nullptr || !guard.guard->holds(tensor, found.bindings)) return false;
    found.tensors.push_back(tensor);
    return true;
  }
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
  std::string operator()(const OrderGuard&) const { return "has its items in the same order"; }
  std::string operator()(const ItemsGuard& guard) const {
    return "has the same " + std::to_string(guard.items.size()) + " items";
  }
  std::string operator()(const FieldGuard& guard) const {
    return std::string("has the same ") + guard.name + ": " + text(guard.content);
  }
  std::string operator()(const RegistryGuard&) const { return "has no other class registered"; }
  std::string operator()(const NoExceptionGuard&) const { return "handles no exception"; }
  std::string operator()(const GetterGuard& guard) const {
    return std::string(".") + PyUnicode_AsUTF8(PyDescr_NAME(guard.descriptor)) + " is " + text(guard.content);
  }
  std::string operator()(const PinnedTensorGuard& guard) const { return guard.guard->expected(); }
  std::string operator()(const NumberGuard& guard) const {
    return "[" + text(expect(guard.key.get())) + "] is " + (guard.is_real ? "a float" : "an int");
  }
  std::string operator()(const TensorItemGuard& guard) const {
    return "[" + text(expect(guard.key.get())) + "] is " + guard.guard->expected();
  }
};

}  // namespace

// A guard that is no word stands in the order of the others as one that always differs: what it proves alive
// is looked at behind it.
static constexpr uint64_t kAsked = 0;

// The words of a guard at this moment, in which it holds.
void GuardSet::note_words(size_t index, std::vector<Word>& words) const {
  const auto word = [&](const void* at) {
    uint64_t now;
    __builtin_memcpy(&now, at, sizeof now);
    words.push_back({at, now});
  };
  const Guard& guard = guards_[index];
  if (const auto* dict = std::get_if<DictGuard>(&guard)) {
    word(cpython::dict_version_address(dict->dict));
  } else if (const auto* list = std::get_if<ListGuard>(&guard)) {
    auto* object = reinterpret_cast<PyListObject*>(list->list);
    word(&object->ob_base.ob_size);
    word(&object->ob_item);
    for (size_t i = 0; i < list->items.size(); i++) {
      if (list->items[i].object != nullptr) word(&object->ob_item[i]);
    }
  } else if (const auto* type = std::get_if<TypeGuard>(&guard)) {
    word(&reinterpret_cast<PyWeakReference*>(type->alive.get())->wr_object);
    word(&type->type->tp_version_tag);  // and what fills the word up, which nobody writes
  } else if (const auto* instance = std::get_if<ObjectGuard>(&guard)) {
    word(&instance->object->ob_type);
    if (instance->dict_slot != nullptr) word(instance->dict_slot);
  } else if (const auto* function = std::get_if<FunctionGuard>(&guard)) {
    word(&function->function->func_code);
    word(&function->function->func_defaults);
    word(&function->function->func_kwdefaults);
  } else if (const auto* cell = std::get_if<CellGuard>(&guard)) {
    word(&reinterpret_cast<PyCellObject*>(cell->cell)->ob_ref);
  } else if (const auto* slot = std::get_if<SlotGuard>(&guard)) {
    const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(slot->descriptor)->d_member;
    word(reinterpret_cast<const char*>(slot->object) + member->offset);
  } else if (const auto* field = std::get_if<FieldGuard>(&guard)) {
    word(field->field);
  } else if (const auto* order = std::get_if<OrderGuard>(&guard)) {
    word(&cpython::ordered(order->dict)->state);
  } else if (const auto* items = std::get_if<ItemsGuard>(&guard); items && PyAnySet_Check(items->container)) {
    auto* set = reinterpret_cast<PySetObject*>(items->container);
    word(&set->used);
    word(&set->table);
    for (Py_ssize_t i = 0; i <= set->mask; i++) {
      PyObject* key = set->table[i].key;
      if (key != nullptr && set->table[i].hash != -1) word(&set->table[i].key);
    }
  }
}

bool GuardSet::seal(const Domain& domain) {
  words_.clear();
  owners_.clear();
  tensors_.clear();
  std::vector<PyObject*> watched;
  shape::Bindings bindings;
  std::vector<PyObject*> placed;
  const FoundByGuards found{bindings, placed};
  for (size_t i = 0; i < guards_.size(); i++) {
    if (!std::visit(Checker{found}, guards_[i])) return false;
    if (const auto* tensor = std::get_if<PinnedTensorGuard>(&guards_[i])) {
      tensors_.push_back(i);
      watched.push_back(tensor->tensor);
      continue;
    }
    note_words(i, words_);
    if (owners_.size() == words_.size()) words_.push_back({&kAsked, ~kAsked});
    owners_.resize(words_.size(), static_cast<uint32_t>(i));
  }
  watch_ = watched.empty() ? nullptr : domain.watch(watched);
  return true;
}

bool GuardSet::check(std::string* failed, FoundByGuards found) {
  const size_t count = words_.size();
  for (size_t i = 0; i < count; i++) {
    uint64_t now;
    __builtin_memcpy(&now, words_[i].at, sizeof now);
    if (now == words_[i].expected) [[likely]]
      continue;
    const size_t guard = owners_[i];
    if (words_[i].at == &kAsked) {
      if (!check_slowly(guard, failed, found)) return false;
      continue;
    }
    while (i > 0 && owners_[i - 1] == guard) i--;
    if (!check_slowly(guard, failed, found)) return false;
    // It holds: its words are noted anew.
    std::vector<Word> words;
    note_words(guard, words);
    std::copy(words.begin(), words.end(), words_.begin() + static_cast<std::ptrdiff_t>(i));
    i += words.size() - 1;
  }
  if (watch_ != nullptr && watch_->unchanged()) return true;
  for (size_t guard : tensors_) {
    if (!check_slowly(guard, failed, found)) return false;
  }
  if (watch_ != nullptr) watch_->renew();
  return true;
}

bool GuardSet::check_slowly(size_t guard, std::string* failed, FoundByGuards found) {
  if (std::visit(Checker{found}, guards_[guard])) return true;
  if (failed == nullptr) return false;
  *failed = texts_.text(sources_[guard]) + " " + std::visit(Describer{}, guards_[guard]);
  if (lines_[guard] != LineId::kNone)
    *failed += "  # " + user_lines_->short_text(user_lines_->outside_library(lines_[guard]));
  return false;
}

void GuardSet::note_changes(const Domain& domain, Varying& varying) const {
  // Guards stand in the order in which each proves that the objects behind it are alive: past one that fails
  // for another reason than a number or a tensor nothing is asked, and nothing of a tensor that may be gone.
  shape::Bindings bindings;
  std::vector<PyObject*> placed;
  const FoundByGuards ignored{bindings, placed};
  bool replaced = false;
  // False: something else was there, or is there now.
  const auto note = [&](size_t guard, const ExpectedValue& expected, PyObject* key, PyObject* found) {
    if (expected.object == nullptr || expected.matches(found)) return expected.object != nullptr || !found;
    PyObject* constant = expected.constant.get();
    const bool is_number = constant != nullptr && found != nullptr && Py_TYPE(found) == Py_TYPE(constant) &&
                           (PyLong_CheckExact(found) || PyFloat_CheckExact(found));
    const bool is_tensor = constant == nullptr && found != nullptr && domain.is_tensor(found);
    if (!is_number && !is_tensor) return false;
    const std::string name = place_name(texts_.text(sources_[guard]), key);
    if (is_number) varying.note_number(name);
    if (is_tensor) varying.note_tensor(name);
    replaced = replaced || is_tensor;
    return true;
  };
  for (size_t i = 0; i < guards_.size(); i++) {
    if (const auto* dict = std::get_if<DictGuard>(&guards_[i])) {
      if (dict->whole && PyDict_GET_SIZE(dict->dict) != static_cast<Py_ssize_t>(dict->reads.size())) return;
      for (const DictGuard::Read& read : dict->reads) {
        if (!read.key.get() || !note(i, read.value, read.key.get(), read.found_in(dict->dict))) return;
      }
    } else if (const auto* list = std::get_if<ListGuard>(&guards_[i])) {
      if (PyList_GET_SIZE(list->list) != static_cast<Py_ssize_t>(list->items.size())) return;
      for (size_t j = 0; j < list->items.size(); j++) {
        const Ref<> index = Ref<>::steal(PyLong_FromSize_t(j));
        PyObject* found = PyList_GET_ITEM(list->list, j);
        if (list->items[j].object != nullptr && index && !note(i, list->items[j], index.get(), found)) return;
      }
    } else if (const auto* item = std::get_if<TensorItemGuard>(&guards_[i])) {
      if (PyObject* tensor = item->find(); tensor != nullptr && domain.is_tensor(tensor))
        varying.note_sizes(item->name, item->guard->changed_sizes(tensor));
    } else if (!std::holds_alternative<PinnedTensorGuard>(guards_[i])) {
      if (replaced && std::holds_alternative<GetterGuard>(guards_[i])) return;
      if (!std::visit(Checker{ignored}, const_cast<Guard&>(guards_[i]))) return;
    }
  }
}

PyObject* TensorItemGuard::find() const {
  PyObject* const held = key.get();
  if (held == nullptr) return nullptr;
  if (PyDict_Check(container)) {
    PyObject* found = PyDict_GetItemWithError(container, held);
    if (found == nullptr) PyErr_Clear();
    return found;
  }
  const Py_ssize_t index = PyLong_AsSsize_t(held);
  return index < PyList_GET_SIZE(container) ? PyList_GET_ITEM(container, index) : nullptr;
}

std::string place_name(const std::string& container, PyObject* key) {
  return container + "[" + text(expect(key)) + "]";
}

bool bind_number(PyObject* value, bool is_real, uint32_t symbol, shape::Bindings& bindings) {
  if (is_real) {
    if (!PyFloat_CheckExact(value)) return false;
    bindings.reals[symbol] = PyFloat_AS_DOUBLE(value);
    return true;
  }
  int overflow = 0;
  if (!PyLong_CheckExact(value)) return false;
  bindings.ints[symbol] = PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

void GuardSet::add(Guard guard, PyObject* subject, LineId line) {
  guards_.push_back(std::move(guard));
  subjects_.push_back(subject);
  lines_.push_back(line);
}

std::vector<std::string> GuardSet::describe() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < guards_.size(); i++)
    all.push_back(texts_.text(sources_[i]) + " " + std::visit(Describer{}, guards_[i]));
  return all;
}

DictGuard& GuardSet::dict(PyObject* dict) {
  const auto [found, fresh] = seen_.emplace(dict, guards_.size());
  if (fresh) add(DictGuard{dict, false, {}}, dict);
  return std::get<DictGuard>(guards_[found->second]);
}

ListGuard& GuardSet::list(PyObject* list, Py_ssize_t length) {
  const auto [found, fresh] = seen_.emplace(list, guards_.size());
  if (fresh) add(ListGuard{list, false, std::vector<ExpectedValue>(static_cast<size_t>(length))}, list);
  return std::get<ListGuard>(guards_[found->second]);
}

void GuardSet::read(PyObject* dict_object, PyObject* key, PyObject* value) {
  DictGuard& guard = dict(dict_object);
  if (guard.whole || !reads_.insert({dict_object, key}).second) return;
  guard.reads.push_back({HeldKey(key), expect(value)});
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
