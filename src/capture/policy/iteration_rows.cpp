// capture/policy/iteration_rows.cpp: modules itertools and functools. What the iterators do when they are
// advanced stands in iterators.cpp.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;
using enum Sight;

constexpr NativeRow kRows[] = {
    {"_collections_abc.list_iterator", "__iter__ __next__", advances},
    {"_collections_abc.list_reverseiterator", "__iter__ __next__", advances},
    {"_collections_abc.tuple_iterator", "__iter__ __next__", advances},
    {"_collections_abc.range_iterator", "__iter__ __next__", advances},
    {"_collections_abc.set_iterator", "__iter__ __next__", advances},
    {"_collections_abc.dict_keyiterator", "__iter__ __next__", advances},
    {"_collections_abc.dict_valueiterator", "__iter__ __next__", advances},
    {"_collections_abc.dict_itemiterator", "__iter__ __next__", advances},
    {"_collections_abc.str_iterator", "__iter__ __next__", advances},
    {"builtins.enumerate", "__iter__ __next__", advances},
    {"builtins.zip", "__iter__ __next__", advances},
    {"builtins.map", "__iter__ __next__", advances},
    {"builtins.filter", "__iter__ __next__", advances},
    {"builtins.reversed", "__iter__ __next__", advances},
    {"itertools",
     "batched chain combinations combinations_with_replacement cycle islice pairwise permutations product "
     "repeat tee zip_longest",
     reads, kItems},
    {"itertools.chain", "from_iterable", reads},
    {"itertools", "count", reads},
    {"itertools", "compress", reads, {items, everything, everything}},
    {"itertools", "accumulate", reads, {}, {1, "func", 2, false, true}},
    {"itertools", "groupby", reads, {}, {1, "key", 1, true, true}},
    {"itertools", "filterfalse", reads, {}, {0, nullptr, 1, true, true}},
    {"itertools", "dropwhile takewhile", reads, kItems, {0, nullptr, 1}},
    {"itertools", "starmap", reads, {}, {0, nullptr, Calls::kUnpacked, false}},
    {"_functools", "partial", reads, kNothing},
    {"_functools", "reduce", reads, kItems, {0, nullptr, 2, false}},
    {"_functools", "cmp_to_key", reads, kNothing, {0, "mycmp", 2}},
};

}  // namespace

std::span<const NativeRow> iteration_rows() { return kRows; }

}  // namespace stator
