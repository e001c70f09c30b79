// capture/policy/text_rows.cpp: methods of strings, bytes and regular expressions.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;

constexpr NativeRow kRows[] = {
    {"builtins.str", "format format_map __mod__ __rmod__ __format__", shows},
    {"builtins.str",
     "__add__ __contains__ __eq__ __ge__ __getitem__ __getnewargs__ __gt__ __hash__ "
     "__iter__ "
     "__le__ __len__ __lt__ __mul__ __ne__ __new__ __repr__ __rmul__ __sizeof__ __str__ capitalize casefold "
     "center count encode endswith expandtabs find index isalnum isalpha isascii isdecimal isdigit "
     "isidentifier islower isnumeric isprintable isspace istitle isupper join ljust lower lstrip maketrans "
     "partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip split "
     "splitlines "
     "startswith strip swapcase title translate upper zfill",
     reads},
    {"builtins.bytes", "__mod__ __rmod__", shows},
    {"builtins.bytes",
     "__add__ __bytes__ __contains__ __eq__ __ge__ __getitem__ __getnewargs__ __gt__ "
     "__hash__ "
     "__iter__ __le__ __len__ __lt__ __mul__ __ne__ __new__ __repr__ __rmul__ __str__ capitalize center "
     "count "
     "decode endswith expandtabs find fromhex hex index isalnum isalpha isascii isdigit islower isspace "
     "istitle isupper join ljust lower lstrip maketrans partition removeprefix removesuffix replace rfind "
     "rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper "
     "zfill",
     reads},
    {"re.Pattern", "match fullmatch search findall finditer split", reads},
    {"re.Pattern", "sub subn", reads, {}, {1, "repl", 1}},
    {"re.Match", "group groups groupdict start end span expand __getitem__", reads},
};

}  // namespace

std::span<const NativeRow> text_rows() { return kRows; }

}  // namespace stator
