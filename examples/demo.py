"""examples/demo.py: one small program under CPython and under Stator, side by side (`make demo`)."""

import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import stator

sys.path.insert(0, str(Path(__file__).parent))
import bank

ROUNDS = 20_000


class Run(NamedTuple):
    """What one run of the program showed."""

    result: tuple[dict[str, int], int, str]
    seconds: float
    error: str


def run(trade: Callable[[int], tuple[dict[str, int], int, str]], fail: Callable[[], object]) -> Run:
    """Time the program (the best of three), then let an exception come out of it."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        result = trade(ROUNDS)
        seconds.append(time.perf_counter() - start)
    try:
        fail()
    except bank.Overdrawn as error:
        # From the frame of the program on: the demo's own frame is not what is compared.
        below = error.__traceback__.tb_next if error.__traceback__ else None
        lines = traceback.format_exception(type(error), error, below)
    return Run(result, min(seconds), "".join(lines).replace(str(Path(__file__).parent), "examples"))


def overdraw() -> None:
    """Raise out of nested frames and a context manager."""
    account = bank.Account("Ada", 10)
    with bank.all_or_nothing(account):
        account.move(-11)


def show(plain: Run, interpreted: Run, frames: stator.Statistics) -> None:
    """Print both runs as a table, with rich where it is installed."""
    same = "same" if plain.result == interpreted.result else "DIFFERENT"
    same_error = "same" if plain.error == interpreted.error else "DIFFERENT"
    rows = [
        ("balances", str(plain.result[0]), same),
        ("refused", f"{plain.result[1]:,} transfers", same),
        ("uncaught error", plain.error.strip().splitlines()[-1], same_error),
        ("frames run", "all", f"{frames.finished:,} of {frames.frames:,} by Stator"),
        ("handed over", "", f"{frames.handed_over:,} of them to CPython"),
        ("time", f"{plain.seconds * 1e3:.1f} ms", f"{interpreted.seconds * 1e3:.1f} ms"),
    ]
    title = f"examples/bank.py, trade({ROUNDS:,})"
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(title)
        for name, left, right in rows:
            print(f"  {name:16} {left:48} {right}")
        print(interpreted.error)
        return
    table = Table("", "CPython " + sys.version.split()[0], "Stator", title=title)
    for row in rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print("[bold]The traceback under Stator[/bold] (its own frames do not appear):")
    console.print(interpreted.error, markup=False, highlight=False)


def main() -> int:
    """Run both, compare, and exit with 1 when they differ."""
    plain = run(bank.trade, overdraw)
    stator.reset_statistics()
    interpreted = run(stator.interpret(bank.trade), stator.interpret(overdraw))
    show(plain, interpreted, stator.statistics())
    return int(plain[::2] != interpreted[::2])


if __name__ == "__main__":
    sys.exit(main())
