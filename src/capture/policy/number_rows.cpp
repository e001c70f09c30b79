// capture/policy/number_rows.cpp: methods of numbers, and functions of numbers.
#include "capture/policy/native_row.h"

namespace stator {
namespace {

using enum NativeEffect;

constexpr NativeRow kRows[] = {
    {"builtins.int",
     "__abs__ __add__ __and__ __bool__ __ceil__ __divmod__ __eq__ __float__ __floor__ __floordiv__ "
     "__format__ "
     "__ge__ __getnewargs__ __gt__ __hash__ __index__ __int__ __invert__ __le__ __lshift__ "
     "__lt__ __mod__ __mul__ __ne__ __neg__ __new__ __or__ __pos__ __pow__ __radd__ __rand__ __rdivmod__ "
     "__repr__ __rfloordiv__ __rlshift__ __rmod__ __rmul__ __ror__ __round__ __rpow__ __rrshift__ __rshift__ "
     "__rsub__ __rtruediv__ __rxor__ __sizeof__ __sub__ __truediv__ __trunc__ __xor__ as_integer_ratio "
     "bit_count bit_length conjugate from_bytes to_bytes is_integer",
     reads},
    {"builtins.bool", "__and__ __new__ __or__ __rand__ __repr__ __ror__ __rxor__ __xor__ __invert__", reads},
    {"builtins.float",
     "__abs__ __add__ __bool__ __ceil__ __divmod__ __eq__ __float__ __floor__ __floordiv__ __format__ __ge__ "
     "__getformat__ __getnewargs__ __gt__ __hash__ __int__ __le__ __lt__ __mod__ __mul__ "
     "__ne__ __neg__ __new__ __pos__ __pow__ __radd__ __rdivmod__ __repr__ __rfloordiv__ __rmod__ __rmul__ "
     "__round__ __rpow__ __rsub__ __rtruediv__ __sub__ __truediv__ __trunc__ as_integer_ratio conjugate "
     "fromhex hex is_integer",
     reads},
    {"builtins.complex",
     "__abs__ __add__ __bool__ __complex__ __eq__ __format__ __ge__ __getnewargs__ __gt__ "
     "__hash__ __le__ __lt__ __mul__ __ne__ __neg__ __new__ __pos__ __pow__ __radd__ __repr__ __rmul__ "
     "__rpow__ __rsub__ __rtruediv__ __sub__ __truediv__ conjugate",
     reads},
    {"builtins.range",
     "__bool__ __contains__ __eq__ __ge__ __getitem__ __gt__ __hash__ __iter__ __le__ "
     "__len__ "
     "__lt__ __ne__ __new__ __reduce__ __repr__ __reversed__ count index",
     reads},
    {"builtins.slice", "__eq__ __ge__ __gt__ __le__ __lt__ __ne__ __reduce__ __repr__ indices __hash__",
     reads},
    {"builtins.slice", "__new__", reads, kNothing},
    {"math",
     "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist erf erfc exp exp2 "
     "expm1 fabs factorial floor fma fmod frexp fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm "
     "ldexp lgamma log log10 log1p log2 modf nextafter perm pow prod radians remainder sin sinh sqrt sumprod "
     "tan tanh trunc ulp",
     reads},
};

}  // namespace

std::span<const NativeRow> number_rows() { return kRows; }

}  // namespace stator
