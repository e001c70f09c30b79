"""Ints that change from call to call are Python's: nothing wraps at 64 bits, on any way into the program."""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

BACKENDS = ["native", "eager"]
Program = Callable[[torch.Tensor, int, int], Any]

TWO, FIVE, SEVEN = 2, 5, 7
ENDS = [2**31 - 1, 2**31, 2**31 + 1, 2**32, 2**52 + 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 + 1, 10**30]
VALUES = [
    3,
    5,
    7,
    1000,
    65537,
    2**20,
    2**30,
    *ENDS,
    0,
    1,
    2,
    -1,
    -2,
    -7,
    -1000,
    -(2**20),
    *(-n for n in ENDS),
    6,
]


def hash_chain(x: torch.Tensor, n: int, m: int) -> Any:
    h = n
    for i in range(8):
        h = (h * 31 + m + i) % 1000003
    return x + h % 7, h


def square_chain(x: torch.Tensor, n: int, m: int) -> Any:
    h = n
    for _ in range(40):
        h = (h * h + m) % 998244353
    return x * 2, h


def fnv(x: torch.Tensor, n: int, m: int) -> Any:
    h = 14695981039346656037
    for part in (n, m, n + m):
        h = ((h ^ part) * 1099511628211) % 2**64
    return x * 2, h


def linear_congruential(x: torch.Tensor, n: int, m: int) -> Any:
    h = n
    for _ in range(5):
        h = (h * 6364136223846793005 + m) & (2**64 - 1)
    return x * 2, h


def horner(x: torch.Tensor, n: int, m: int) -> Any:
    value = 0
    for coefficient in (3, -1, 4, 1, -5, 9, 2, 6):
        value = value * n + coefficient
    return x * 2, value, value % m if m else None


def branch(x: torch.Tensor, n: int, m: int) -> Any:
    return x + 1 if n * n * n * n > 10 else x - 1


def branch_on_difference(x: torch.Tensor, n: int, m: int) -> Any:
    return x + 1 if n * n * n - m * m * m >= 0 else x - 1


def branch_on_large(x: torch.Tensor, n: int, m: int) -> Any:
    return (x + 1 if n > 2**40 else x - 1), n < 2**62, n <= 2**63 - 1, n > -(2**63), n == 2**63


def fibonacci(x: torch.Tensor, n: int, m: int) -> Any:
    a, b = n, m
    for _ in range(60):
        a, b = b, a + b
    return x * 2, a


PROGRAMS: dict[str, Program] = {
    "n**5": lambda x, n, m: (x * 2, n**5),
    "n**8": lambda x, n, m: (x * 2, n**8),
    "n**3 * m**3": lambda x, n, m: (x * 2, n**3 * m**3),
    "n*n*n*n": lambda x, n, m: (x * 2, n * n * n * n),
    "n*m": lambda x, n, m: (x * 2, n * m, n * m + n - m),
    "2**60 + n": lambda x, n, m: (x * 2, 2**60 + n, n - 2**60, 2**62 * n, n * -(2**62)),
    "2**63 - n": lambda x, n, m: (x * 2, 2**63 - n, -(2**63) - n, n + 2**63 - 1),
    "shifts": lambda x, n, m: (x * 2, n << 3, n << 20, n << 40, n << 62, n << 63, n >> 1, n >> 40, n >> 70),
    "1 << n": lambda x, n, m: (x * 2, 1 << (n % 70), n << (m % 70), n >> (m % 70)),
    "-n": lambda x, n, m: (x * 2, -n, 0 - (-n), +n, ~n),
    "abs": lambda x, n, m: (x * 2, abs(n), abs(-n), abs(n * m)),
    "-n*n*n": lambda x, n, m: (x * 2, -n * n * n, -(n**7)),
    "and or xor": lambda x, n, m: (
        x * 2,
        n & 255,
        n & m,
        n | m,
        n ^ m,
        n & 0xFFFFFFFF,
        n & (2**63 - 1),
        n & -1,
    ),
    "n//7": lambda x, n, m: (x * 2, n // 7, n % 7, divmod(n, 7), n // -7, n % -7, divmod(n, -7)),
    "n//m": lambda x, n, m: (x * 2, n // m, n % m, divmod(n, m)) if m else x,
    "n*n*n//m": lambda x, n, m: (x * 2, n * n * n // m, n * n * n % m) if m else x,
    "(n*n*n)//n": lambda x, n, m: (x * 2, n * n * n // n, n * n * n % n) if n else x,
    "n**5 % 1000": lambda x, n, m: (x * 2, n**5 % 1000, -(n**5) % 1000, n**5 // 10**20),
    "n//-1": lambda x, n, m: (x * 2, n // -1, n % -1, -n // -1),
    "n/m": lambda x, n, m: (x * 2, n / m, n * n / m, m / (n * n + 1)) if m else x,
    "float": lambda x, n, m: (x * 2, float(n), float(n * n), n * 1.5, n + 0.5, n * n * n * 0.5),
    "n compared with floats": lambda x, n, m: (x * 2, n < 2.5, n * n == float(n * n), n > 9007199254740992.0),
    "min max": lambda x, n, m: (
        x * 2,
        min(n, m),
        max(n, m),
        min(n * n, m),
        max(n * n * n, -m),
        min(n, m, 2**63 - 1),
    ),
    "math": lambda x, n, m: (x * 2, math.gcd(n, m), math.isqrt(n * n), math.sqrt(abs(n)), math.floor(n / 3)),
    "sum": lambda x, n, m: (x * 2, sum([n, m, n * m]), math.prod([n, m, n, m, n])),
    "pow mod": lambda x, n, m: (x * 2, pow(n, 5, 1000003), pow(n, 3)),
    "bit_length": lambda x, n, m: (x * 2, n.bit_length(), (n * n).bit_length(), n.bit_count()),
    "text": lambda x, n, m: (x * 2, f"{n * n}", str(n**3), hash(n * n)),
    "int of a float": lambda x, n, m: (x * 2, int(n * 1.0), round(n * 0.75), math.ceil(n / 7)),
    "used by a tensor": lambda x, n, m: x * (n % 1000) + m % 17,
    "used by a tensor, large": lambda x, n, m: (x + n * n * n % 1000003, x.new_full((2,), n * n % 12345)),
    "hash chain": hash_chain,
    "square chain": square_chain,
    "fnv": fnv,
    "linear congruential": linear_congruential,
    "horner": horner,
    "branch": branch,
    "branch on a difference": branch_on_difference,
    "branch on large": branch_on_large,
    "fibonacci": fibonacci,
    "is": lambda x, n, m: (x * 2, n is m, n is not m, n is n, n is None),
    "is of sums": lambda x, n, m: (x * 2, (n + 0) is n, n % 5 is m % 5),
    "is of a constant": lambda x, n, m: (x * 2, n is FIVE, n is SEVEN, n % 3 is TWO),
    "in": lambda x, n, m: (x * 2, n in (3, 5), n * n in [9, 25], n in {3: 1, 7: 2}),
    "square root of a square": lambda x, n, m: (x * 2, (n * n) ** 0.5, math.isqrt(abs(n * m))),
}


def shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist(), value.dtype, tuple(value.shape)
    if isinstance(value, tuple | list):
        return type(value).__name__, [shown(item) for item in value]
    return type(value).__name__, repr(value)


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return shown(function(*arguments))
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0]


def pairs(seed: int) -> list[tuple[int, int]]:
    """Small ones first, so that there are symbols; then large ones among small ones."""
    chosen = random.Random(seed)
    ordered = [(3, 4), (5, 6), (7, 9), (8, 11)]
    for value in VALUES:
        ordered += [(value, chosen.choice(VALUES)), (chosen.randrange(2, 50), chosen.randrange(2, 50))]
    return ordered


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_arguments(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    with stator.config.patch(recompile_limit=200):
        stator.reset()
        compiled = stator.compile(program, backend=backend)
        x = torch.arange(3.0)
        for n, m in pairs(1):
            # Not the objects that the program's constants are.
            a, b = int(str(n)), int(str(m))
            assert outcome(compiled, x, a, b) == outcome(program, x, a, b), (n, m)


class Holder:
    def __init__(self) -> None:
        self.n, self.m = 3, 4


number = 3
other = 4


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["attribute", "global", "item", "closure"])
@pytest.mark.parametrize(
    "name", ["n**5", "hash chain", "branch", "shifts", "-n", "n*n*n//m", "is of a constant"]
)
def test_places(name: str, place: str) -> None:
    global number, other
    program = PROGRAMS[name]
    holder, items = Holder(), {"n": 3, "m": 4}
    n = m = 3

    def of_closure(x: torch.Tensor) -> Any:
        return program(x, n, m)

    functions: dict[str, Callable[[torch.Tensor], Any]] = {
        "attribute": lambda x: program(x, holder.n, holder.m),
        "global": lambda x: program(x, number, other),
        "item": lambda x: program(x, items["n"], items["m"]),
        "closure": of_closure,
    }
    with stator.config.patch(recompile_limit=200):
        stator.reset()
        compiled = stator.compile(functions[place], backend="native")
        x = torch.arange(3.0)
        for n, m in pairs(2):
            holder.n, holder.m, number, other = n, m, n, m
            items.update(n=n, m=m)
            assert outcome(compiled, x) == outcome(functions[place], x), (n, m)


def random_expression(chosen: random.Random, depth: int) -> str:
    if depth == 0 or chosen.random() < 0.15:
        return chosen.choice(
            ["n", "m", "n", "m", str(chosen.choice([0, 1, 2, 3, 7, 31, 1000003, 2**31, 2**62, 2**63 - 1]))]
        )
    a, b = random_expression(chosen, depth - 1), random_expression(chosen, depth - 1)
    operator = chosen.choice(["+", "-", "*", "*", "//", "%", "min", "max", "<<", "&", "neg", "abs"])
    if operator in ("min", "max"):
        return f"{operator}({a}, {b})"
    if operator in ("neg", "abs"):
        return f"(-({a}))" if operator == "neg" else f"abs({a})"
    if operator == "<<":
        return f"({a} << {chosen.choice([1, 5, 31, 61])})"
    if operator == "&":
        return f"({a} & {chosen.choice([1, 7, 255, 2**31 - 1, 12])})"
    return f"({a} {operator} {b})"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(60))
def test_random_expressions(seed: int) -> None:
    chosen = random.Random(seed)
    source = random_expression(chosen, 3)
    compared = f"{random_expression(chosen, 2)} {chosen.choice(['<', '<=', '==', '!=', '>', '>='])} {source}"
    scope: dict[str, Any] = {}
    exec(f"def program(x, n, m):\n    y = x * 2\n    return y, {source}, {compared}", scope)
    program = scope["program"]
    with stator.config.patch(recompile_limit=200):
        stator.reset()
        compiled = stator.compile(program, backend="native")
        x = torch.arange(3.0)
        for n, m in pairs(seed)[:40]:
            assert outcome(compiled, x, n, m) == outcome(program, x, n, m), (source, compared, n, m)


def test_one_capture_serves_while_nothing_overflows() -> None:
    stator.reset()
    compiled = stator.compile(lambda x, n: (x + n**5 % 11, n**5), backend="native")
    for n in range(2, 60):
        got = compiled(torch.ones(2), n)
        assert got[1] == n**5
        assert got[0].tolist() == [1 + n**5 % 11] * 2
    assert len(stator.cache_entries(compiled)) == 2
