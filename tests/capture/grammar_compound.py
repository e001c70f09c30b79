"""tests/capture/grammar_compound.py: draws statements that contain others."""

from __future__ import annotations

from grammar_expressions import TYPES
from grammar_simple import CAUGHT, ERRORS, Simple


class Compound(Simple):
    """Every loop is bounded, and ticks bound the product of loops and calls."""

    def block(self, depth: int, least: int = 1) -> None:
        """Statements one level deeper. At times what they bind counts as bound afterwards, rightly or not."""
        before = {t: list(self.scope.names[t]) for t in TYPES}
        self.indent += 1
        for _ in range(least + self.pick(3)):
            self.statement(depth)
        self.indent -= 1
        if not self.chance(10):
            self.scope.names = before

    def statement(self, depth: int) -> None:
        self.room -= 1
        if self.room < 0:
            self.write("pass")
            return
        simple = (
            self.assign,
            self.assign,
            self.assign,
            self.augment,
            self.shown,
            self.unpack,
            self.store,
            self.delete,
            self.raise_or_assert,
            self.leave,
            self.expression_statement,
            self.yields,
            self.declared,
        )
        compound = (
            self.branch,
            self.for_loop,
            self.while_loop,
            self.try_statement,
            self.try_statement,
            self.with_statement,
            self.match_statement,
            self.closure,
            self.consume,
            self.local_class,
            self.star_groups,
        )
        if depth > 0 and self.chance(2):
            compound[self.pick(len(compound))](depth - 1)
        else:
            simple[self.pick(len(simple))]()

    def branch(self, depth: int) -> None:
        self.use("if")
        self.write(f"if {self.condition(2)}:")
        self.block(depth)
        if self.chance(2):
            self.write(f"elif {self.condition(1)}:")
            self.block(depth)
        if self.chance(2):
            self.write("else:")
            self.block(depth)

    def loop(self, depth: int) -> None:
        self.scope.loops += 1
        self.indent += 1
        self.write("tick()")
        self.indent -= 1
        self.block(depth)
        self.scope.loops -= 1
        if self.chance(3):
            self.use("else of a loop")
            self.write("else:")
            self.block(depth)

    def for_loop(self, depth: int) -> None:
        self.use("for")
        which = self.pick(6)
        generators = [f for f in self.functions if f.kind == "generator"]
        a = self.target("int")
        if which <= 2:
            self.write(f"for {a} in range({self.pick(5)}):")
        elif which == 3:
            self.write(f"for {a} in list({self.expression(self.choose('list', 'obj'), 1)}):")
        elif which == 4 and generators:
            self.write(f"for {a} in {generators[self.pick(len(generators))].name}(2, 1):")
        elif which == 5 and self.scope.kind == "async":
            self.use("async for")
            self.write(f"async for {a} in Pauses({self.pick(4)}):")
        else:
            self.write(f"for {a}, {self.target('str')} in enumerate({self.string(0)}):")
        self.loop(depth)

    def while_loop(self, depth: int) -> None:
        self.use("while")
        name = self.fresh("w")
        self.write(f"{name} = {self.pick(5)}")
        self.write(f"while {name} > 0{self.choose('', lambda: ' and ' + self.condition(1))}:")
        self.indent += 1
        self.write(f"{name} -= 1")
        self.indent -= 1
        self.loop(depth)

    def try_statement(self, depth: int) -> None:
        self.use("try")
        self.write("try:")
        self.block(depth)
        handlers = self.pick(3)
        final = handlers == 0 or self.chance(3)
        for _ in range(handlers):
            self.use("except")
            name = self.choose("", " as e")
            self.write(f"except {CAUGHT[self.pick(len(CAUGHT))]}{name}:")
            if name:
                self.indent += 1
                self.write("note(type(e).__name__, str(e), type(e.__context__).__name__)")
                self.indent -= 1
            self.block(depth)
            if self.chance(8):
                self.use("bare raise")
                self.indent += 1
                self.write("raise")
                self.indent -= 1
        if handlers and self.chance(3):
            self.use("else of try")
            self.write("else:")
            self.block(depth)
        if final:
            self.use("finally")
            kept, self.scope.in_finally = self.scope.in_finally, True
            self.write("finally:")
            self.block(depth)
            self.scope.in_finally = kept

    def star_groups(self, depth: int) -> None:
        self.use("except*")
        self.write("try:")
        self.indent += 1
        first, second = ERRORS[self.pick(len(ERRORS))], ERRORS[self.pick(len(ERRORS))]
        called = [e if e.endswith(")") else e + "()" for e in (first, second)]
        self.statement(depth)
        self.write(f"raise ExceptionGroup('g', [{called[0]}, ExceptionGroup('h', [{called[1]}])])")
        self.indent -= 1
        kept, self.scope.in_star = self.scope.in_star, True
        for _ in range(1 + self.pick(2)):
            self.write(f"except* {CAUGHT[self.pick(len(CAUGHT))]} as g:")
            self.indent += 1
            self.write("note(repr(g))")
            self.indent -= 1
            self.block(depth)
        self.scope.in_star = kept

    def with_statement(self, depth: int) -> None:
        self.use("with")
        prefix = ""
        if self.scope.kind == "async" and self.chance(2):
            self.use("async with")
            prefix = "async "
        suppress = self.choose("", ", True")
        second = self.choose("", "", lambda: ", Manager('b') as " + self.target("str"))
        self.write(f"{prefix}with Manager('a'{suppress}) as {self.target('str')}{second}:")
        self.block(depth)

    def match_statement(self, depth: int) -> None:
        self.use("match")
        self.write(f"match {self.any(1)}:")
        a = self.target("int")
        patterns = (
            "0 | 1",
            f"int() if {self.condition(0)}",
            "[]",
            f"[{a}]",
            f"[{a}, *_]",
            "[1, 2, *rest]",
            "{1: _}",
            "{'k': str()}",
            "{**rest}",
            "str() as whole",
            "'a' | 'bc'",
            f"Thing(x={a})",
            "Thing(1, 2)",
            "None | True",
            "-1",
            "(int() | str()) as whole",
        )
        self.indent += 1
        for _ in range(1 + self.pick(3)):
            self.write(f"case {patterns[self.pick(len(patterns))]}:")
            self.block(depth)
        if self.chance(2):
            self.write("case _:")
            self.block(depth)
        self.indent -= 1

    def consume(self, depth: int) -> None:
        """Drive a generator by hand: next, send, throw, close."""
        generators = [f for f in self.functions if f.kind == "generator"]
        if not generators:
            return self.branch(depth)
        self.use("generator methods")
        name = self.fresh("g")
        self.write(f"{name} = {generators[self.pick(len(generators))].name}(1, 2)")
        self.write("try:")
        self.indent += 1
        for _ in range(1 + self.pick(4)):
            error = ERRORS[self.pick(len(ERRORS))]
            self.write(
                self.choose(
                    f"note(next({name}))",
                    f"note(next({name}, 'end'))",
                    f"note({name}.send({self.integer(0)}))",
                    f"note({name}.throw({error}))",
                    f"{name}.close()",
                    f"note(list({name}))",
                )
            )
        self.indent -= 1
        self.write(
            f"except ({self.choose('StopIteration', 'StopIteration, Exception', 'TypeError, Mine')}) as e:"
        )
        self.indent += 1
        self.write("note(repr(e))")
        self.indent -= 1

    def closure(self, depth: int) -> None:
        raise NotImplementedError

    def local_class(self, depth: int) -> None:
        raise NotImplementedError
