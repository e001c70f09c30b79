"""Symbols of a captured graph as those of a torch ShapeEnv, and what a backend then relied on of them."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import sympy  # type: ignore[import-untyped]
from torch.utils._sympy import functions

import torch


class Symbols:
    """The symbols of one graph: `ints[i]` and `reals[i]` are torch's for the graph's symbol i."""

    def __init__(
        self,
        rows: Iterable[tuple[str, int | None, bool]],
        reals: Iterable[tuple[str, float, bool]] = (),
        fixed: frozenset[int] = frozenset(),
    ) -> None:
        """`rows` have name, value at the capture, and whether it is a size, which is at least 2.

        Without a value it is an int that a node of the graph reads off a tensor.

        `reals` are floats: source, value at the capture, and whether the graph uses it. Those whose number is
        in `fixed` are no symbols, and neither are those that are not used or not ordinary.
        """
        from torch._dynamo.source import ConstantSource
        from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

        # Sizes that are equal by chance are symbols of their own: the capture tells which are the same.
        self.env = ShapeEnv(duck_shape=False)
        self.ints: list[int | torch.SymInt] = []
        self._ours: dict[sympy.Symbol, tuple[str, int]] = {}
        self._rows: list[tuple[str, int]] = []
        self._is_fixed = False
        self._read: set[sympy.Symbol] = set()
        for name, hint, is_size in rows:
            if hint is None:
                self.ints.append(self._unbacked(self.env.create_unbacked_symint))
                continue
            origin = ConstantSource(source_name=f"stator_{name}")
            make = self.env.create_symbol if is_size else self.env.create_unspecified_symbol
            symbol = make(hint, source=origin, dynamic_dim=DimDynamic.DYNAMIC)
            self.ints.append(self.env.create_symintnode(symbol, hint=hint, source=origin))
            self._ours[symbol] = name, hint
            self._rows.append((name, hint))
        self.reals: list[float | torch.SymFloat] = []
        self._reals: dict[sympy.Symbol, int] = {}
        self._hints: list[float] = []
        self.fixed = fixed
        self._relied: list[tuple[str, Any, Any]] = []
        for source, value, is_used in reals:
            own = "symbol", len(self.reals)
            if not is_used or len(self.reals) in fixed or not _is_ordinary(value):
                if is_used:
                    self._relied.append(("is", own, value))
                self.reals.append(value)
                self._hints.append(value)
                continue
            self._relied += [("<", own, math.inf), ("<", -math.inf, own), ("==", own, 0.0)]
            origin = ConstantSource(source_name=f"stator_{source}")
            symbol = self.env.create_unspecified_symbol(value, origin, DimDynamic.DYNAMIC)
            self._reals[symbol] = len(self.reals)
            self._hints.append(value)
            self.reals.append(self.env.create_symfloatnode(symbol, hint=value, source=origin))

    def _unbacked(self, create: Callable[[], Any]) -> Any:
        """A symbol without a value. What a backend finds when it traces the graph are symbols of its own."""
        with self.env.ignore_fresh_unbacked_symbols():
            made = create()
        self._read |= made.node.expr.free_symbols
        return made

    def env_float(self) -> torch.SymFloat:
        """A float that a node of the graph reads off a tensor."""
        made: torch.SymFloat = self._unbacked(self.env.create_unbacked_symfloat)
        return made

    def fixed_values(self) -> list[Any]:
        """The numbers of the capture, as inputs of the graph; from now on it is good for these alone."""
        self._is_fixed = True
        return [hint for _, hint in self._rows] + [
            torch.scalar_tensor(value, dtype=torch.float64) for value in self._hints
        ]

    def free_floats(self) -> frozenset[int]:
        """The numbers of the floats that are symbols."""
        return frozenset(self._reals.values())

    def number_of(self, name: str) -> int | None:
        """The number of the float that torch calls by this name."""
        return next((number for symbol, number in self._reals.items() if str(symbol) == name), None)

    def guards(self) -> list[str]:
        """What the backend found out and used, in the words of src/core/shape/text.h."""
        if self._is_fixed:
            return [f"{name} == {hint}" for name, hint in self._rows]
        texts: dict[str, None] = {}
        for condition in self._conditions():
            if not condition.free_symbols & self._reals.keys():
                texts.update(dict.fromkeys(self._texts(condition)))
        return list(texts)

    def real_comparisons(self) -> list[tuple[str, Any, Any]]:
        """The same of floats: comparisons ("<", "<=", "==", "is"), whose outcome must stay what it was.

        An operand is a number, ("symbol", i), or an operation and its two operands.
        """
        if self._is_fixed:
            return [("is", ("symbol", number), value) for number, value in enumerate(self._hints)]
        found = list(self._relied)
        for condition in self._conditions():
            used = condition.free_symbols & self._reals.keys()
            if not used:
                continue
            try:
                found.append(_real_comparison(condition, self._reals))
            except NotImplementedError:
                found += [("is", ("symbol", i), self._hints[i]) for i in (self._reals[each] for each in used)]
        return found

    def _conditions(self) -> Iterator[sympy.Basic]:
        found: list[sympy.Basic] = [guard.expr for guard in self.env.guards]
        found += [sympy.Eq(old, new, evaluate=False) for old, new in self.env.replacements.items()]
        for condition in found:
            # What only the run knows is checked there, if anywhere.
            yield from (part for part in sympy.And.make_args(condition) if not part.free_symbols & self._read)

    def _texts(self, condition: Any) -> list[str]:
        if condition is sympy.true:
            return []
        try:
            return [_text(condition, self._ours)]
        except NotImplementedError:
            # What has no form here is good for the numbers of the capture only.
            names = [self._ours[s] for s in condition.free_symbols if s in self._ours]
            return [f"{name} == {hint}" for name, hint in names]


def _is_ordinary(value: float) -> bool:
    """Whether the float is a real number to sympy, where others are constants and zeros have no sign."""
    return math.isfinite(value) and value != 0


_COMPARISONS = {
    sympy.Eq: "==",
    sympy.Ne: "!=",
    sympy.Lt: "<",
    sympy.Le: "<=",
}
_OPPOSITES = {sympy.Gt: sympy.Lt, sympy.Ge: sympy.Le}
_DIVISIONS = {
    functions.FloorDiv: "//",
    functions.CleanDiv: "//",
    functions.Mod: "%",
    functions.PythonMod: "%",
    sympy.Mod: "%",
}
_EXTREMA = {sympy.Min: "min", sympy.Max: "max", functions.Min: "min", functions.Max: "max"}


def _text(expression: Any, names: dict[Any, tuple[str, int]]) -> str:
    """An expression of sympy in our words; NotImplementedError where it has none."""

    def of(part: Any) -> str:
        return _text(part, names)

    kind = type(expression)
    if kind in _COMPARISONS:
        return f"{of(expression.lhs)} {_COMPARISONS[kind]} {of(expression.rhs)}"
    if kind in _OPPOSITES:
        return of(_OPPOSITES[kind](expression.rhs, expression.lhs, evaluate=False))
    if isinstance(expression, sympy.Not) and isinstance(expression.args[0], sympy.core.relational.Relational):
        return of(expression.args[0].negated)
    if expression in names:
        return names[expression][0]
    if isinstance(expression, sympy.Integer):
        return f"({int(expression)})"
    if isinstance(expression, sympy.Add):
        return f"({' + '.join(map(of, expression.args))})"
    if isinstance(expression, sympy.Mul):
        return f"({' * '.join(map(of, expression.args))})"
    if isinstance(expression, (sympy.Pow, functions.PowByNatural)):
        base, exponent = expression.args
        if isinstance(exponent, sympy.Integer) and 0 < exponent <= 8:
            return f"({' * '.join([of(base)] * int(exponent))})"
    if kind in _DIVISIONS:
        left, right = expression.args
        return f"({of(left)} {_DIVISIONS[kind]} {of(right)})"
    if kind in _EXTREMA:
        return f"{_EXTREMA[kind]}({', '.join(map(of, expression.args))})"
    raise NotImplementedError(str(expression))


def _real_comparison(condition: Any, reals: dict[Any, int]) -> tuple[str, Any, Any]:
    """A comparison of floats as operations; NotImplementedError where it is something else."""
    kind = type(condition)
    if isinstance(condition, sympy.Not):
        return _real_comparison(condition.args[0], reals)
    if kind in _OPPOSITES:
        return _real_comparison(_OPPOSITES[kind](condition.rhs, condition.lhs, evaluate=False), reals)
    if kind not in _COMPARISONS:
        raise NotImplementedError(str(condition))
    sign = "==" if kind is sympy.Ne else _COMPARISONS[kind]  # only the outcome counts
    return sign, _real_operand(condition.lhs, reals), _real_operand(condition.rhs, reals)


_REAL_OPERATIONS = {
    sympy.Add: "add",
    sympy.Mul: "mul",
    functions.FloatPow: "pow",
    functions.FloatTrueDiv: "truediv",
}


def _real_operand(expression: Any, reals: dict[Any, int]) -> Any:
    if expression in reals:
        return "symbol", reals[expression]
    if expression.is_number and expression.is_real:
        return float(expression)
    operation = _REAL_OPERATIONS.get(type(expression))
    if operation is None:
        raise NotImplementedError(str(expression))
    first, *rest = (_real_operand(each, reals) for each in expression.args)
    for each in rest:
        first = operation, first, each
    return first
