"""tests/capture/grammar_program.py: draws functions, classes and whole programs that always end."""

from __future__ import annotations

from grammar_compound import Compound
from grammar_expressions import PREFIX, TYPES, Scope, Signature


class Grammar(Compound):
    """Calls go to functions defined earlier, so that there is no recursion."""

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
        chosen = (
            shared[self.pick(len(shared))]
            if shared and outer.kind in ("function", "generator", "async")
            else ""
        )
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
        # Binding a name that is also read from outside makes it local: NameErrors for both to agree on.
        self.block(depth)
        self.indent += 1
        self.write(f"return {self.integer(1)}")
        self.indent -= 1
        self.scope = outer
        arguments = self.choose("", "1", "1, 2, k=3", "q0=4", "*[1, 2]", "z=1")
        self.write(f"{self.target('int')} = number({name}({arguments}))")

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
            header = {
                "m": "m(self, a=0, *, k=2)",
                "__init__": "__init__(self, *args, **kwargs)",
                "p": "zp(self)",
                "__add__": "__add__(self, other)",
            }[method]
            if method == "p":
                self.write("@property")
            self.write(f"def {header}:")
            class_scope = self.scope
            self.scope = Scope("function", outer=self.scope, repeated=True, level=self.scope.level + 1)
            self.scope.names["obj"].append("self")
            self.scope.names["int"].append(
                {"m": "a", "__init__": "len(args)", "p": "self.x", "__add__": "other"}[method]
            )
            self.indent += 1
            self.write("tick()")
            self.write(
                {
                    "m": "i0 = super().m(a, k=k)",
                    "__init__": "super().__init__(*args, **kwargs)",
                    "p": "i0 = super().zp",
                    "__add__": "i0 = super().__add__(other)",
                }[method]
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
        for kind in (
            "function",
            ("generator", "function")[self.pick(2)],
            ("generator", "async", "function")[self.pick(3)],
        ):
            self.function(kind)
        self.write("def main(given):")
        self.scope = Scope("function")
        self.indent += 1
        for kind, value in (
            ("int", "2"),
            ("str", "'start'"),
            ("list", "given"),
            ("dict", "{1: 1, 'k': 'v'}"),
            ("obj", "Thing(1)"),
        ):
            self.write(f"{PREFIX[kind]}0 = {value}")
            self.scope.names[kind].append(PREFIX[kind] + "0")
        self.indent -= 1
        self.room = 14
        self.block(3, least=4)
        self.indent += 1
        self.write(f"return {self.any(1)}, sorted(locals())")
        self.indent -= 1
        return "\n".join(self.lines) + "\n"
