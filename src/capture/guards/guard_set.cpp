// capture/guards/guard_set.cpp: checking, cheapest comparison first.
#include "capture/guards/guard_set.h"

#include <structmember.h>

#include <algorithm>

#include "capture/cpython/dict_version.h"
#include "capture/cpython/ordered_dict.h"

namespace stator {

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
    // From 3.12 on a class that changed a thousand times gets no version any more.
    if (type->version == 0) {
      words.push_back({&kAsked, ~kAsked});
    } else {
      word(&type->type->tp_version_tag);  // and what fills the word up, which nobody writes
    }
  } else if (const auto* instance = std::get_if<ObjectGuard>(&guard)) {
    word(&instance->object->ob_type);
    if (instance->dict_slot != nullptr) word(instance->dict_slot);
  } else if (const auto* function = std::get_if<FunctionGuard>(&guard)) {
    word(&function->function->func_code);
    word(&function->function->func_defaults);
    word(&function->function->func_kwdefaults);
    word(&function->function->func_closure);
    word(&function->function->func_globals);
  } else if (const auto* tuple = std::get_if<TupleGuard>(&guard)) {
    auto* object = reinterpret_cast<PyTupleObject*>(tuple->tuple);
    word(&tuple->tuple->ob_type);
    word(&object->ob_base.ob_size);
    for (size_t i = 0; i < tuple->items.size(); i++) word(&object->ob_item[i]);
  } else if (const auto* method = std::get_if<MethodGuard>(&guard)) {
    const MethodFields fields = fields_of(method->method);
    word(&method->method->ob_type);
    word(fields.function);
    word(fields.self);
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

void GuardSet::set_apart(PyTypeObject* type, PyObject* name) {
  if (!apart_) apart_ = std::make_shared<ApartNames>();
  apart_->insert({type, name});
}

bool GuardSet::seal(const Domain& domain, const std::vector<PyObject*>& tensors) {
  compare_identities();
  ask_for_notices();
  tensors_.clear();
  std::vector<PyObject*> watched;
  shape::Bindings bindings;
  std::vector<PyObject*> placed = tensors;
  const FoundByGuards found{bindings, placed};
  for (size_t i = 0; i < guards_.size(); i++) {
    if (auto* type = std::get_if<TypeGuard>(&guards_[i])) type->apart = apart_;
    if (!holds(guards_[i], found)) return false;
    if (const auto* tensor = std::get_if<PinnedTensorGuard>(&guards_[i])) {
      tensors_.push_back(i);
      watched.push_back(tensor->tensor);
    }
  }
  note_all_words();
  list_polled();
  dicts_.settle();
  objects_.settle();
  watch_ = watched.empty() ? nullptr : domain.watch(watched);
  return true;
}

// Calls visit(value) for each value that a guard expects to find.
template <class Visit>
static void each_expected(Guard& guard, Visit&& visit) {
  std::visit(
      [&](auto& of) {
        if constexpr (requires { of.reads; }) {
          for (auto& read : of.reads) visit(read.value);
        } else if constexpr (requires { of.items; }) {
          for (ExpectedValue& item : of.items) visit(item);
        } else if constexpr (requires { of.content; }) {
          visit(of.content);
        }
      },
      guard);
}

// What is compared by value is from now on the object that it is.
void GuardSet::compare_identities() {
  if (identities_.empty()) return;
  for (Guard& guard : guards_) {
    each_expected(guard, [&](ExpectedValue& expected) {
      const bool counts =
          expected.constant && std::any_of(identities_.begin(), identities_.end(), [&](const auto& value) {
            return value.matches(expected.constant.get());
          });
      if (counts) kept_.push_back(std::move(expected.constant));
    });
  }
}

// A dictionary that changes all the time (the globals of a script, say) is looked at instead.
static constexpr uint8_t kMostNotices = 8;

void GuardSet::ask_for_notices() {
  notices_.assign(guards_.size(), kMostNotices);
  held_.clear();
  for (uint32_t i = 0; i < guards_.size(); i++) {
    if (const auto* dict = std::get_if<DictGuard>(&guards_[i])) {
      if (dicts_.add(dict->dict)) notices_[i] = 0;
    } else if (const auto* object = std::get_if<ObjectGuard>(&guards_[i])) {
      // It lives for as long as its dictionary is as it was.
      if (object->holder == nullptr || !has_read(object->holder, object->key) ||
          !ObjectNotices::tell_of(object->object, object->dict_slot != nullptr))
        continue;
      notices_[i] = 0;
      held_[static_cast<uint32_t>(seen_.at(object->holder))].push_back(i);
    }
  }
}

bool GuardSet::has_read(PyObject* dict, PyObject* key) const {
  const auto found = seen_.find(dict);
  if (found == seen_.end()) return false;
  const auto* guard = std::get_if<DictGuard>(&guards_[found->second]);
  return guard != nullptr && (guard->whole || reads_.contains({dict, key}));
}

bool GuardSet::check_held(uint32_t dict, std::string* failed, FoundByGuards found) {
  const auto held = held_.find(dict);
  if (held == held_.end()) return true;
  for (const uint32_t object : held->second) {
    for (uint32_t i = first_[object]; i < words_.size() && owners_[i] == object; i++) {
      if (!is_as_noted(words_[i]) && !look_again(i, failed, found)) return false;
    }
  }
  return true;
}

// Every guard holds. A dictionary may have died all the same, and another one with the same items stands at
// its address.
void GuardSet::settle_notices() {
  for (size_t i = 0; dicts_.lost() && i < guards_.size(); i++) {
    const auto* guard = std::get_if<DictGuard>(&guards_[i]);
    if (guard != nullptr && notices_[i] < kMostNotices && !dicts_.add(guard->dict))
      notices_[i] = kMostNotices;
  }
  if (dicts_.lost()) note_all_words();  // watching a dictionary changes its version
  dicts_.settle();
  objects_.settle();
  list_polled();
}

void GuardSet::note_all_words() {
  words_.clear();
  owners_.clear();
  first_.assign(guards_.size(), 0);
  for (size_t i = 0; i < guards_.size(); i++) {
    if (std::holds_alternative<PinnedTensorGuard>(guards_[i])) continue;
    first_[i] = static_cast<uint32_t>(words_.size());
    note_words(i, words_);
    if (owners_.size() == words_.size()) words_.push_back({&kAsked, ~kAsked});
    owners_.resize(words_.size(), static_cast<uint32_t>(i));
  }
}

bool GuardSet::is_polled(uint32_t word) const { return notices_[owners_[word]] >= kMostNotices; }

void GuardSet::list_polled() {
  polled_.clear();
  places_.clear();
  for (uint32_t i = 0; i < words_.size(); i++) {
    if (!is_polled(i)) continue;
    polled_.push_back(words_[i]);
    places_.push_back(i);
  }
}

bool GuardSet::is_as_noted(const Word& word) {
  uint64_t now;
  __builtin_memcpy(&now, word.at, sizeof now);
  return now == word.expected;
}

bool GuardSet::check(std::string* failed, FoundByGuards found) {
  const bool noticed = dicts_.changed() || objects_.came();
  if (!(noticed ? check_all(failed, found) : check_polled(failed, found))) return false;
  if (watch_ != nullptr && watch_->unchanged()) return true;
  for (size_t guard : tensors_) {
    if (!check_slowly(guard, failed, found)) return false;
  }
  if (watch_ != nullptr) watch_->renew();
  return true;
}

bool GuardSet::check_polled(std::string* failed, FoundByGuards found) {
  const size_t count = polled_.size();
  for (size_t i = 0; i < count; i++) {
    if (is_as_noted(polled_[i])) continue;
    if (!look_again(places_[i], failed, found)) return false;
    // All words of a guard are polled, or none: they stand side by side here too.
    const uint32_t owner = owners_[places_[i]];
    if (!check_held(owner, failed, found)) return false;
    size_t first = i;
    while (first > 0 && owners_[places_[first - 1]] == owner) first--;
    for (size_t j = first; j < count && owners_[places_[j]] == owner; j++) polled_[j] = words_[places_[j]];
  }
  return true;
}

bool GuardSet::check_all(std::string* failed, FoundByGuards found) {
  const auto count = static_cast<uint32_t>(words_.size());
  for (uint32_t i = 0; i < count; i++) {
    if (!is_as_noted(words_[i]) && !look_again(i, failed, found)) return false;
  }
  settle_notices();
  return true;
}

bool GuardSet::look_again(uint32_t word, std::string* failed, FoundByGuards found) {
  const uint32_t guard = owners_[word];
  if (!check_slowly(guard, failed, found)) return false;
  if (words_[word].at == &kAsked) return true;
  const auto* dict = std::get_if<DictGuard>(&guards_[guard]);
  if (dict != nullptr && notices_[guard] < kMostNotices && ++notices_[guard] == kMostNotices)
    dicts_.remove(dict->dict);
  std::vector<Word> words;
  note_words(guard, words);
  std::copy(words.begin(), words.end(), words_.begin() + first_[guard]);
  return true;
}

bool GuardSet::check_slowly(size_t guard, std::string* failed, FoundByGuards found) {
  if (holds(guards_[guard], found)) return true;
  if (failed == nullptr) return false;
  *failed = texts_.text(sources_[guard]) + " " + text_of(guards_[guard]);
  if (lines_[guard] != LineId::kNone)
    *failed += "  # " + user_lines_->short_text(user_lines_->outside_library(lines_[guard]));
  return false;
}

bool holds_tensors(const Domain& domain, PyObject* tuple) {
  bool any = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    const bool has = PyTuple_CheckExact(item) ? holds_tensors(domain, item) : domain.is_tensor(item);
    if (!has && !is_constant(item)) return false;
    any = any || has;
  }
  return any;
}

// The sizes in which tensors of a tuple differ.
static void note_sizes(const Domain& domain, const TupleItemGuard::Part& part, PyObject* value,
                       Varying& varying) {
  if (part.tensor && domain.is_tensor(value))
    varying.note_sizes(part.name, part.tensor->changed_sizes(value));
  if (!part.is_tuple || !PyTuple_CheckExact(value)) return;
  const auto count = std::min(part.items.size(), static_cast<size_t>(PyTuple_GET_SIZE(value)));
  for (size_t i = 0; i < count; i++)
    note_sizes(domain, part.items[i], PyTuple_GET_ITEM(value, static_cast<Py_ssize_t>(i)), varying);
}

// Where one gradient was made anew all were, also those that have come to lie where the old ones lay.
void GuardSet::note_getters(const PyObject* descriptor, Varying& varying) const {
  for (size_t i = 0; i < guards_.size(); i++) {
    const auto* getter = std::get_if<GetterGuard>(&guards_[i]);
    if (getter != nullptr && getter->descriptor == descriptor && !getter->content.constant)
      varying.note_tensor(place_name(texts_.text(sources_[i]), PyDescr_NAME(getter->descriptor)));
  }
}

void GuardSet::note_changes(const Domain& domain, Varying& varying) const {
  if (const PyObject* replaced = note_each_change(domain, varying)) note_getters(replaced, varying);
}

const PyObject* GuardSet::note_each_change(const Domain& domain, Varying& varying) const {
  // Guards stand in the order in which each proves that the objects behind it are alive: past one that fails
  // for another reason than a number or a tensor nothing is asked, and nothing of a tensor that may be gone.
  shape::Bindings bindings;
  std::vector<PyObject*> placed;
  const FoundByGuards ignored{bindings, placed};
  PyObject* replaced = nullptr;              // the getter of something that was
  std::unordered_set<const PyObject*> gone;  // replaced tensors may be, and what only they held
  // False: something else was there, or is there now.
  const auto note = [&](auto&& source, const ExpectedValue& expected, PyObject* key, PyObject* found) {
    if (expected.object == nullptr || expected.matches(found)) return expected.object != nullptr || !found;
    PyObject* constant = expected.constant.get();
    const bool is_number = constant != nullptr && found != nullptr && Py_TYPE(found) == Py_TYPE(constant) &&
                           (PyLong_CheckExact(found) || PyFloat_CheckExact(found));
    const bool is_tensor = constant == nullptr && found != nullptr && domain.is_tensor(found);
    const bool is_tuple =
        constant == nullptr && found != nullptr && PyTuple_CheckExact(found) && holds_tensors(domain, found);
    if (!is_number && !is_tensor && !is_tuple) return false;
    const std::string name = place_name(source(), key);
    if (is_number) varying.note_number(name);
    if (!is_number) varying.note_tensor(name);
    if (!is_number) gone.insert(expected.object);
    return true;
  };
  // The attributes of a class, as Recording::stands_apart reaches them.
  const auto note_class = [&](const std::string& source, const TypeGuard& guard) {
    if (PyWeakref_GET_OBJECT(guard.alive.get()) != reinterpret_cast<PyObject*>(guard.type)) return false;
    const auto differences = guard.contents->differences(guard.type, guard.apart.get());
    if (!differences) return false;
    for (const TypeContents::Difference& each : *differences) {
      const ExpectedValue expected =
          each.old != nullptr ? expect(each.old) : ExpectedValue{each.old_address, {}};
      const auto dict = [&] { return source + (each.holder == guard.type ? "" : ".__mro__") + ".__dict__"; };
      if (!note(dict, expected, each.name, each.now)) return false;
    }
    return true;
  };
  for (size_t i = 0; i < guards_.size(); i++) {
    const auto source = [&] { return texts_.text(sources_[i]); };
    if (const auto* type = std::get_if<TypeGuard>(&guards_[i])) {
      if (!holds(const_cast<Guard&>(guards_[i]), ignored) && !note_class(source(), *type)) return replaced;
    } else if (const auto* dict = std::get_if<DictGuard>(&guards_[i])) {
      if (dict->whole && PyDict_GET_SIZE(dict->dict) != static_cast<Py_ssize_t>(dict->reads.size()))
        return replaced;
      for (const DictGuard::Read& read : dict->reads) {
        if (!read.key.get() || !note(source, read.value, read.key.get(), read.found_in(dict->dict)))
          return replaced;
      }
    } else if (const auto* list = std::get_if<ListGuard>(&guards_[i])) {
      if (PyList_GET_SIZE(list->list) != static_cast<Py_ssize_t>(list->items.size())) return replaced;
      for (size_t j = 0; j < list->items.size(); j++) {
        const Ref<> index = Ref<>::steal(PyLong_FromSize_t(j));
        PyObject* found = PyList_GET_ITEM(list->list, j);
        if (list->items[j].object != nullptr && index && !note(source, list->items[j], index.get(), found))
          return replaced;
      }
    } else if (const auto* getter = std::get_if<GetterGuard>(&guards_[i])) {
      if (gone.count(getter->object) != 0) return replaced;
      const Ref<> found = read_getter(getter->object, getter->descriptor);
      if (!found) PyErr_Clear();
      const bool same = found && getter->content.matches(found.get());
      if (!found || !note(source, getter->content, PyDescr_NAME(getter->descriptor), found.get()))
        return replaced;
      if (!same) replaced = getter->descriptor;
    } else if (const auto* tuple = std::get_if<TupleGuard>(&guards_[i]);
               tuple != nullptr && gone.count(tuple->tuple) != 0) {
      for (const ExpectedValue& item : tuple->items) gone.insert(item.object);
    } else if (const auto* cell = std::get_if<CellGuard>(&guards_[i])) {
      if (!note(source, cell->content, Py_None, PyCell_GET(cell->cell))) return replaced;
    } else if (const auto* placed_tuple = std::get_if<TupleItemGuard>(&guards_[i])) {
      PyObject* key = placed_tuple->key.get();
      PyObject* value = key != nullptr ? item_at(placed_tuple->container, key) : nullptr;
      if (value != nullptr) note_sizes(domain, placed_tuple->whole, value, varying);
    } else if (const auto* object = std::get_if<ObjectGuard>(&guards_[i])) {
      if (gone.count(object->object) != 0 || !holds(const_cast<Guard&>(guards_[i]), ignored)) return replaced;
    } else if (const auto* item = std::get_if<TensorItemGuard>(&guards_[i])) {
      if (PyObject* tensor = item->find(); tensor != nullptr && domain.is_tensor(tensor))
        varying.note_sizes(item->name, item->guard->changed_sizes(tensor));
    } else if (!std::holds_alternative<PinnedTensorGuard>(guards_[i]) &&
               !std::holds_alternative<GivenAttributeGuard>(guards_[i])) {
      if (!holds(const_cast<Guard&>(guards_[i]), ignored)) return replaced;
    }
  }
  return replaced;
}

void GuardSet::add(Guard guard, PyObject* subject, LineId line) {
  guards_.push_back(std::move(guard));
  subjects_.push_back(subject);
  lines_.push_back(line);
}

std::vector<std::string> GuardSet::describe() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < guards_.size(); i++)
    all.push_back(texts_.text(sources_[i]) + " " + text_of(guards_[i]));
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
