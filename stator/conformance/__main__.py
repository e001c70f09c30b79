"""`python -m stator.conformance [MODULE...]`: is Stator's interpreter told from CPython by its tests?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from stator.conformance import lists, report
from stator.conformance.child_process import (
    Choice,
    Under,
    prepare_this_process,
    run_past_breaks,
    stop_everything,
)
from stator.conformance.compare import Comparison, compare
from stator.conformance.plain_cache import PlainRuns, ends_in_time
from stator.conformance.python import NoSuchModule, Python, default_executable

# A Python that comes without some of its tests proves too little.
LEAST_MODULES = {"3.11": 400, "3.12": 350, "3.13": 350}


@dataclass
class Session:
    """What every module's comparison needs to know."""

    plain: PlainRuns
    under: Under | None  # None: the plain side only
    limit: float
    only_ending: bool
    tries: int
    unequal: dict[str, str]

    def module(self, name: str) -> Comparison:
        runs = self.plain.get(name, limit=self.limit, only_ending=self.only_ending)
        seconds = max(run.seconds for run in runs)
        if self.only_ending and not all(ends_in_time(run) for run in runs):
            bad = next(run for run in runs if not ends_in_time(run))
            return Comparison(name, left_out=bad.why_not_passed(), plain_seconds=seconds)
        if self.under is None:
            passes = all(run.passed for run in runs)
            return Comparison(name, left_out="only run plainly", plain_seconds=seconds, passes=passes)
        plain = self.plain
        limit = min(self.limit, 60 + 6 * seconds)  # a hang is told early
        choice = Choice(plain.match, tuple(self.unequal))
        whole, breaks = run_past_breaks(plain.python, name, self.under, limit, self.tries, choice)
        return compare(name, (runs[0], runs[1]), whole, breaks, self.unequal)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m stator.conformance", description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="such as test_grammar; none: all")
    parser.add_argument(
        "--mode",
        default="interpret",
        choices=("interpret", "capture"),
        help="interpret every frame, or capture every function, roll it back and serve it",
    )
    parser.add_argument(
        "--breaks", type=int, default=0, metavar="N", help="captures break at one of N instructions, drawn"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the breaks that are drawn")
    parser.add_argument("--selection", metavar="NAME", help="a fixed selection of modules: fast")
    parser.add_argument("-k", "--match", default="*", metavar="PATTERN", help="only tests such as '*.test_a'")
    parser.add_argument("--jobs", type=int, default=2, help="modules run at once")
    parser.add_argument("--timeout", type=float, default=300.0, help="most seconds for one run of one module")
    parser.add_argument("--tries", type=int, default=3, help="runs of the rest of a module after breaks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything found to FILE")
    parser.add_argument("--plain-cache", type=Path, metavar="DIR", help="keep plain outcomes in DIR")
    parser.add_argument("--plain-only", action="store_true", help="run the plain side only")
    parser.add_argument("--list", action="store_true", help="list the modules and stop")
    parser.add_argument("--python", default=default_executable(), help="the Python under test")
    parser.add_argument("--package", default="test", help="the package that holds the tests")
    parser.add_argument("--path", action="append", default=[], help="a directory to find it in")
    parser.add_argument("--capture", type=Path, help="the extension to use instead of the built one")
    parser.add_argument("--unequal", type=Path, default=lists.UNEQUAL, help="another list of unequal tests")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="reasons and times; twice: tracebacks"
    )
    return parser.parse_args(arguments)


def _modules(options: argparse.Namespace, python: Python) -> list[str]:
    if options.modules:
        return [python.module(name) for name in options.modules]
    if options.selection:
        names = lists.selection(options.selection)
        everything = set(python.all_modules())
        return [name for name in names if name in everything]
    return python.all_modules()


def main(arguments: Sequence[str] | None = None) -> int:
    options = _arguments(arguments)
    try:
        python = Python.ask(options.python, options.package, tuple(options.path))
        modules = _modules(options, python)
    except NoSuchModule as error:
        print(error, file=sys.stderr)
        return 2
    if options.list:
        print("\n".join(modules))
        return 0
    capture = None if options.plain_only else options.capture or python.extension()
    if capture is None and not options.plain_only:
        print(f"no stator._capture is built for Python {python.version}", file=sys.stderr)
        return 2
    unequal = lists.unequal(python.short_version, options.unequal)
    if options.mode == "capture":
        unequal |= lists.unequal(python.short_version, lists.UNEQUAL_CAPTURED)
    prepare_this_process()
    session = Session(
        PlainRuns(python, options.plain_cache, options.match),
        Under(capture.resolve(), options.mode, options.breaks, options.seed) if capture else None,
        options.timeout,
        only_ending=not options.modules,
        tries=options.tries,
        unequal=unequal,
    )
    print(f"Python {python.version}, {python.executable}", flush=True)
    results = []
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        running = [pool.submit(session.module, name) for name in modules]
        try:
            for future in as_completed(running):
                result = future.result()
                results.append(result)
                for line in report.module_lines(result, options.verbose):
                    print(line, flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            stop_everything()
            raise
    results.sort(key=lambda result: result.module)
    if options.json:
        report.write_json(results, options.json)
    if options.plain_only:
        return 0
    lines, good = report.total_lines(results, options.verbose, options.mode)
    everything = not options.modules and not options.selection and options.package == "test"
    passing = sum(result.passes for result in results if not result.left_out)
    if everything and passing < (least := LEAST_MODULES.get(python.short_version, 0)):
        lines.append(f"fewer than {least} modules pass plainly here")
        good = False
    print("\n".join(lines), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
