"""tests/fuzz/program_grammar.py: random programs of tensor work with breaks of every kind, anywhere.

`source(seed)` is the text of a module with a function `entry(x, n)`: assignments, in-place writes, loops,
`try`, `with`, calls, closures, generators, objects and containers, and between them what ends a capture.
Programs end, may raise, and are the same for the same seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable

HEADER = """
import io, logging, random, sys, time
import numpy
import torch
from contextlib import contextmanager

LOG = []
TABLE = {"scale": 2.0, "count": 0}

class Box:
    def __init__(self, value):
        self.value = value
        self.uses = 0
    def use(self, y):
        self.uses += 1
        return y * self.value
    def __enter__(self):
        LOG.append("enter")
        return self
    def __exit__(self, kind, error, trace):
        LOG.append(("exit", None if kind is None else kind.__name__))
        return SWALLOWS and kind is ValueError

@contextmanager
def section(name):
    LOG.append(("begin", name))
    try:
        yield name
    finally:
        LOG.append(("end", name))

BOX = Box(3.0)
WEIGHT = torch.linspace(-1, 1, 12).reshape(3, 4)
BUFFER = torch.zeros(3, 4)
LEAF = torch.ones(3, 4, requires_grad=True)
RECORDS = io.StringIO()
LOGGER = logging.Logger.manager.getLogger("generated")
LOGGER.handlers, LOGGER.propagate, LOGGER.level = [logging.StreamHandler(RECORDS)], False, logging.INFO
SWALLOWS = {swallows}
"""

POINTWISE = [
    "torch.tanh({})",
    "{}.sin()",
    "{} * 2",
    "{} + WEIGHT",
    "{}.abs() + 1",
    "torch.relu({})",
    "-{}",
    "{}.clone()",
    "({} @ WEIGHT.t() @ WEIGHT).float()",
]
BINARY = ["{} + {}", "{} * {}", "{} - {}", "torch.maximum({}, {})", "torch.where({} > 0, {}, 1.0)"]
SCALARS = ["{}.sum()", "{}.mean()", "{}.max()"]
RAISING = [
    "WEIGHT[torch.tensor([n + 2])]",
    "[1, 2][n + 1]",
    "TABLE['none']",
    "int('x')",
    "1 / (n - n)",
    "torch.ones(2) @ torch.ones(3)",
]
ERRORS = [
    "IndexError",
    "KeyError",
    "ValueError",
    "ZeroDivisionError",
    "(RuntimeError, LookupError)",
    "Exception",
]


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.lines: list[str] = []
        self.functions = 0
        self.names = 0
        self.budget = self.choose.randint(8, 26)

    def one(self, options: list[str]) -> str:
        return self.choose.choice(options)

    def tensor(self, names: list[str]) -> str:
        return self.one(names)

    def expression(self, names: list[str]) -> str:
        kind = self.choose.random()
        if kind < 0.6:
            return self.one(POINTWISE).format(self.tensor(names))
        return self.one(BINARY).format(self.tensor(names), self.tensor(names))

    def scalar(self, names: list[str]) -> str:
        return self.one(SCALARS).format(self.tensor(names))

    def add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(
        self, depth: int, names: list[str], in_loop: bool = False, count: int | None = None
    ) -> list[str]:
        names = list(names)
        for _ in range(count if count is not None else self.choose.randint(1, 4)):
            self.statement(depth, names, in_loop)
        return names

    def statement(self, depth: int, names: list[str], in_loop: bool) -> None:
        self.budget -= 1
        simple: list[Callable[[], None]] = [
            lambda: self.assign(depth, names),
            lambda: self.assign(depth, names),
            lambda: self.assign(depth, names),
            lambda: self.break_here(depth, names),
            lambda: self.effect(depth, names),
            lambda: self.write(depth, names),
        ]
        nested: list[Callable[[], None]] = [
            lambda: self.branch(depth, names, in_loop),
            lambda: self.loop(depth, names),
            lambda: self.attempt(depth, names, in_loop),
            lambda: self.manager(depth, names, in_loop),
            lambda: self.call(depth, names),
            lambda: self.generator(depth, names),
            lambda: self.comprehension(depth, names),
        ]
        if self.budget <= 0 or depth > 4 or self.choose.random() < 0.6:
            self.choose.choice(simple)()
        else:
            self.choose.choice(nested)()

    def assign(self, depth: int, names: list[str]) -> None:
        if self.choose.random() < 0.4:
            self.add(depth, f"y = {self.expression(names)}")
        else:
            name = f"v{self.names}"
            self.names += 1
            self.add(depth, f"{name} = {self.expression(names)}")
            names.append(name)

    def break_here(self, depth: int, names: list[str]) -> None:
        self.add(
            depth,
            self.one(
                [
                    "print('at', n)",
                    f"print({self.scalar(names)})",
                    "torch._dynamo.graph_break()",
                    f"n = n + int({self.scalar(names)} > 0)",
                    f"y = y * {self.scalar(names)}.item()",
                    "y = y + float(numpy.float32(0.5))",
                    f"y = torch.from_numpy(numpy.asarray({self.tensor(names)}.detach()) * 1.0) + y",
                    "y = y * random.random()",
                    "LOG.append(time.time() > 0)",
                    f"LOG.append({self.scalar(names)}.item())",
                    f"y = y + {self.tensor(names)}[{self.tensor(names)} > 0].sum()",
                    "y = y + torch.rand(3, 4)",
                    "LOGGER.info('at %s', n)",
                    f"LOGGER.warning('value %s of %r', {self.scalar(names)}, {self.tensor(names)}.shape)",
                    "LOGGER.debug('never')",
                    "n = n + sys.stdout.write('text') % 2",
                    f"({self.tensor(names)} * LEAF).sum().backward()",
                    f"(LEAF * {self.tensor(names)}.detach()).sum().backward(); y = y + LEAF.grad",
                    "LEAF.grad = None",
                    f"y = y + torch.autograd.grad((LEAF * {self.tensor(names)}.detach()).exp().sum(), LEAF)"
                    "[0]",
                    f"y = y + torch.autograd.grad((LEAF * {self.tensor(names)}).sin().sum(), LEAF,"
                    " create_graph=True)[0]",
                    f"LOG.append(torch.autograd.grad(({self.tensor(names)} * LEAF).sum(),"
                    f" {self.tensor(names)}, allow_unused=True))",
                    "n = n + random.choice([0, 1, 2])",
                    "LOG.append(random.sample(range(5), 2))",
                    f"n = n + ({self.tensor(names)} > 0).sum().item() % 3",
                    f"y = y * ({self.tensor(names)} > 0).sum().item()",
                    f"LOG.append([{self.tensor(names)}.argmax().item(), n])",
                    "n = n + random.randint(0, 2)",
                    "y = y + random.randrange(3, 9) * n; LOG.append(random.randint(1, 6))",
                    f"y = y + {self.tensor(names)}[{self.tensor(names)}.sum().long() % 3, 1:].sum()",
                ]
            ),
        )

    def effect(self, depth: int, names: list[str]) -> None:
        self.add(
            depth,
            self.one(
                [
                    "LOG.append(n)",
                    "TABLE['count'] += 1",
                    "BOX.uses += 1",
                    "BOX.value = BOX.value + 1",
                    f"LOG.append({self.tensor(names)}.shape)",
                    f"TABLE['last'] = {self.tensor(names)}",
                    "LOG.extend([n, 'more'])",
                    "y = BOX.use(y)",
                    "n += 1",
                    "y = y * TABLE['scale']",
                    "TABLE['scale'] = TABLE['scale'] + 0.5",
                    "y = y + len(LOG) + BOX.uses",
                ]
            ),
        )

    def write(self, depth: int, names: list[str]) -> None:
        self.add(
            depth,
            self.one(
                [
                    "y = y.clone(); y.add_(1)",
                    "BUFFER.add_(y.detach())",
                    "y = y.clone(); y[0] = 1.0",
                    "y = y.clone(); y[:, n % 4] = 0",
                    "BUFFER.mul_(0.5); y = y + BUFFER",
                    "y = y.clone(); w = y[1:]; w.mul_(2)",
                ]
            ),
        )

    def test(self, names: list[str]) -> str:
        return self.one(
            [
                f"{self.scalar(names)} > 0",
                "n % 2 == 0",
                "n > 3",
                f"torch.isnan({self.tensor(names)}).any()",
                "BOX.uses > 2",
                f"{self.scalar(names)}.item() > 1",
                "isinstance(y, torch.Tensor)",
            ]
        )

    def branch(self, depth: int, names: list[str], in_loop: bool) -> None:
        self.add(depth, f"if {self.test(names)}:")
        self.block(depth + 1, names, in_loop)
        if self.choose.random() < 0.6:
            self.add(depth, "else:")
            self.block(depth + 1, names, in_loop)

    def loop(self, depth: int, names: list[str]) -> None:
        head = self.one(
            [
                f"for i{depth} in range({self.choose.randint(1, 4)}):",
                f"for i{depth}, _ in enumerate([n, n + 1]):",
                f"for row{depth} in {self.tensor(names)}.unbind():",
                f"for k{depth}, _ in sorted(TABLE.items(), key=lambda item: item[0])[:2]:",
                f"for i{depth} in iter([1, 2, 3]):",
            ]
        )
        self.add(depth, head)
        self.block(depth + 1, names, in_loop=True)
        if self.choose.random() < 0.3:
            self.add(depth + 1, f"if {self.test(names)}:")
            self.add(depth + 2, self.one(["break", "continue"]))

    def attempt(self, depth: int, names: list[str], in_loop: bool) -> None:
        self.add(depth, "try:")
        self.block(depth + 1, names, in_loop, 1)
        if self.choose.random() < 0.7:
            self.add(depth + 1, f"LOG.append({self.one(RAISING)})")
        self.block(depth + 1, names, in_loop, 1)
        kind = self.choose.random()
        if kind < 0.7:
            self.add(depth, f"except {self.one(ERRORS)} as error:")
            self.add(depth + 1, "LOG.append(type(error).__name__)")
            self.block(depth + 1, names, in_loop, 1)
            if self.choose.random() < 0.15:
                self.add(
                    depth + 1,
                    self.one(["raise", "raise ValueError('again') from error", "raise KeyError(n)"]),
                )
        if kind > 0.5:
            self.add(depth, "finally:")
            self.block(depth + 1, names, in_loop=False, count=1)

    def manager(self, depth: int, names: list[str], in_loop: bool) -> None:
        self.add(
            depth,
            self.one(
                [
                    "with BOX as box:",
                    f"with section({self.choose.randint(0, 9)}):",
                    "with torch.no_grad():",
                    "with section('s'), BOX:",
                    "with torch.enable_grad():",
                    "with torch.autocast('cpu', torch.bfloat16):",
                    "with torch.autocast('cpu', enabled=False), torch.no_grad():",
                    "with torch.profiler.record_function('range'):",
                ]
            ),
        )
        self.block(depth + 1, names, in_loop)
        if self.choose.random() < 0.2:
            self.add(depth + 1, f"LOG.append({self.one(RAISING)})")

    def call(self, depth: int, names: list[str]) -> None:
        name = f"f{self.functions}"
        self.functions += 1
        parameters = self.one(["a", "a, b=2", "a, *rest", "a, **more"])
        self.add(depth, f"def {name}({parameters}):")
        closed = self.choose.random() < 0.5
        if closed and depth == 1:
            self.add(depth + 1, "nonlocal n")
            self.add(depth + 1, "n = n + 1")
        self.add(depth + 1, "y = a")
        inner = "n = 1" if not (closed and depth == 1) else "pass"
        self.add(depth + 1, inner)
        self.block(depth + 1, ["a", "y"], count=2)
        self.add(depth + 1, self.one(["return y", "return y * 2", f"return {self.expression(['a', 'y'])}"]))
        arguments = {"a": "y", "a, b=2": "y, b=n", "a, *rest": "y, 1, n", "a, **more": "y, k=n"}[parameters]
        self.add(depth, f"y = {name}({arguments})")

    def generator(self, depth: int, names: list[str]) -> None:
        name = f"g{self.functions}"
        self.functions += 1
        self.add(depth, f"def {name}(a):")
        self.add(depth + 1, "n = 0")
        self.add(depth + 1, "for y in (a, a + 1, a * 2):")
        self.block(depth + 2, ["a", "y"], count=1)
        self.add(depth + 2, "yield y")
        self.add(depth, f"for part in {name}(y):")
        self.add(depth + 1, "y = y + part.sum()")
        self.block(depth + 1, names, in_loop=True, count=1)

    def comprehension(self, depth: int, names: list[str]) -> None:
        self.add(
            depth,
            self.one(
                [
                    f"y = torch.stack([part * 2 for part in {self.tensor(names)}.unbind()])",
                    f"y = sum([{self.tensor(names)} * k for k in range(3)])",
                    f"parts = {{k: {self.tensor(names)} + k for k in range(2)}}; y = y + parts[1]",
                    f"y = torch.stack(list(map(lambda part: part + n, {self.tensor(names)}.unbind())))",
                ]
            ),
        )

    def program(self) -> str:
        self.add(0, "def entry(x, n):")
        self.add(1, "y = x")
        names = ["x", "y"]
        while self.budget > 0:
            names = self.block(1, names, count=1)
        self.add(
            1, self.one(["return y", "return y, n", "return [y, x], {'n': n}", "return y.sum(), LOG[-1:]"])
        )
        head = HEADER.replace("{swallows}", str(self.choose.random() < 0.5))
        return head + "\n".join(self.lines) + "\n"


def source(seed: int) -> str:
    return Writer(seed).program()
