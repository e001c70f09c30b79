// capture/guards/guard_words.cpp: the words of a sealed set, and which of them every call compares.
#include "capture/guards/guard_set.h"

namespace stator {

void GuardSet::note_all_words() {
  words_.clear();
  owners_.clear();
  first_.assign(guards_.size(), 0);
  GuardWords words(words_);
  for (size_t i = 0; i < guards_.size(); i++) {
    if (std::holds_alternative<PinnedTensorGuard>(guards_[i])) continue;
    first_[i] = static_cast<uint32_t>(words_.size());
    note_words(guards_[i], words);
    if (owners_.size() == words_.size()) words.ask();
    owners_.resize(words_.size(), static_cast<uint32_t>(i));
  }
}

void GuardSet::ask_for_notices() {
  notices_.assign(guards_.size(), kMostNotices);
  held_.clear();
  for (uint32_t i = 0; i < guards_.size(); i++) {
    if (const auto* dict = std::get_if<DictGuard>(&guards_[i])) {
      if (dicts_.add(dict->dict)) notices_[i] = 0;
    } else if (const auto* object = std::get_if<ObjectGuard>(&guards_[i])) {
      // It lives for as long as its dictionary is as it was. Nobody tells when an object gets its first one.
      if (object->holder == nullptr || (object->dict_slot != nullptr && object->dict == nullptr) ||
          !reads_key(object->holder, object->holder_key) ||
          !ObjectNotices::tell_of(object->object, object->dict_slot != nullptr))
        continue;
      notices_[i] = 0;
      held_[static_cast<uint32_t>(seen_.at({kind_number<DictGuard>, {object->holder}}))].push_back(i);
    }
  }
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

}  // namespace stator
