// capture/policy/builtin_rows.cpp: the functions and constructors of module builtins.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;

constexpr Calls kKey{-1, "key", 1, true, true};

constexpr NativeRow kRows[] = {
    {"builtins", "abs bin chr divmod hex oct ord pow round sum int float complex bytes set frozenset", reads},
    {"builtins", "all any", reads},
    {"builtins", "max min sorted", reads, {}, kKey},
    {"builtins", "ascii format repr str", shows},
    {"builtins", "hash", hashes},
    {"builtins", "callable", reads, all_of(Sight::kind)},
    {"builtins", "isinstance issubclass", reads, {Sight::kind, Sight::everything, Sight::nothing}},
    {"builtins", "len", reads, all_of(Sight::size)},
    {"builtins", "bool", reads, all_of(Sight::truth)},
    {"builtins", "tuple list range enumerate zip reversed", reads, kItems},
    {"builtins", "iter", reads, {Sight::items}, {0, nullptr, 0, true, false, 2}},
    {"builtins", "dict", reads, {Sight::pairs, Sight::nothing, Sight::nothing}},
    {"builtins", "map", reads, kItems, {0, nullptr, Calls::kOthers, false}},
    {"builtins", "filter", reads, {}, {0, nullptr, 1, true, true}},
    {"builtins", "slice object property classmethod staticmethod BaseException", reads, kNothing},
    {"builtins", "super", asks_super},
    {"builtins", "vars", reads_dict},
    {"builtins", "type", asks_type},
    {"builtins", "id", asks_identity},
    {"builtins", "getattr hasattr", reads_attribute},
    {"builtins", "setattr delattr", writes_attribute},
    {"builtins", "next", advances},
};

}  // namespace

std::span<const NativeRow> builtin_rows() { return kRows; }

}  // namespace stator
