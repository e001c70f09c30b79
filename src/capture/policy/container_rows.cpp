// capture/policy/container_rows.cpp: methods of lists, tuples, sets, dictionaries and deques.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;
using enum Sight;

// Of methods that change `self`: what is said of it is what they look at before.
constexpr Sees kKeeps{nothing, nothing, nothing};  // append(x)
constexpr Sees kExtends{nothing, items, nothing};  // extend(items)
constexpr Sees kUpdates{nothing, pairs, nothing};  // update(pairs)
constexpr Sees kHashes{nothing, everything, nothing};
constexpr Calls kSortKey{-1, "key", 1, true, true};

constexpr NativeRow kRows[] = {
    {"builtins.list", "copy __iter__ __add__ __mul__ __rmul__ __reversed__ __class_getitem__", reads, kItems},
    {"builtins.list", "__len__", reads, all_of(size)},
    {"builtins.list", "__new__", reads, kNothing},
    {"builtins.list", "__getitem__", reads_subscript},
    {"builtins.list", "index count __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__", reads},
    {"builtins.list", "__repr__", shows},
    {"builtins.list", "append insert pop reverse clear __delitem__ __imul__", writes_self, kKeeps},
    {"builtins.list", "__setitem__", writes_self, {nothing, items, items}},
    {"builtins.list", "extend __init__ __iadd__", writes_self, kExtends},
    {"builtins.list", "remove", writes_self},
    {"builtins.list", "sort", writes_self, {}, kSortKey},

    {"builtins.tuple", "__add__ __class_getitem__ __getnewargs__ __iter__ __mul__ __rmul__ __new__", reads,
     kItems},
    {"builtins.tuple", "__len__", reads, all_of(size)},
    {"builtins.tuple", "__getitem__", reads_subscript},
    {"builtins.tuple", "__contains__ __eq__ __ge__ __gt__ __le__ __lt__ __ne__ count index", reads},
    {"builtins.tuple", "__repr__", shows},
    {"builtins.tuple", "__hash__", hashes},

    {"builtins.set",
     "copy union intersection difference symmetric_difference issubset issuperset isdisjoint __contains__ "
     "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __or__ __and__ __sub__ __xor__ __ror__ __rand__ __rsub__ "
     "__rxor__",
     reads},
    {"builtins.set", "__iter__ __class_getitem__", reads, kItems},
    {"builtins.set", "__len__", reads, all_of(size)},
    {"builtins.set", "__new__", reads, kNothing},
    {"builtins.set", "__repr__", shows},
    {"builtins.set",
     "add update discard remove difference_update intersection_update symmetric_difference_update __init__ "
     "__ior__ __iand__ __isub__ __ixor__",
     writes_self,
     {nothing, everything, everything}},
    {"builtins.set", "pop clear", writes_self, kKeeps},
    {"builtins.frozenset",
     "__and__ __contains__ __eq__ __ge__ __gt__ __hash__ __le__ __lt__ __ne__ __new__ __or__ __rand__ "
     "__ror__ "
     "__rsub__ __rxor__ __sub__ __xor__ copy difference intersection isdisjoint issubset issuperset "
     "symmetric_difference union",
     reads},
    {"builtins.frozenset", "__repr__", shows},
    {"builtins.frozenset", "__len__ __iter__ __class_getitem__ __reduce__ __sizeof__", reads, kItems},

    {"builtins.dict", "get __contains__", reads_item},
    {"builtins.dict", "__getitem__", reads_subscript},
    {"builtins.dict", "values items copy __class_getitem__", reads, kItems},
    {"builtins.dict", "keys __iter__ __reversed__", reads, all_of(keys)},
    {"builtins.dict", "__len__", reads, all_of(size)},
    {"builtins.dict", "__or__ __ror__", reads, all_of(pairs)},
    {"builtins.dict", "fromkeys", reads, {nothing, everything, nothing}},
    {"builtins.dict", "__new__", reads, kNothing},
    {"builtins.dict", "__eq__ __ne__", reads},
    {"builtins.dict", "__repr__", shows},
    {"builtins.dict", "update __init__ __ior__", writes_self, kUpdates},
    {"builtins.dict", "pop setdefault __setitem__ __delitem__", writes_self, kHashes},
    {"builtins.dict", "popitem clear", writes_self, kKeeps},

    {"collections.OrderedDict", "values items copy", reads, kItems},
    {"collections.OrderedDict", "keys __iter__ __reversed__", reads, all_of(keys)},
    {"collections.OrderedDict", "__or__ __ror__", reads, all_of(pairs)},
    {"collections.OrderedDict", "fromkeys", reads, {nothing, everything, nothing}},
    {"collections.OrderedDict", "__eq__ __ne__", reads},
    {"collections.OrderedDict", "__repr__", shows},
    {"collections.OrderedDict", "update __init__ __ior__", writes_self, kUpdates},
    {"collections.OrderedDict", "pop setdefault move_to_end __setitem__ __delitem__", writes_self, kHashes},
    {"collections.OrderedDict", "popitem clear", writes_self, kKeeps},

    {"_collections", "deque", reads, kItems},
    {"_collections", "OrderedDict", reads, {pairs, nothing, nothing}},
    {"_collections", "defaultdict", reads, {nothing, pairs, nothing}},
    {"_collections", "_tuplegetter", reads, kNothing},
    {"_collections", "_count_elements", writes_self, kHashes},
    {"_collections.deque",
     "append appendleft clear insert pop popleft reverse rotate __delitem__ __setitem__", writes_self,
     kKeeps},
    {"_collections.deque", "extend extendleft __init__ __iadd__", writes_self, kExtends},
    {"_collections.deque", "remove", writes_self},
    {"_collections.deque", "count index __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__", reads},
    {"_collections.deque", "copy __copy__ __len__ __iter__ __reversed__ __add__ __mul__ __getitem__", reads,
     kItems},
    {"_collections.defaultdict", "__init__", writes_self, {nothing, nothing, pairs}},
    {"_collections.defaultdict", "copy __copy__", reads, kItems},
    {"_collections.defaultdict", "__or__", reads, all_of(pairs)},

    {"_heapq", "heappush heappop heapify heapreplace heappushpop", writes_self},
    {"_bisect", "insort_left insort_right", writes_self, {}, kSortKey},
    {"_bisect", "bisect_left bisect_right", reads, {}, {-1, "key", 1}},
};

}  // namespace

std::span<const NativeRow> container_rows() { return kRows; }

}  // namespace stator
