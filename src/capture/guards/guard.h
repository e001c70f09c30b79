// capture/guards/guard.h: a guard of any kind. The kinds are listed in guards.def, each has a file under
// kinds/.
#ifndef STATOR_CAPTURE_GUARDS_GUARD_H
#define STATOR_CAPTURE_GUARDS_GUARD_H

#include <string>
#include <variant>

#include "capture/guards/guard_kind.h"
#include "capture/guards/kinds/alive.h"
#include "capture/guards/kinds/answer.h"
#include "capture/guards/kinds/cell.h"
#include "capture/guards/kinds/context_variable.h"
#include "capture/guards/kinds/dict.h"
#include "capture/guards/kinds/field.h"
#include "capture/guards/kinds/function.h"
#include "capture/guards/kinds/getter.h"
#include "capture/guards/kinds/given_attribute.h"
#include "capture/guards/kinds/items.h"
#include "capture/guards/kinds/list.h"
#include "capture/guards/kinds/method.h"
#include "capture/guards/kinds/no_exception.h"
#include "capture/guards/kinds/number.h"
#include "capture/guards/kinds/object.h"
#include "capture/guards/kinds/order.h"
#include "capture/guards/kinds/pinned_tensor.h"
#include "capture/guards/kinds/set_layout.h"
#include "capture/guards/kinds/slot.h"
#include "capture/guards/kinds/tensor_item.h"
#include "capture/guards/kinds/tuple.h"
#include "capture/guards/kinds/tuple_item.h"
#include "capture/guards/kinds/type.h"

namespace stator {

#define GUARD(kind, file) static_assert(GuardKind<kind>);
#include "capture/guards/guards.def"

template <class, class... Kinds>
using VariantOf = std::variant<Kinds...>;
using Guard = VariantOf<void
#define GUARD(kind, file) , kind
#include "capture/guards/guards.def"
                        >;

// The number of a kind in Guard.
template <class Kind>
inline constexpr size_t kind_number = [] {
  size_t number = 0;
  const bool present[] = {
#define GUARD(kind, file) std::is_same_v<Kind, kind>,
#include "capture/guards/guards.def"
  };
  while (!present[number]) number++;
  return number;
}();

inline GuardKey key_of(const Guard& guard) {
  return std::visit([](const auto& of) { return of.key(); }, guard);
}
inline bool holds(Guard& guard, FoundByGuards found) {
  return std::visit([&](auto& of) { return of.holds(found); }, guard);
}
inline std::string text_of(const Guard& guard) {
  return std::visit([](const auto& of) { return of.text(); }, guard);
}
inline void note_words(const Guard& guard, GuardWords& words) {
  std::visit([&](const auto& of) { of.words(words); }, guard);
}
inline bool note_changes(Guard& guard, Changes& changes) {
  return std::visit([&](auto& of) { return of.note_changes(changes); }, guard);
}
// Calls visit(value) for each value that a guard expects to find.
template <class Visit>
void each_expected(Guard& guard, Visit&& visit) {
  std::visit([&](auto& of) { of.each_expected(visit); }, guard);
}

}  // namespace stator

#endif
