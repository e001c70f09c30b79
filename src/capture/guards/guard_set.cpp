// capture/guards/guard_set.cpp: checking, cheapest comparison first.
#include "capture/guards/guard_set.h"

#include <algorithm>

namespace stator {

void GuardSet::set_apart(PyTypeObject* type, PyObject* name) {
  if (!apart_) apart_ = std::make_shared<ApartNames>();
  apart_->insert({type, name});
}

bool GuardSet::seal(const Domain& domain, const std::vector<PyObject*>& tensors) {
  compare_identities();
  ask_for_notices();
  tensors_.clear();
  std::vector<PyObject*> pinned;
  shape::Bindings bindings;
  std::vector<PyObject*> placed = tensors;
  const FoundByGuards found{bindings, placed};
  for (size_t i = 0; i < guards_.size(); i++) {
    if (auto* type = std::get_if<TypeGuard>(&guards_[i])) type->apart = apart_;
    if (!holds(guards_[i], found)) return false;
    if (const auto* tensor = std::get_if<PinnedTensorGuard>(&guards_[i])) {
      tensors_.push_back(i);
      pinned.push_back(tensor->tensor);
    }
  }
  note_all_words();
  list_polled();
  dicts_.settle();
  objects_.settle();
  watch_tensors(domain, pinned);
  return true;
}

void GuardSet::watch_tensors(const Domain& domain, const std::vector<PyObject*>& tensors) {
  watch_ = nullptr;
  holders_.clear();
  if (tensors.empty()) return;
  const std::unordered_set<PyObject*> wanted(tensors.begin(), tensors.end());
  std::unordered_set<PyObject*> held;
  for (uint32_t i = 0; i < guards_.size(); i++) {
    const auto* dict = std::get_if<DictGuard>(&guards_[i]);
    if (dict == nullptr) continue;
    for (const DictGuard::Read& read : dict->reads) {
      if (wanted.contains(read.value.object) && held.insert(read.value.object).second) holders_.insert(i);
    }
  }
  std::vector<PinnedTensor> pinned;
  pinned.reserve(tensors.size());
  for (PyObject* tensor : tensors)
    pinned.push_back({tensor, held.contains(tensor) && ObjectNotices::tell_of(tensor, false)});
  watch_ = domain.watch(pinned);
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

bool GuardSet::is_as_noted(const Word& word) {
  uint64_t now;
  __builtin_memcpy(&now, word.at, sizeof now);
  return now == word.expected;
}

bool GuardSet::check(std::string* failed, FoundByGuards found) {
  const bool noticed = dicts_.changed() || objects_.came();
  if (noticed && watch_ != nullptr) watch_->doubt();
  if (!(noticed ? check_all(failed, found) : check_polled(failed, found))) return false;
  if (watch_ != nullptr && watch_->unchanged()) return true;
  for (size_t guard : tensors_) {
    if (!check_slowly(guard, failed, found)) return false;
  }
  if (watch_ != nullptr) watch_->renew();
  return true;
}

// The first of the polled words, from the given one on, that differs. Nearly all of a hit's time is spent
// here.
size_t GuardSet::first_changed(size_t from) const {
  const Word* const all = polled_.data();
  const Word* const end = all + polled_.size();
  const Word* word = all + from;
  while (word != end && is_as_noted(*word)) word++;
  return static_cast<size_t>(word - all);
}

bool GuardSet::check_polled(std::string* failed, FoundByGuards found) {
  const size_t count = polled_.size();
  for (size_t i = first_changed(0); i < count; i = first_changed(i + 1)) {
    if (!look_again(places_[i], failed, found)) return false;
    // All words of a guard are polled, or none: they stand side by side here too.
    const uint32_t owner = owners_[places_[i]];
    if (holders_.contains(owner) && watch_ != nullptr) watch_->doubt();
    if (!check_held(owner, failed, found)) return false;
    size_t first = i;
    while (first > 0 && owners_[places_[first - 1]] == owner) first--;
    for (size_t j = first; j < count && owners_[places_[j]] == owner; j++) polled_[j] = words_[places_[j]];
  }
  return true;
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
  if (GuardWords::is_asked(words_[word])) return true;
  const auto* dict = std::get_if<DictGuard>(&guards_[guard]);
  if (dict != nullptr && notices_[guard] < kMostNotices && ++notices_[guard] == kMostNotices)
    dicts_.remove(dict->dict);
  std::vector<Word> words;
  GuardWords noted(words);
  note_words(guards_[guard], noted);
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

void GuardSet::add(Guard guard, PyObject* subject, LineId line) {
  if (!seen_.emplace(Identity{guard.index(), key_of(guard)}, guards_.size()).second) return;
  guards_.push_back(std::move(guard));
  subjects_.push_back(subject);
  lines_.push_back(line);
}

void GuardSet::note_changes(const Domain& domain, Varying& varying) const {
  Changes changes(domain, varying, texts_);
  for (size_t i = 0; i < guards_.size(); i++) {
    // Nothing is asked of an object that may have died, nor of what it held; of a tuple its guard knows what
    // that was.
    const bool knows_the_rest = std::holds_alternative<TupleGuard>(guards_[i]) ||
                                std::holds_alternative<PinnedTensorGuard>(guards_[i]);
    if (!knows_the_rest && changes.is_gone(static_cast<const PyObject*>(key_of(guards_[i]).address))) break;
    changes.look_at(sources_[i]);
    if (!stator::note_changes(const_cast<Guard&>(guards_[i]), changes)) break;
  }
  if (changes.replaced_getter != nullptr) note_getters(changes.replaced_getter, varying);
}

// Where one gradient was made anew all were, also those that have come to lie where the old ones lay.
void GuardSet::note_getters(const PyObject* descriptor, Varying& varying) const {
  for (size_t i = 0; i < guards_.size(); i++) {
    const auto* getter = std::get_if<GetterGuard>(&guards_[i]);
    if (getter != nullptr && getter->descriptor == descriptor && !getter->content.constant)
      varying.note_tensor(place_name(texts_.text(sources_[i]), PyDescr_NAME(descriptor)));
  }
}

std::vector<std::string> GuardSet::describe() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < guards_.size(); i++)
    all.push_back(texts_.text(sources_[i]) + " " + text_of(guards_[i]));
  return all;
}

template <class Kind>
Kind* GuardSet::find(const void* address) {
  const auto found = seen_.find({kind_number<Kind>, {address}});
  return found == seen_.end() ? nullptr : &std::get<Kind>(guards_[found->second]);
}

template <class Kind>
Kind& GuardSet::added(Kind guard, PyObject* subject) {
  add(std::move(guard), subject);
  return std::get<Kind>(guards_.back());
}

DictGuard& GuardSet::dict(PyObject* dict) {
  DictGuard* const found = find<DictGuard>(dict);
  return found != nullptr ? *found : added(DictGuard{dict, false, {}}, dict);
}

ListGuard& GuardSet::list(PyObject* list, Py_ssize_t length) {
  if (ListGuard* const found = find<ListGuard>(list)) return *found;
  return added(ListGuard{list, false, std::vector<ExpectedValue>(static_cast<size_t>(length))}, list);
}

ObjectGuard& GuardSet::object(PyObject* object) {
  ObjectGuard* const found = find<ObjectGuard>(object);
  return found != nullptr ? *found : added(ObjectGuard(object), object);
}

void GuardSet::read(PyObject* dict_object, PyObject* key, PyObject* value) {
  DictGuard& guard = dict(dict_object);
  if (guard.whole || !reads_.insert({dict_object, key}).second) return;
  guard.reads.push_back({HeldKey(key), expect(value)});
}

// A guard on the whole dictionary leaves out values that were written before anybody read them.
bool GuardSet::reads_key(PyObject* dict, PyObject* key) const {
  const auto found = seen_.find({kind_number<DictGuard>, {dict}});
  if (found == seen_.end()) return false;
  if (reads_.contains({dict, key})) return true;
  PyObject* const anything = ExpectedValue::anything().object;
  for (const DictGuard::Read& read : std::get<DictGuard>(guards_[found->second]).reads) {
    if (read.key.get() == key || PyObject_RichCompareBool(read.key.get(), key, Py_EQ) == 1)
      return read.value.object != anything;
  }
  return false;
}

}  // namespace stator
