"""tests/capture/grammar_simple.py: draws statements of one line."""

from __future__ import annotations

from collections.abc import Callable

from grammar_expressions import TYPES, Expressions

ERRORS = (
    "ValueError",
    "KeyError('k')",
    "Mine('m')",
    "Worse(3)",
    "Worse",
    "ZeroDivisionError('z')",
    "IndexError()",
)
CAUGHT = (
    "ValueError",
    "(KeyError, IndexError)",
    "Mine",
    "LookupError",
    "ArithmeticError",
    "TypeError",
    "NameError",
    "Exception",
)


class Simple(Expressions):
    """Writes statements into lines; a block's statements come from the grammar above."""

    def __init__(self, pick: Callable[[int], int]) -> None:
        super().__init__(pick)
        self.lines: list[str] = []
        self.indent = 0
        self.room = 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def kind(self) -> str:
        return TYPES[self.pick(len(TYPES))]

    def value(self, kind: str) -> str:
        """In a loop a value that could double each time is cut."""
        made = self.expression(kind)
        return f"small({made})" if self.scope.loops or self.scope.repeated else made

    def assign(self) -> None:
        kind = self.kind()
        value = self.value(kind)
        target = self.target(kind)
        if self.chance(8):
            target = f"{target} = {self.target(kind)}"
        elif self.chance(10) and not self.scope.level:
            self.use("annotated assignment")
            target = f"{target}: {kind if kind != 'obj' else 'Thing'}"
        self.write(f"{target} = {value}")

    def augment(self) -> None:
        self.use("augmented assignment")
        kind = ("int", "str", "list")[self.pick(3)]
        name = self.variable(kind)
        if not name.isidentifier() or name not in self.scope.own:
            value = name
            name = self.target(kind)
            self.write(f"{name} = {value}")
        operator = self.choose("+=", "-=", "*=", "//=", "|=", "^=", ">>=") if kind == "int" else "+="
        self.write(f"{name} {operator} {self.expression(kind, 1)}")
        self.write(f"{name} = small({name})")

    def shown(self) -> None:
        what = self.any()
        forms = (
            f"print(show({what}))",
            f"note({what})",
            f"log.append(show({what}))",
            f"print(number({what}), end=';')",
        )
        self.write(self.choose(*forms))

    def unpack(self) -> None:
        self.use("unpacking")
        a, b = self.target("int"), self.target("int")
        which = self.pick(6)
        if which <= 1:
            self.write(f"{a}, {b} = {self.integer(1)}, {self.integer(1)}")
        elif which == 2:
            self.write(f"{a}, *{self.target('list')} = {self.expression('list', 1)}")
        elif which == 3:
            self.write(f"*{self.target('list')}, {a} = {self.expression('obj', 0)}")
        elif which == 4:
            pair = self.choose("(1, 2)", "[3, 4]", "(1,)", "'ab'")
            self.write(f"{a}, ({b}, {self.target('int')}) = {self.integer(0)}, {pair}")
        else:
            self.write(f"({a}, {b}) = {self.expression(self.choose('list', 'str'), 1)}")

    def store(self) -> None:
        self.use("store to item or attribute")
        which = self.pick(6)
        if which == 0:
            self.write(f"{self.variable('list')}[{self.integer(0)}] = {self.integer(1)}")
        elif which == 1:
            self.write(f"{self.variable('dict')}[{self.integer(0)}] = {self.integer(1)}")
        elif which == 2:
            name = self.variable("list")
            self.write(f"{name}[{self.slice()}] = {self.expression('list', 1)}")
            self.write(f"small({name})")
        elif which == 3:
            self.write(f"{self.variable('obj')}.{self.choose('x', 'y')} = small({self.integer(1)})")
        elif which == 4:
            self.write(f"{self.variable('obj')}.x += {self.integer(0)}")
        else:
            self.write(f"{self.variable('list')}[{self.choose('0', '-1')}] += {self.integer(0)}")

    def delete(self) -> None:
        self.use("del")
        kind = self.kind()
        name = self.variable(kind)
        which = self.pick(4)
        if which == 0 and name.isidentifier() and self.scope.kind != "class":
            self.write(f"del {name}")
            if name in self.scope.names[kind] and not self.chance(4):
                self.scope.names[kind].remove(name)
        elif which == 1:
            self.write(f"del {self.variable('list')}[{self.choose('0', self.slice)}]")
        elif which == 2:
            self.write(f"del {self.variable('dict')}[{self.integer(0)}]")
        else:
            self.write(f"del {self.variable('obj')}.{self.choose('x', 'y')}")

    def raise_or_assert(self) -> None:
        which = self.pick(8)
        error = ERRORS[self.pick(len(ERRORS))]
        if which == 0:
            self.use("raise")
            self.write(f"raise {error}")
        elif which == 1:
            self.use("raise from")
            self.write(f"raise {error} from {self.choose('None', 'KeyError(1)', 'ValueError', '5')}")
        elif which == 2:
            self.use("assert")
            self.write(f"assert {self.condition(1)}, {self.string(0)}")
        elif which == 3:
            self.write(f"if {self.condition(1)}: raise {error}")
        else:
            self.write(f"assert {self.condition(1)} or True")

    def leave(self) -> None:
        """return, break or continue, where they may stand."""
        if self.scope.loops and self.chance(2):
            if not self.scope.in_star:
                self.use("break or continue")
                self.write(
                    self.choose("", lambda: f"if {self.condition(1)}: ") + self.choose("break", "continue")
                )
                return
        elif (
            self.scope.kind in ("function", "generator", "async")
            and not self.scope.in_star
            and self.chance(2)
        ):
            self.use("return")
            self.write(
                f"return {self.any(1)}"
                if self.chance(2)
                else f"if {self.condition(1)}: return {self.integer(1)}"
            )
            return
        self.write("pass")

    def expression_statement(self) -> None:
        appended = lambda: f"{self.variable('list')}.append({self.integer(1)})"  # noqa: E731
        self.write(self.choose(lambda: self.integer(2), lambda: self.string(1), appended))

    def yields(self) -> None:
        if self.scope.kind == "async":
            self.use("await")
            self.write(f"{self.target('int')} = await pause({self.integer(0)})")
        elif self.scope.kind == "generator":
            which = self.pick(4)
            if which <= 1:
                self.use("yield")
                self.write(f"yield {self.integer(1)}")
            elif which == 2:
                self.use("yield as expression")
                self.write(f"{self.target('int')} = number((yield {self.integer(1)}))")
            else:
                self.use("yield from")
                source = [f.name + "(1, 2)" for f in self.functions if f.kind == "generator"] + [
                    self.sequence(0),
                    "Thing()",
                    "'ab'",
                ]
                self.write(f"note((yield from {source[self.pick(len(source))]}))")
        else:
            self.shown()

    def declared(self) -> None:
        self.use("import")
        modules = (
            "import math as _m",
            "from os import sep as _sep",
            "import os.path as _p",
            "from os import path as _p, sep as _s",
        )
        missing = ("from os import nothing_there", "import no_module_x", "from no_module_x import y")
        self.write((missing if self.chance(8) else modules)[self.pick(3)])
