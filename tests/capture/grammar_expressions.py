"""tests/capture/grammar_expressions.py: draws expressions of a wanted type; now and then one that fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

WORDS = ("''", "'a'", "'bc'", "'xyz'", "'12'", "'\\u00e9t\\u00e9'")
TYPES = ("int", "str", "list", "dict", "obj")
PREFIX = {"int": "i", "str": "s", "list": "l", "dict": "d", "obj": "o"}


@dataclass
class Signature:
    """A generated function, as callers see it."""

    name: str
    positional: int
    defaults: int
    keyword: tuple[str, ...]
    rest: bool
    more: bool
    names: tuple[str, ...]
    positional_only: int
    kind: str = "function"


@dataclass
class Scope:
    """The names that may be bound where the next statement goes."""

    kind: str
    names: dict[str, list[str]] = field(default_factory=lambda: {t: [] for t in TYPES})
    outer: Scope | None = None
    loops: int = 0
    in_finally: bool = False
    in_star: bool = False
    repeated: bool = False
    level: int = 0
    own: set[str] = field(default_factory=set)


class Expressions:
    """pick(n) answers a number below n; small answers make simple programs, so failing ones shrink well."""

    def __init__(self, pick: Callable[[int], int]) -> None:
        self.pick = pick
        self.scope = Scope("module")
        self.functions: list[Signature] = []
        self.classes: list[str] = []
        self.used: set[str] = set()
        self.bound_names = 0

    def choose(self, *options: str | Callable[[], str]) -> str:
        """One of the options; those that draw themselves are given as functions."""
        chosen = options[self.pick(len(options))]
        return chosen if isinstance(chosen, str) else chosen()

    def chance(self, one_in: int) -> bool:
        return self.pick(one_in) == one_in - 1

    def use(self, production: str) -> None:
        self.used.add(production)

    def variable(self, kind: str) -> str:
        """A name that is probably bound; rarely one that is not."""
        names = self.scope.names[kind]
        if names and not self.chance(40):
            return names[self.pick(len(names))]
        if self.chance(30):
            self.use("unbound name")
            return PREFIX[kind] + "9"
        return {"int": "4", "str": "'v'", "list": "[1, 2, 3]", "dict": "{'k': 1}", "obj": "Thing()"}[kind]

    def expression(self, kind: str, depth: int = 2) -> str:
        if self.chance(60):
            self.use("wrong type")
            kind = TYPES[self.pick(len(TYPES))]
        return {
            "int": self.integer,
            "str": self.string,
            "list": self.sequence,
            "dict": self.mapping,
            "obj": self.thing,
        }[kind](depth)

    def any(self, depth: int = 2) -> str:
        return self.expression(TYPES[self.pick(4)], depth)

    def integer(self, depth: int) -> str:
        if depth <= 0:
            return str(self.pick(7)) if self.chance(2) else self.variable("int")
        which = self.pick(20)
        less = depth - 1

        def a() -> str:
            return self.integer(less)

        if which <= 2:
            return self.variable("int")
        if which == 3:
            return f"({a()} {self.choose('+', '-', '*', '&', '|', '^')} {a()})"
        if which == 4:
            self.use("division")
            return f"({a()} {self.choose('//', '%')} {self.choose('3', '-2', a)})"
        if which == 5:
            return f"len({self.expression(self.choose('str', 'list', 'dict'), less)})"
        if which == 6:
            self.use("conditional")
            return f"({a()} if {self.condition(less)} else {a()})"
        if which in (7, 8) and self.functions:
            return self.call(less)
        if which == 9:
            self.use("subscript")
            return f"({self.expression('list', 0)})[{self.choose('0', '-1', a)}]"
        if which == 10 and self.scope.kind != "class":
            self.use("walrus")
            return f"({self.target('int')} := {a()})"
        if which == 11:
            self.use("generator expression")
            return f"sum({self.comprehension_body('int', less)})"
        if which == 12:
            return f"({self.choose('-', '~', '+', 'not ')}{a()})"
        if which == 13:
            return f"({self.condition(less)})"
        if which == 14:
            self.use("lambda")
            default = a()
            body = self.choose("p + q", "p - t", "len(r) + p")
            return f"(lambda p, q={default}, *r, t=1: {body})({a()}, {a()})"
        if which == 15:
            return f"({self.expression('dict', 0)}){self.choose('.get(1, 2)', '[1]', '.setdefault(2, 3)')}"
        if which == 16:
            self.use("attribute")
            use = self.choose(".x", ".zz", ".m(2)", ".m(k=2)", " + 1", "[1]", ".missing")
            return self.variable("obj") + use
        if which == 17:
            return f"note({a()}{self.choose('', ', k=1', ', *[1, 2]', ', **{}')})"
        if which == 18:
            return f"int({self.expression('str', 0)})"
        return f"number({self.any(less)})"

    def condition(self, depth: int) -> str:
        which = self.pick(7)
        a = self.integer(depth - 1)
        b = self.integer(depth - 1) if which <= 3 else ""
        if which <= 1:
            return f"{a} {self.choose('<', '<=', '==', '!=', '>', '>=')} {b}"
        if which == 2:
            self.use("chained comparison")
            return f"{a} < {b} <= {self.integer(0)}"
        if which == 3:
            self.use("boolean operators")
            return f"{a} {self.choose('and', 'or')} {b}"
        if which == 4:
            return f"{a} {self.choose('in', 'not in')} {self.expression('list', 0)}"
        if which == 5:
            return f"{self.variable('str')} {self.choose('is', 'is not')} None"
        return f"not {a}"

    def string(self, depth: int) -> str:
        if depth <= 0:
            return WORDS[self.pick(len(WORDS))] if self.chance(2) else self.variable("str")
        which = self.pick(8)
        if which <= 1:
            return self.variable("str")
        a = self.string(depth - 1) if which in (2, 5, 6) else ""
        if which == 2:
            return f"({a} + {self.string(0)})"
        if which <= 4:
            self.use("f-string")
            shown = self.integer(0) + self.choose("", "!r", ":>4", ":{3}", ":x", "=")
            tail = self.choose("", lambda: "-{" + self.variable("str").replace("'", "") + "!s}")
            return 'f"t{' + shown + "}" + tail + '"'
        if which == 5:
            self.use("string slice")
            return f"{a}[{self.slice()}]"
        if which == 6:
            return a + self.choose(
                ".upper()", ".strip()", ".replace('a', 'q')", ".join(['1', '2'])", ".nothing()"
            )
        return f"{self.choose('str', 'show')}({self.integer(depth - 1)})"

    def slice(self) -> str:
        self.use("slice")

        def part() -> str:
            return self.choose("", "1", "3", "-1", lambda: self.integer(0))

        return f"{part()}:{part()}" + (f":{self.choose('2', '-1', '')}" if self.chance(3) else "")

    def sequence(self, depth: int) -> str:
        if depth <= 0:
            return self.choose("[]", "[1, 2, 3]", "[5]") if self.chance(2) else self.variable("list")
        which = self.pick(8)
        if which <= 1:
            return self.variable("list")
        if which == 2:
            items = [self.integer(depth - 1) for _ in range(self.pick(4))]
            return f"[{', '.join(items)}]"
        if which == 3:
            self.use("star in display")
            return f"[{self.integer(0)}, *{self.expression(self.choose('list', 'str', 'obj'), 0)}]"
        if which <= 5:
            self.use("list comprehension")
            return f"[{self.comprehension_body(self.choose('int', 'str'), depth - 1)}]"
        if which == 6:
            return f"{self.sequence(depth - 1)}[{self.slice()}]"
        return f"{self.choose('sorted', 'list')}({self.sequence(0)})"

    def mapping(self, depth: int) -> str:
        if depth <= 0:
            return self.choose("{}", "{1: 2}") if self.chance(2) else self.variable("dict")
        which = self.pick(5)
        if which <= 1:
            return self.variable("dict")
        if which == 2:
            return f"{{{self.integer(0)}: {self.integer(depth - 1)}, 'k': {self.string(0)}}}"
        if which == 3:
            self.use("double star in display")
            return f"{{**{self.mapping(0)}, {self.integer(0)}: 1}}"
        self.use("dict comprehension")
        name = self.fresh("c")
        return f"{{{name}: {name} + {self.integer(0)} for {name} in range({self.pick(4)})}}"

    def thing(self, depth: int) -> str:
        names = ["Thing", *self.classes]
        if depth <= 0 or self.chance(2):
            return self.variable("obj")
        return f"{names[self.pick(len(names))]}({self.arguments(self.pick(3), depth - 1)})"

    def fresh(self, prefix: str) -> str:
        self.bound_names += 1
        return f"{prefix}{self.bound_names}_"

    def target(self, kind: str) -> str:
        """A name to bind; it counts as bound from here on."""
        level = self.scope.level - (1 if self.scope.level and self.chance(25) else 0)
        name = f"{PREFIX[kind]}{level or ''}{self.pick(4)}"
        self.scope.own.add(name)
        if name not in self.scope.names[kind]:
            self.scope.names[kind].append(name)
        return name

    def comprehension_body(self, kind: str, depth: int) -> str:
        name = self.fresh("c")
        source = f"range({1 + self.pick(4)})" if not self.chance(3) else self.expression("list", 0)
        names = self.scope.names["int"]
        names.append(name)
        kept, self.scope.kind = self.scope.kind, "class" if self.scope.kind == "class" else "comprehension"
        inner = ""
        if self.chance(3):
            other = self.fresh("c")
            inner = f" for {other} in range({name})" if self.chance(2) else f" if {self.condition(depth)}"
        body = self.expression(kind, depth)
        self.scope.kind = kept
        names.remove(name)
        return f"{body} for {name} in {source}{inner}"

    def arguments(self, count: int, depth: int) -> str:
        return ", ".join(self.integer(depth) for _ in range(count))

    def call(self, depth: int) -> str:
        """A call of a generated function in some argument form, at times with arguments that do not fit."""
        signature = self.functions[self.pick(len(self.functions))]
        needed = signature.positional - signature.defaults
        parts = []
        given = needed + self.pick(signature.defaults + 1)
        if self.chance(30):
            self.use("arguments that do not bind")
            given = self.pick(5)
        by_name = 0
        if self.chance(3) and given > signature.positional_only:
            self.use("keyword arguments")
            by_name = 1
        values = [self.integer(depth - 1) for _ in range(given)]
        parts += values[: given - by_name]
        if self.chance(4) and parts:
            self.use("star arguments")
            parts = [parts[0], f"*[{', '.join(parts[1:])}]"]
        if signature.rest and self.chance(2):
            parts += ["*(1, 2)"] if by_name else ["5", "*(6,)"]
        if by_name and given - 1 < len(signature.names):
            parts.append(f"{signature.names[given - 1]}={values[-1]}")
        for index, name in enumerate(signature.keyword):
            if index == 0 or self.chance(2):
                parts.append(f"{name}={self.integer(0)}")
        if signature.more and self.chance(2):
            self.use("double star arguments")
            parts.append("**{'extra': 1}")
        made = f"{signature.name}({', '.join(parts)})"
        self.use("call of " + signature.kind)
        if signature.kind == "generator":
            return f"{self.choose('sum', 'number', 'len')}({self.choose('list', 'tuple')}({made}))"
        if signature.kind == "async":
            return f"number(drive({made}))"
        return f"number({made})"
