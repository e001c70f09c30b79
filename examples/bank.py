"""examples/bank.py: classes, closures, generators, exceptions and `with` in a small program for the demo."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


class Overdrawn(Exception):
    """An account would fall below zero."""


@dataclass
class Account:
    """An account that remembers its movements."""

    owner: str
    balance: int = 0
    movements: list[int] = field(default_factory=list)

    def move(self, amount: int) -> None:
        """Add `amount`, which may be negative."""
        if self.balance + amount < 0:
            raise Overdrawn(f"{self.owner} has {self.balance}, needs {-amount}")
        self.balance += amount
        self.movements.append(amount)


@contextmanager
def all_or_nothing(*accounts: Account) -> Iterator[None]:
    """Undo what happened to the accounts when the body raises."""
    before = [(account, account.balance, len(account.movements)) for account in accounts]
    try:
        yield
    except Overdrawn:
        for account, balance, length in before:
            account.balance = balance
            del account.movements[length:]
        raise


def amounts(seed: int) -> Iterator[int]:
    """An endless stream of pseudo-random amounts."""
    while True:
        seed = (seed * 1103515245 + 12345) % 2**31
        yield seed % 97


def failing(limit: int) -> Callable[[Exception], str]:
    """A function that words failures, at most `limit` characters each."""
    seen: dict[str, int] = {}

    def word(error: Exception) -> str:
        kind = type(error).__name__
        seen[kind] = seen.get(kind, 0) + 1
        return f"{kind} #{seen[kind]}: {error}"[:limit]

    return word


def trade(rounds: int) -> tuple[dict[str, int], int, str]:
    """Move money between three people; the balances, the number of failures and the last one."""
    people = [Account(name, 100) for name in ("Ada", "Grace", "Edsger")]
    word, failures, last = failing(60), 0, ""
    for turn, amount in zip(range(rounds), amounts(7), strict=False):
        payer, payee = people[turn % 3], people[(turn * 2 + 1) % 3]
        try:
            with all_or_nothing(payer, payee):
                payee.move(amount)
                payer.move(-amount)
        except Overdrawn as error:
            failures, last = failures + 1, word(error)
    return {person.owner: person.balance for person in people}, failures, last
