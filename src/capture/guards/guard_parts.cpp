// capture/guards/guard_parts.cpp: guards that the user wants left out.
//
// Only kinds are offered that compare and do nothing else: a guard that reads a number or a tensor for the
// program stays. What a guard that is left out would have proved alive is kept alive instead.
#include "capture/guards/guard_parts.h"

#include <algorithm>

#include "capture/guards/guard_set.h"

namespace stator {
namespace {

constexpr const char* kKindNames[] = {
#define GUARD(kind, file) #file,
#include "capture/guards/guards.def"
};

template <class... Kinds>
bool is_any_of(const Guard& guard) {
  return (std::holds_alternative<Kinds>(guard) || ...);
}

bool may_be_left_out(const Guard& guard) {
  return is_any_of<DictGuard, ListGuard, TupleGuard, TypeGuard, ObjectGuard, FunctionGuard, CellGuard,
                   AnswerGuard, PinnedTensorGuard>(guard);
}

}  // namespace

std::vector<GuardPart> GuardSet::parts() const {
  std::vector<GuardPart> all;
  for (size_t i = 0; i < guards_.size(); i++) {
    if (!may_be_left_out(guards_[i])) continue;
    GuardPart part{i,
                   GuardPart::kWhole,
                   kKindNames[guards_[i].index()],
                   texts_.text(sources_[i]),
                   subjects_[i],
                   nullptr,
                   nullptr};
    const auto* dict = std::get_if<DictGuard>(&guards_[i]);
    if (dict == nullptr || dict->whole) {
      if (const auto* cell = std::get_if<CellGuard>(&guards_[i])) part.value = cell->content.object;
      if (const auto* tensor = std::get_if<PinnedTensorGuard>(&guards_[i])) part.value = tensor->tensor;
      all.push_back(std::move(part));
      continue;
    }
    for (size_t read = 0; read < dict->reads.size(); read++) {
      part.read = read;
      part.key = dict->reads[read].key.get();
      PyObject* const value = dict->reads[read].value.object;
      part.value = value == ExpectedValue::anything().object ? nullptr : value;
      all.push_back(part);
    }
  }
  return all;
}

void GuardSet::leave_out(const std::vector<GuardPart>& parts) {
  PyObject* const anything = ExpectedValue::anything().object;
  for (size_t i = 0; i < guards_.size(); i++) {
    // A class is asked for by a weak reference, and others by what they hold themselves.
    const bool is_looked_at = key_of(guards_[i]).address == subjects_[i];
    if (is_looked_at && !is_any_of<TypeGuard, AnswerGuard>(guards_[i])) keep(subjects_[i]);
    each_expected(guards_[i], [&](const ExpectedValue& expected) {
      if (expected.object != nullptr && expected.object != anything) keep(expected.object);
    });
  }
  std::vector<bool> gone(guards_.size());
  // From behind: the numbers of the others stay what they are.
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    auto* dict = std::get_if<DictGuard>(&guards_[part->guard]);
    if (part->read == GuardPart::kWhole) {
      gone[part->guard] = true;
    } else if (dict != nullptr) {
      dict->reads.erase(dict->reads.begin() + static_cast<ptrdiff_t>(part->read));
      reads_.erase({dict->dict, part->key});
      gone[part->guard] = dict->reads.empty();
    }
  }
  const auto without = [&](auto& list) {
    size_t next = 0;
    list.erase(std::remove_if(list.begin(), list.end(), [&](const auto&) { return gone[next++]; }),
               list.end());
  };
  without(guards_);
  without(subjects_);
  without(sources_);
  without(lines_);
  seen_.clear();
  for (size_t i = 0; i < guards_.size(); i++)
    seen_.emplace(Identity{guards_[i].index(), key_of(guards_[i])}, i);
}

}  // namespace stator
