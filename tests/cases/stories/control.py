"""Control flow: closures, decorators, contexts, generators, iterators, exceptions, events, logs."""

import contextlib
import functools
import itertools
import logging
import operator
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from stories.story import Story, call, story, tensor


@story
def closure_that_counts() -> Story:
    count = 0
    history: list[int] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += 1
        history.append(count)
        return x * count

    return Story(program, [call(tensor(3))] * 6, lambda: (count, history), served=3)


@story
def decorators_in_layers() -> Story:
    log: list[str] = []

    def logged(prefix: str) -> Callable[[Any], Any]:
        def wrap(function: Any) -> Any:
            @functools.wraps(function)
            def wrapper(*arguments: Any, **keywords: Any) -> Any:
                log.append(f"{prefix}:{function.__name__}:{len(arguments)}:{sorted(keywords)}")
                return function(*arguments, **keywords)

            return wrapper

        return wrap

    @logged("outer")
    @logged("inner")
    def scaled(x: torch.Tensor, *, scale: float = 2.0) -> torch.Tensor:
        return x * scale

    def program(x: torch.Tensor) -> torch.Tensor:
        return scaled(x) + scaled(x, scale=3.0)  # type: ignore[no-any-return]

    def change() -> None:
        scaled.__wrapped__.__wrapped__.__kwdefaults__["scale"] = 7.0

    x = tensor(3)
    return Story(program, [*[call(x)] * 3, change, call(x)], lambda: log, served=2)


@story
def context_managers() -> Story:
    trace: list[str] = []
    options = {"factor": 2}

    class Scope:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> "Scope":
            trace.append("+" + self.name)
            return self

        def __exit__(self, kind: type | None, *rest: object) -> bool:
            trace.append("-" + self.name + (kind.__name__ if kind else ""))
            return kind is KeyError

    @contextlib.contextmanager
    def changed(**changes: int) -> Iterator[None]:
        old = dict(options)
        options.update(changes)
        try:
            yield
        finally:
            options.clear()
            options.update(old)

    def program(x: torch.Tensor) -> Any:
        with Scope("a"), Scope("b") as scope:
            with changed(factor=5):
                y = x * options["factor"]
            y = y * options["factor"]
        with contextlib.suppress(ZeroDivisionError):
            y = y + 1 / 0
        with Scope("c"):
            options["nothing"]
        with contextlib.ExitStack() as stack:
            stack.enter_context(Scope("d"))
            stack.callback(trace.append, "done")
        with torch.no_grad(), contextlib.nullcontext(3) as three:
            y = y + three
        return y, scope.name

    x = tensor(3)
    steps = [*[call(x)] * 3, lambda: options.update(factor=7), call(x)]
    return Story(program, steps, lambda: (trace, options))


@story
def generators() -> Story:
    def chunks(x: torch.Tensor, n: int) -> Iterator[torch.Tensor]:
        for i in range(0, x.shape[0], n):
            yield x[i : i + n]

    def mean() -> Any:
        total, count = 0, 0
        while True:
            value = yield (total / count if count else None)
            total, count = total + value, count + 1

    def program(x: torch.Tensor) -> Any:
        running = mean()
        next(running)
        means = [running.send(chunk.mean()) for chunk in chunks(x, 2)]
        return (
            means,
            sum(chunk.sum() for chunk in chunks(x, 3)),
            max(chunk.shape[0] for chunk in chunks(x, 4)),
        )

    return Story(program, [call(tensor(n)) for n in (6, 6, 7, 9)])


@story
def iterators_of_its_own() -> Story:
    class Loader:
        def __init__(self, items: list[int]) -> None:
            self.items, self.at, self.epochs = items, 0, 0

        def __iter__(self) -> "Loader":
            self.at = 0
            self.epochs += 1
            return self

        def __next__(self) -> int:
            if self.at >= len(self.items):
                raise StopIteration
            self.at += 1
            return self.items[self.at - 1]

        def __reversed__(self) -> Iterator[int]:
            return iter(self.items[::-1])

    loader = Loader([1, 2, 3])

    def program(x: torch.Tensor) -> Any:
        for value in loader:
            x = x + value
        for value in reversed(loader):
            x = x * value
            break
        iter(loader)
        return x, next(loader), list(zip(loader, "ab", strict=False)), next(iter(loader))

    x = tensor(3)
    steps = [*[call(x)] * 4, lambda: loader.items.append(4), call(x), lambda: loader.items.clear(), call(x)]
    return Story(program, steps, lambda: (loader.at, loader.epochs), served=2)


@story
def itertools_and_operators() -> Story:
    weights = [1.0, 2.0, 3.0]
    scale = functools.partial(lambda a, x, y=0: a * x + y, 2.0)
    steps_of: list[Any] = [scale, operator.neg, operator.methodcaller("clamp", -1, 1)]

    def program(parts: list[torch.Tensor]) -> Any:
        total = torch.zeros(3)
        for a, b in itertools.pairwise(parts):
            total = total + a * b
        for i, (a, sign) in enumerate(zip(parts, itertools.cycle([1, -1]), strict=False)):
            total = total + a * sign * i
        total = functools.reduce(lambda value, step: step(value), steps_of, total)
        groups = {odd: list(some) for odd, some in itertools.groupby(sorted(weights), key=lambda w: w % 2)}
        return (
            total,
            groups,
            list(itertools.accumulate(weights, operator.mul)),
            min(weights, key=operator.neg),
        )

    parts = [tensor(3), tensor(3) + 1, tensor(3) * 2]
    steps = [
        call(parts),
        call(parts),
        lambda: weights.append(4.0),
        call(parts),
        lambda: steps_of.__setitem__(1, operator.pos),
        call(parts),
        call(parts[:2]),
    ]
    return Story(program, steps)


@story
def exceptions_caught_and_not() -> Story:
    class Refused(Exception):
        def __init__(self, code: int) -> None:
            super().__init__(f"code {code}")
            self.code = code

    log: list[Any] = []
    limit = [5]

    def checked(n: int) -> int:
        if n > limit[0]:
            raise Refused(n)
        return n

    def program(x: torch.Tensor, raises: bool = False) -> Any:
        try:
            try:
                n = checked(x.shape[0])
            except Refused as error:
                log.append(error.code)
                raise RuntimeError("outer") from error
            else:
                log.append("ok")
            finally:
                log.append("finally")
        except RuntimeError as error:
            if raises:
                raise
            return x * 0, str(error), error.__cause__.code  # type: ignore[union-attr]
        return x * n

    small, large = tensor(3), tensor(7)
    steps = [
        call(small),
        call(small),
        call(large),
        call(large),
        call(large, raises=True),
        lambda: limit.__setitem__(0, 2),
        call(small),
        call(small, raises=True),
        call(small),
    ]
    return Story(program, steps, lambda: log, served=3)


@story
def events() -> Story:
    handlers: defaultdict[str, list[Any]] = defaultdict(list)
    seen: list[Any] = []

    def emit(event: str, *arguments: Any, **keywords: Any) -> list[Any]:
        return [handler(*arguments, **keywords) for handler in handlers[event]]

    handlers["before"].append(lambda x: seen.append(("before", x.shape[0])))
    handlers["after"].append(lambda x, scale=1: x * scale)

    def program(x: torch.Tensor) -> Any:
        emit("before", x)
        emit("never")
        return emit("after", x, scale=3)

    x = tensor(3)
    steps = [
        *[call(x)] * 3,
        lambda: handlers["after"].append(lambda x, scale: x - scale),
        *[call(x)] * 2,
        handlers.clear,
        call(x),
    ]
    return Story(program, steps, lambda: (seen, list(handlers)), served=2)


@story
def logs() -> Story:
    logger = logging.Logger("stator.tests.stories", logging.INFO)
    records: list[str] = []

    class Keeps(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    logger.addHandler(Keeps())

    def program(x: torch.Tensor) -> torch.Tensor:
        logger.debug("shape %s", tuple(x.shape))
        y = x * 2
        if y.shape[0] > 3:
            logger.info("%d rows", y.shape[0])
        return y + 1

    steps = [
        call(tensor(3)),
        call(tensor(3)),
        call(tensor(5)),
        lambda: logger.setLevel(logging.DEBUG),
        call(tensor(3)),
        lambda: logger.setLevel(logging.ERROR),
        call(tensor(5)),
        call(tensor(5)),
    ]
    return Story(program, steps, lambda: records, whole=False)


@story
def text_and_patterns() -> Story:
    names = {"m": "model"}
    patterns = [re.compile(r"(?P<kind>\w+)\((\d+)\)")]

    def program(x: torch.Tensor, spec: str, step: int) -> Any:
        found = patterns[0].match(spec)
        if found is None:
            return x, spec.partition("("), patterns[0].findall(spec)
        tag = f"{names['m']}/{step:04d}/{x.shape[0]}x{x.ndim}"
        formatted = "{a}-{b:>6.2f}|{c!r}".format(a=names["m"], b=step / 3, c="q")
        y = getattr(torch, found["kind"])(x) * int(found.group(2))
        return (
            y,
            tag,
            formatted,
            found.span(),
            patterns[0].sub("-", spec),
            [m.end() for m in patterns[0].finditer(spec)],
        )

    x = tensor(3)
    steps = [
        call(x, "relu(3)", 1),
        call(x, "relu(3)", 1),
        call(x, "sin(4)", 2),
        call(x, "none", 2),
        lambda: names.update(m="other"),
        call(x, "relu(3)", 1),
        lambda: patterns.clear() or patterns.append(re.compile(r"(?P<kind>[a-z]+)\(()3")),
        call(x, "relu(3)", 1),
        lambda: patterns.clear() or patterns.append(re.compile(r"(?P<kind>[a-c]+)\(()3")),
        call(x, "relu(3)", 1),
    ]
    return Story(program, steps)
