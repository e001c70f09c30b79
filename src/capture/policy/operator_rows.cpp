// capture/policy/operator_rows.cpp: module operator, whose functions do what instructions do.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;

constexpr NativeRow kRows[] = {
    {"_operator", "abs index inv invert neg pos not_ truth length_hint", reads, kItems},
    {"_operator", "add concat floordiv lshift matmul mul pow rshift truediv", reads, kItems},
    {"_operator", "and_ or_ sub xor eq ge gt le lt ne countOf indexOf _compare_digest", reads},
    {"_operator", "contains", reads_item},
    {"_operator", "getitem", reads_subscript},
    {"_operator", "setitem", writes_item},
    {"_operator", "delitem", deletes_item},
    {"_operator", "iadd iand iconcat ifloordiv ilshift imatmul imul ior ipow irshift isub itruediv ixor imod",
     writes_in_place},
    {"_operator", "mod", shows},
    {"_operator", "is_ is_not", compares_identity},
    {"_operator", "call", calls},
    {"_operator", "attrgetter itemgetter methodcaller", reads, kNothing},
};

}  // namespace

std::span<const NativeRow> operator_rows() { return kRows; }

}  // namespace stator
