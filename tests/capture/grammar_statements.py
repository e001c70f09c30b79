"""tests/capture/grammar_statements.py: draws statements, functions, classes and whole programs that always end."""

from __future__ import annotations

from collections.abc import Callable

from grammar_expressions import PREFIX, TYPES, Expressions, Scope, Signature

ERRORS = ("ValueError", "KeyError('k')", "Mine('m')", "Worse(3)", "Worse", "ZeroDivisionError('z')", "IndexError()")
CAUGHT = ("ValueError", "(KeyError, IndexError)", "Mine", "LookupError", "ArithmeticError", "TypeError", "NameError", "Exception")


class Statements(Expressions):
    """Every loop is bounded, calls go to functions defined earlier, and ticks bound the product of both."""

    def __init__(self, pick: Callable[[int], int]) -> None:
        super().__init__(pick)
        self.lines: list[str] = []
        self.indent = 0
        self.room = 0
        self.counter = 0

    def write(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def block(self, depth: int, least: int = 1) -> None:
        """Statements one level deeper. At times what they bind counts as bound afterwards, which it may not be."""
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
            self.assign, self.assign, self.assign, self.augment, self.shown, self.unpack, self.store, self.delete,
            self.raise_or_assert, self.leave, self.expression_statement, self.yields, self.declared,
        )  # fmt: skip
        compound = (
            self.branch, self.for_loop, self.while_loop, self.try_statement, self.try_statement, self.with_statement,
            self.match_statement, self.closure, self.consume, self.local_class, self.star_groups,
        )  # fmt: skip
        if depth > 0 and self.chance(2):
            compound[self.pick(len(compound))](depth - 1)
        else:
            simple[self.pick(len(simple))]()

    # Simple statements

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
        forms = (f"print(show({what}))", f"note({what})", f"log.append(show({what}))", f"print(number({what}), end=';')")
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
                self.write(self.choose("", lambda: f"if {self.condition(1)}: ") + self.choose("break", "continue"))
                return
        elif self.scope.kind in ("function", "generator", "async") and not self.scope.in_star and self.chance(2):
            self.use("return")
            self.write(f"return {self.any(1)}" if self.chance(2) else f"if {self.condition(1)}: return {self.integer(1)}")
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
                source = [f.name + "(1, 2)" for f in self.functions if f.kind == "generator"] + [self.sequence(0), "Thing()", "'ab'"]
                self.write(f"note((yield from {source[self.pick(len(source))]}))")
        else:
            self.shown()

    def declared(self) -> None:
        self.use("import")
        modules = ("import math as _m", "from os import sep as _sep", "import os.path as _p", "from os import path as _p, sep as _s")
        missing = ("from os import nothing_there", "import no_module_x", "from no_module_x import y")
        self.write((missing if self.chance(8) else modules)[self.pick(3)])

    # Compound statements

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
            "0 | 1", "int() if " + self.condition(0), "[]", f"[{a}]", f"[{a}, *_]", "[1, 2, *rest]", "{1: _}", "{'k': str()}", "{**rest}",
            "str() as whole", "'a' | 'bc'", f"Thing(x={a})", "Thing(1, 2)", "None | True", "-1", "(int() | str()) as whole",
        )  # fmt: skip
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
                    f"note(next({name}))", f"note(next({name}, 'end'))", f"note({name}.send({self.integer(0)}))",
                    f"note({name}.throw({error}))", f"{name}.close()", f"note(list({name}))",
                )  # fmt: skip
            )
        self.indent -= 1
        self.write(f"except ({self.choose('StopIteration', 'StopIteration, Exception', 'TypeError, Mine')}) as e:")
        self.indent += 1
        self.write("note(repr(e))")
        self.indent -= 1

    def nested(self, kind: str) -> Scope:
        """A scope that may read the names of the present one."""
        names = {t: list(self.scope.names[t]) for t in TYPES}
        return Scope(kind, names, self.scope, repeated=True, level=self.scope.level + 1)

    def closure(self, depth: int) -> None:
        if self.scope.kind in ("class", "module"):
            return self.branch(depth)
        self.use("closure")
        name = self.fresh("f")
        outer = self.scope
        shared = sorted(n for n in outer.own if n[0] == "i" and n in outer.names["int"])
        chosen = shared[self.pick(len(shared))] if shared and outer.kind in ("function", "generator", "async") else ""
        if chosen:
            self.write(f"{chosen} = small({chosen})")
        self.write(f"def {name}(q0=1, *args, k=2):")
        self.scope = self.nested("function")
        self.scope.names["int"] += ["q0", "k"]
        self.indent += 1
        self.write("tick()")
        if chosen and self.chance(2):
            self.use("nonlocal")
            self.write(f"nonlocal {chosen}")
            self.write(f"{chosen} = small({chosen} + {self.integer(0)})")
        elif self.chance(4):
            self.use("global")
            self.write("global i5")
            self.write("i5 = q0")
        self.indent -= 1
        # Binding a name that the closure also reads from outside makes it local there: NameErrors for both to agree on.
        self.block(depth)
        self.indent += 1
        self.write(f"return {self.integer(1)}")
        self.indent -= 1
        self.scope = outer
        self.write(f"{self.target('int')} = number({name}({self.choose('', '1', '1, 2, k=3', 'q0=4', '*[1, 2]', 'z=1')}))")

    def local_class(self, depth: int) -> None:
        if self.scope.kind == "class":
            return self.branch(depth)
        self.class_definition(depth)
        name = self.classes.pop()
        self.write(f"{self.target('obj')} = {name}({self.choose('', '1', '1, y=2', 'w=5')})")

    def class_definition(self, depth: int) -> None:
        self.use("class")
        name = self.fresh("C")
        bases = ["Thing", *self.classes]
        self.write(f"class {name}({bases[self.pick(len(bases))]}):")
        outer, self.scope = self.scope, self.nested("class")
        self.scope.repeated = False
        self.indent += 1
        for _ in range(self.pick(3)):
            self.assign()
        if self.chance(2):
            self.write("x = 4")
        for method in ("m", "__init__", "p", "__add__"):
            if self.chance(2):
                continue
            self.use("method with super")
            header = {"m": "m(self, a=0, *, k=2)", "__init__": "__init__(self, *args, **kwargs)", "p": "zp(self)", "__add__": "__add__(self, other)"}[method]
            if method == "p":
                self.write("@property")
            self.write(f"def {header}:")
            class_scope = self.scope
            self.scope = Scope("function", outer=self.scope, repeated=True, level=self.scope.level + 1)
            self.scope.names["obj"].append("self")
            self.scope.names["int"].append({"m": "a", "__init__": "len(args)", "p": "self.x", "__add__": "other"}[method])
            self.indent += 1
            self.write("tick()")
            self.write(
                {"m": "i0 = super().m(a, k=k)", "__init__": "super().__init__(*args, **kwargs)", "p": "i0 = super().zp", "__add__": "i0 = super().__add__(other)"}[method]
            )
            self.indent -= 1
            if method != "__init__":
                self.scope.names["int"].append("i0")
            else:
                self.scope.kind = "initializer"
            self.block(min(depth, 1))
            if method != "__init__":
                self.indent += 1
                self.write("return i0")
                self.indent -= 1
            self.scope = class_scope
        self.write(f"def own_{self.fresh('n')}(self): return __class__.__name__")
        self.indent -= 1
        self.scope = outer
        self.classes.append(name)

    # Functions and the whole

    def function(self, kind: str) -> None:
        positional, keyword = 1 + self.pick(3), ("k0", "k1")[: self.pick(3)]
        defaults = self.pick(positional + 1)
        only = self.pick(positional + 1) if self.chance(3) else 0
        if kind == "generator":
            positional, defaults, keyword, only = 2, self.pick(3), (), 0
        rest, more = self.chance(3) and kind != "generator", self.chance(3)
        names = tuple(f"p{n}" for n in range(positional))
        shown = [f"{n}={self.pick(5)}" if i >= positional - defaults else n for i, n in enumerate(names)]
        if only:
            self.use("positional-only parameters")
            shown.insert(only, "/")
        if rest:
            shown.append("*rest")
        elif keyword:
            shown.append("*")
        shown += [f"{k}={i}" if i else k for i, k in enumerate(keyword)]
        if more:
            shown.append("**more")
        name = self.fresh("f")
        self.write(f"{'async ' if kind == 'async' else ''}def {name}({', '.join(shown)}):")
        outer, self.scope = self.scope, Scope(kind)
        self.scope.repeated = False
        self.scope.names["int"] += [*names, *keyword]
        self.indent += 1
        self.write("tick()")
        if kind == "generator":
            self.write("yield p0")
        self.indent -= 1
        self.room = 11
        self.block(2 + self.pick(2), least=2)
        self.indent += 1
        self.write(f"return {self.any(1)}")
        self.indent -= 1
        self.scope = outer
        self.functions.append(Signature(name, positional, defaults, keyword, rest, more, names, only, kind))
        self.write("")

    def program(self) -> str:
        """The source of a module that follows the prelude; its main(given) is the program."""
        self.write("i5 = 1")
        self.write("")
        if self.chance(2):
            self.room = 8
            self.class_definition(1)
            self.write("")
        for kind in ("function", ("generator", "function")[self.pick(2)], ("generator", "async", "function")[self.pick(3)]):
            self.function(kind)
        self.write("def main(given):")
        self.scope = Scope("function")
        self.indent += 1
        for kind, value in (("int", "2"), ("str", "'start'"), ("list", "given"), ("dict", "{1: 1, 'k': 'v'}"), ("obj", "Thing(1)")):
            self.write(f"{PREFIX[kind]}0 = {value}")
            self.scope.names[kind].append(PREFIX[kind] + "0")
        self.indent -= 1
        self.room = 14
        self.block(3, least=4)
        self.indent += 1
        self.write(f"return {self.any(1)}, sorted(locals())")
        self.indent -= 1
        return "\n".join(self.lines) + "\n"
