"""`python -m stator`: run a program whose torch.compile uses Stator."""

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

import stator

_USAGE = """\
python -m stator run script.py [argument ...]
       python -m stator run -m module [argument ...]
       python -m stator --version"""
_DESCRIPTION = """\
run: the program as `python` would run it, with torch.compile, nn.Module.compile and torch._dynamo.optimize
using Stator, also in processes that it starts. STATOR=1 in the environment does the same."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(
        "python -m stator",
        usage=_USAGE,
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stator {stator.__version__}")
    parser.add_argument("command", choices=["run"], help=argparse.SUPPRESS)
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    if not arguments:
        parser.print_help()
        return 0
    given = parser.parse_args(arguments)
    program: list[str] = given.program
    is_module = program[:1] == ["-m"]
    if len(program) < 1 + is_module or (program[0].startswith("-") and not is_module):
        parser.error("run needs a script, or -m and a module")
    os.environ["STATOR"] = "1"
    stator.install()
    if is_module:
        sys.argv = program[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        sys.path[0] = os.path.dirname(os.path.abspath(program[0]))
        runpy.run_path(program[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
