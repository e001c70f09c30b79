"""What the generator does not make: programs written to catch a capture out (`hostile/*.txt`)."""

import pytest

pytest.importorskip("torch")

from hostile_programs import FOLDER, Program, programs, run
from mutation_cases import prepare

ALL = [(file.stem, program) for file in sorted(FOLDER.glob("*.txt")) for program in programs(file)]
BACKENDS = {"values": ("native", "eager", "aot_eager")}  # of a file; of all others native alone
NEVER_CAPTURED = 3  # of ten programs at most


@pytest.fixture(autouse=True)
def settled() -> None:
    prepare()


@pytest.mark.parametrize(("file", "program"), ALL, ids=[f"{file}: {program.name}" for file, program in ALL])
def test_a_change_is_seen(file: str, program: Program) -> None:
    for backend in BACKENDS.get(file, ("native",)):
        for number in range(max(1, len(program.changes))):
            outcome = run(program, number, backend)
            assert outcome.found is None, (backend, program.changes[number], outcome.found)


def test_most_of_them_are_captured() -> None:
    """Programs that are never captured prove nothing."""
    served = sum(run(program, 0, "native").hits > 0 for _, program in ALL)
    assert served * 10 >= len(ALL) * (10 - NEVER_CAPTURED), (served, len(ALL))
