"""contextlib and context managers of the program's own."""

import contextlib
import types
from collections.abc import Iterator
from typing import Any

from captured.case import Change, Program, case


@case
def contextmanager() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> Any:
        log: list[int] = []
        with contextlib.suppress(KeyError), plain(n, log) as value:
            log.append(value)
        return log

    @contextlib.contextmanager
    def plain(n: int, log: list[int]) -> Iterator[int]:
        log.append(-1)
        try:
            yield n + box.k
        finally:
            log.append(-2)

    return program, lambda: setattr(box, "k", 5)


@case
def contextmanager_with_an_exception() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    @contextlib.contextmanager
    def swallowing(log: list[str]) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            log.append(str(error))

    def program(n: int) -> Any:
        log: list[str] = []
        with swallowing(log):
            raise ValueError(f"{n} {box.k}")
        return log

    return program, lambda: setattr(box, "k", 2)


@case
def exit_stack() -> tuple[Program, Change]:
    class Manager:
        def __init__(self, name: str, log: list[str]) -> None:
            self.name, self.log = name, log

        def __enter__(self) -> str:
            self.log.append("enter " + self.name)
            return self.name

        def __exit__(self, *error: object) -> None:
            self.log.append("exit " + self.name)

    names = ["a", "b"]

    def program(n: int) -> Any:
        log: list[str] = []
        with contextlib.ExitStack() as stack:
            for name in names:
                log.append(stack.enter_context(Manager(name, log)))
            stack.callback(log.append, "callback")
        return log

    return program, lambda: names.append("c")


@case
def nullcontext() -> tuple[Program, Change]:
    flags = {"on": False}

    def program(n: int) -> int:
        with contextlib.nullcontext(n) if not flags["on"] else contextlib.nullcontext(-n) as value:
            return value

    return program, lambda: flags.update(on=True)


@case
def user_context_manager() -> tuple[Program, Change]:
    class Manager:
        depth = 1

        def __enter__(self) -> "Manager":
            return self

        def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
            return kind is KeyError

    manager = Manager()

    def program(n: int) -> int:
        with manager as entered:
            if n > 0:
                raise KeyError(n)
        return n + entered.depth

    return program, lambda: setattr(Manager, "depth", 4)
