"""`python -m stator`: run a program whose torch.compile uses Stator, and report what was captured of it."""

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import stator

_USAGE = """\
python -m stator run script.py [argument ...]
       python -m stator run -m module [argument ...]
       python -m stator report [-o FILE] script.py [argument ...]
       python -m stator --version"""
_DESCRIPTION = """\
run: the program as `python` would run it, with torch.compile, nn.Module.compile and torch._dynamo.optimize
using Stator, also in processes that it starts. STATOR=1 in the environment does the same.
report: the same, and at its end a page (stator-report.html) of what was captured, where it broke and why,
what is guarded and where time went."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(
        "python -m stator",
        usage=_USAGE,
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stator {stator.__version__}")
    parser.add_argument("command", choices=["run", "report"], help=argparse.SUPPRESS)
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    if not arguments:
        parser.print_help()
        return 0
    given = parser.parse_args(arguments)
    program: list[str] = given.program
    output = Path("stator-report.html")
    # By hand: argparse would look for options among the program's own arguments.
    if given.command == "report" and program[:1] in (["-o"], ["--output"]):
        if len(program) < 2:
            parser.error(f"{program[0]} needs a file")
        output, program = Path(program[1]), program[2:]
    is_module = program[:1] == ["-m"]
    if len(program) < 1 + is_module or (program[0].startswith("-") and not is_module):
        parser.error(f"{given.command} needs a script, or -m and a module")
    os.environ["STATOR"] = "1"
    stator.install()
    if given.command == "run":
        _run(program, is_module)
        return 0
    from stator.report.whole_run import written_to

    with written_to(output.absolute(), " ".join(program[is_module:])):
        _run(program, is_module)
    return 0


def _run(program: list[str], is_module: bool) -> None:
    """As `python` would run it."""
    if is_module:
        sys.argv = program[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
