"""Arithmetic on what `.item()` gave raises where the program does it, used or not; its handlers see it."""

import math
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

BACKENDS = ["native", "eager"]
INF, NAN = float("inf"), float("nan")
VALUES = [
    2.0,
    3.5,
    0.0,
    2.0,
    -0.0,
    -1.0,
    -2.5,
    0.5,
    1.0,
    INF,
    -INF,
    NAN,
    1e308,
    -1e308,
    1e-308,
    800.0,
    -800.0,
    1e20,
    2.0,
]

FUNCTIONS = """
    fabs sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
    asinh acosh atanh erf erfc radians degrees gamma lgamma modf
"""

OPERATIONS: dict[str, Callable[[float], Any]] = {
    "1/v": lambda v: 1 / v,
    "v/2": lambda v: v / 2,
    "v/0": lambda v: v / 0,
    "v/0.0": lambda v: v / 0.0,
    "1/(v-1)": lambda v: 1 / (v - 1),
    "v/v": lambda v: v / v,
    "1//v": lambda v: 1 // v,
    "v//2": lambda v: v // 2,
    "v//0": lambda v: v // 0,
    "v//v": lambda v: v // v,
    "1%v": lambda v: 1 % v,
    "v%3": lambda v: v % 3,
    "v%0.0": lambda v: v % 0.0,
    "divmod(v, 2)": lambda v: divmod(v, 2),
    "divmod(1, v)": lambda v: divmod(1, v),
    "v**2": lambda v: v**2,
    "v**0.5": lambda v: v**0.5,
    "v**-1": lambda v: v**-1,
    "v**v": lambda v: v**v,
    "2**v": lambda v: 2**v,
    "0**v": lambda v: 0**v,
    "0.0**v": lambda v: 0.0**v,
    "(-2)**v": lambda v: (-2) ** v,
    "10.0**v": lambda v: 10.0**v,
    "0.9**v": lambda v: 0.9**v,
    "pow": lambda v: pow(v, 3),
    "v+v": lambda v: v + v,
    "v*1e300": lambda v: v * 1e300,
    "v-v": lambda v: v - v,
    "-v": lambda v: -v,
    "abs": lambda v: abs(v),
    "float": lambda v: float(v),
    "int": lambda v: int(v),
    "round": lambda v: round(v),
    "round 2": lambda v: round(v, 2),
    "floor": lambda v: math.floor(v),
    "ceil": lambda v: math.ceil(v),
    "trunc": lambda v: math.trunc(v),
    "bool": lambda v: bool(v),
    "v > 1": lambda v: v > 1,
    "int + v": lambda v: 10**400 + v,
    "v * int": lambda v: v * 10**400,
    "v < int": lambda v: v < 10**400,
    "isqrt": lambda v: math.isqrt(int(v)),
    "text": lambda v: f"{v:.2f}",
    "hex": lambda v: v.hex(),
    "as_integer_ratio": lambda v: v.as_integer_ratio(),
    "is_integer": lambda v: v.is_integer(),
    "complex": lambda v: complex(v, 1),
    "hash": lambda v: hash(v) if v == v else 0,  # of NaN, each object has its own
    "min": lambda v: min(v, 1.0),
    "max": lambda v: max(v, 1.0, 1 / v),
    "sum": lambda v: sum([v, 1, 1 / v]),
    "v << 1": lambda v: v << 1,  # type: ignore[operator]
    "v & 1": lambda v: v & 1,  # type: ignore[operator]
    "v + str": lambda v: v + "a",  # type: ignore[operator]
    "list index": lambda v: [1, 2][v],  # type: ignore[call-overload]
    "range": lambda v: list(range(v)),  # type: ignore[call-overload]
    "log base": lambda v: math.log(v, 2),
    "log of base": lambda v: math.log(2, v),
    "pow(2, v)": lambda v: math.pow(2, v),
    "pow(v, 0.5)": lambda v: math.pow(v, 0.5),
    "fmod(v, 2)": lambda v: math.fmod(v, 2),
    "fmod(2, v)": lambda v: math.fmod(2, v),
    "atan2": lambda v: math.atan2(v, 0),
    "copysign": lambda v: math.copysign(1, v),
    "hypot": lambda v: math.hypot(v, v),
    "ldexp": lambda v: math.ldexp(v, 10),
    "frexp": lambda v: math.frexp(v),
    "remainder": lambda v: math.remainder(v, 2),
    "isfinite": lambda v: math.isfinite(v),
    "isclose": lambda v: math.isclose(v, 2),
    "fsum": lambda v: math.fsum([v, 1]),
    "dist": lambda v: math.dist([v], [1]),
    **{name: (lambda function: lambda v: function(v))(getattr(math, name)) for name in FUNCTIONS.split()},
    "chain": lambda v: math.sqrt(1 / v) + math.log(v),
    "corrections": lambda v: 1e-3 / (1 - 0.9**v) * (1 - 0.999**v) ** 0.5,
}


def shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), repr(value.tolist())
    if isinstance(value, tuple | list):
        return type(value).__name__, [shown(item) for item in value]
    return type(value).__name__, repr(value)


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return shown(function(*arguments))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return type(error).__name__, repr(error.args), last.name, last.lineno


# --- the same operation in different surroundings; `log` shows the effects ---

Surrounding = Callable[[Callable[[float], Any], list[Any]], Callable[[torch.Tensor], Any]]


def returned(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    return lambda x: (x * 2, operation(x.sum().item()))


def unused(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        y = x * 3
        operation(x.sum().item())
        return y + 1

    return program


def used_by_a_tensor(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        scale = operation(x.sum().item())
        return x * scale if isinstance(scale, float) else (x, scale)

    return program


def caught(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        y = x + 1
        log.append("before")
        try:
            v = operation(x.sum().item())
            log.append("inside")
        except (ArithmeticError, ValueError, TypeError) as error:
            log.append((type(error).__name__, error.args))
            return y * 5
        finally:
            log.append("finally")
        log.append("after")
        return y, v

    return program


def after_effects(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        log.append("before")
        v = operation(x.sum().item())
        log.append("after")
        return x * 2, v

    return program


def after_a_write(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    state = torch.zeros(2)
    log.append(state)

    def program(x: torch.Tensor) -> Any:
        state.add_(1)
        log.append("before")
        try:
            v = operation(x.sum().item())
        except (ArithmeticError, ValueError):
            state.mul_(10)
            return x - 1
        state.add_(0.5)
        return x * 2, v

    return program


def after_a_write_without_handlers(
    operation: Callable[[float], Any], log: list[Any]
) -> Callable[[torch.Tensor], Any]:
    state = torch.zeros(2)
    log.append(state)

    def program(x: torch.Tensor) -> Any:
        state.add_(1)
        v = operation(x.sum().item())
        state.mul_(1.5)
        return x * 2, v

    return program


def after_a_write_and_an_effect(
    operation: Callable[[float], Any], log: list[Any]
) -> Callable[[torch.Tensor], Any]:
    state = torch.zeros(2)
    log.append(state)

    def program(x: torch.Tensor) -> Any:
        state.add_(1)
        log.append("before")
        return x * 2, operation(x.sum().item())

    return program


def before_a_write(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    state = torch.zeros(2)
    log.append(state)

    def program(x: torch.Tensor) -> Any:
        v = x.sum().item()
        operation(v)
        state.add_(1)
        return x * v

    return program


def with_random_numbers(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        noise = torch.rand(2)
        try:
            operation(x.sum().item())
        except (ArithmeticError, ValueError):
            return noise, torch.rand(2)
        return noise + torch.rand(2)

    return program


def then_a_kernel_raises(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        v = x.sum().item()
        log.append("read")
        try:
            y = torch.linalg.inv(x.sum() * torch.ones(2, 2) + torch.eye(2) * (x.sum() - 2))
        except RuntimeError as error:
            log.append(type(error).__name__)
            return operation(v)
        return y * v

    return program


def in_a_callee(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def callee(x: torch.Tensor) -> Any:
        log.append("callee")
        return operation(x.mean().item())

    def program(x: torch.Tensor) -> Any:
        with torch.no_grad():
            try:
                return x * 2, callee(x)
            except ZeroDivisionError as error:
                return x * 3, str(error)

    return program


def in_a_loop(operation: Callable[[float], Any], log: list[Any]) -> Callable[[torch.Tensor], Any]:
    def program(x: torch.Tensor) -> Any:
        results = []
        for part in (x, x + 1, x - 1):
            try:
                results.append(operation(part[0].item()))
            except (ArithmeticError, ValueError) as error:
                results.append(str(error))
        return x * 2, results

    return program


SURROUNDINGS: dict[str, Surrounding] = {
    function.__name__: function
    for function in (
        returned,
        unused,
        used_by_a_tensor,
        caught,
        after_effects,
        after_a_write,
        after_a_write_without_handlers,
        after_a_write_and_an_effect,
        before_a_write,
        with_random_numbers,
        then_a_kernel_raises,
        in_a_callee,
        in_a_loop,
    )
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("surrounding", SURROUNDINGS)
def test_as_in_eager_code(surrounding: str, backend: str) -> None:
    for name, operation in OPERATIONS.items():
        stator.reset()
        logs: tuple[list[Any], list[Any]] = [], []
        plain = SURROUNDINGS[surrounding](operation, logs[0])
        compiled = stator.compile(SURROUNDINGS[surrounding](operation, logs[1]), backend=backend)
        for value in VALUES:
            x = torch.tensor([value, 0.0])
            torch.manual_seed(3)
            wanted = outcome(plain, x)
            torch.manual_seed(3)
            assert outcome(compiled, x) == wanted, (name, value)
            assert shown(logs[1]) == shown(logs[0]), (name, value)


def test_such_programs_are_captured() -> None:
    log: list[Any] = []
    for name in ("1/v", "sqrt", "log", "v**2", "0.9**v", "v%3", "corrections"):
        for surrounding in (returned, unused, used_by_a_tensor, caught, after_effects, before_a_write):
            stator.reset()
            compiled = stator.compile(surrounding(OPERATIONS[name], log), backend="native")
            for _ in range(3):
                compiled(torch.tensor([2.0, 0.0]))
            assert len(stator.cache_entries(compiled)) == 1, (name, surrounding)


def test_handlers_around_an_optimizer_see_its_errors() -> None:
    def train(weight: torch.Tensor, compiled: bool) -> Any:
        weight.grad = torch.ones_like(weight)
        optimizer = torch.optim.Adam([weight], lr=0.1, betas=(0.5, 0.9))
        optimizer.step()
        state = optimizer.state[weight]

        def step() -> str:
            try:
                optimizer.step()
            except ZeroDivisionError as error:
                return str(error)
            return "done"

        function = stator.compile(step, backend="native") if compiled else step
        results = []
        for count in (4.0, 5.0, -1.0, 6.0):  # -1 + 1 is 0, and 1 - 0.5**0 is 0
            state["step"].fill_(count)
            results.append((function(), state["step"].item(), weight.tolist(), state["exp_avg"].tolist()))
        return results

    stator.reset()
    assert train(torch.nn.Parameter(torch.ones(2)), True) == train(torch.nn.Parameter(torch.ones(2)), False)
