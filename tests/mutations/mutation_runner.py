"""Reader x place x change: many generated cases in processes that may crash or hang without ending the run.

`python tests/mutations/mutation_runner.py [--cases 50000] [--seed 0] [--jobs 2] [--report FILE]` prints
what is stale, wrong, crashed or left a tracer behind, each as a program that runs alone, and then exits
with 1.
"""

from __future__ import annotations

import argparse
import collections
import gc
import multiprocessing
import multiprocessing.connection
import os
import random
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import mutation_cases
import mutation_generator
import mutation_readers
from mutation_cases import Case

CPU_LIMIT, WALL_LIMIT = 20.0, 300.0  # seconds without a sign of life: of work, and of waiting
ENOUGH = 400  # programs of one process: then a new one, as memory of worlds may be kept
BAD = ("stale", "wrong", "tracer", "crashed", "hung")


@dataclass
class Finding:
    status: str
    case: Case
    detail: str
    program: int


@dataclass
class Summary:
    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    findings: list[Finding] = field(default_factory=list)
    readers: collections.Counter[str] = field(default_factory=collections.Counter)
    report: Path | None = None  # where each finding goes as soon as it is made

    def add(self, status: str, served: bool, case: Case, detail: str, program: int) -> None:
        self.counts["cases"] += 1
        self.counts[status] += 1
        self.counts["served"] += served
        self.counts["visible"] += case.visible
        self.counts["both"] += served and case.visible
        self.readers[case.reader] += served
        if status in BAD:
            self.findings.append(Finding(status, case, detail, program))
            if self.report is not None:
                with self.report.open("a") as file:
                    file.write(f"{text_of(self.findings[-1])}\n\n")

    def lines(self) -> list[str]:
        c = self.counts
        readers = sum(1 for served in self.readers.values() if served)
        return [
            f"{c['visible']} changes alter eager's answer, {c['both']} of them after a capture had served; "
            f"{c['cases'] - c['served']} cases were never captured and prove nothing; "
            f"{readers} of {len(self.readers)} readers were served; "
            f"{c['unstable']} cases differ between two eager worlds",
            f"{c['cases']} cases, {c['served']} served, {c['stale'] + c['wrong']} stale, "
            f"{c['crashed'] + c['hung']} crashed, {c['tracer']} tracers",
        ]


def work(seed: int, only: str, programs: list[int], pipe: Any) -> None:
    """A process: makes and runs the cases of programs, telling each step."""
    mutation_cases.prepare()
    for count, program in enumerate(programs):
        pipe.send(("program", program))
        rng = random.Random(f"{seed}:{program}")
        for case in mutation_generator.cases(rng, only):
            pipe.send(("run", case))
            outcome = mutation_cases.run(case)
            pipe.send(("done", (outcome.status, outcome.served, outcome.detail)))
            # Wrong before any change: the next case would say it again. Not captured: nor would that one be.
            if outcome.status in ("wrong", "tracer") or not outcome.served:
                break
        if count % 50 == 49:
            gc.collect()
    pipe.send(("end", None))


class Shard:
    """A share of the programs, and the process that works on them."""

    def __init__(self, seed: int, only: str, programs: list[int], summary: Summary) -> None:
        self.seed, self.only, self.programs, self.summary = seed, only, programs, summary
        self.case: Case | None = None
        self.program = -1
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe(duplex=False)
        self.process = context.Process(
            target=work, args=(self.seed, self.only, self.programs[:ENOUGH], theirs), daemon=True
        )
        self.process.start()
        theirs.close()
        self.heard, self.worked = time.monotonic(), 0.0

    def step(self) -> bool:
        """Takes one message; whether there is more to come."""
        self.heard, self.worked = time.monotonic(), self.cpu_seconds()
        try:
            what, told = self.pipe.recv()
        except EOFError:
            return self.lost("crashed")
        if what == "program":
            self.program = told
            self.programs.remove(told)
        elif what == "run":
            self.case = told
        elif what == "done" and self.case is not None:
            status, served, detail = told
            self.summary.add(status, served, self.case, detail, self.program)
            self.case = None
        elif what == "end":
            return self.again()
        return True

    def cpu_seconds(self) -> float:
        """A busy machine makes a process wait: that is no hang."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def is_silent(self) -> bool:
        waited = time.monotonic() - self.heard
        return waited > WALL_LIMIT or (waited > 1 and self.cpu_seconds() - self.worked > CPU_LIMIT)

    def again(self) -> bool:
        self.process.join(5)
        if not self.programs:
            return False
        self.start()
        return True

    def lost(self, how: str) -> bool:
        """The process has died or does not answer: a finding if the captured program ran."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        code = self.process.exitcode or 0
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        if self.case is not None:
            self.summary.add(how, False, self.case, f"{how}: {name}", self.program)
            self.case = None
        return self.again()


def run(seed: int, wanted: int, jobs: int, report: Path | None = None, only: str = "") -> Summary:
    """As many cases as wanted, of the programs 0, 1, 2, … of this seed."""
    summary = Summary(report=report)
    mutation_readers.readers()  # once, before processes are forked
    programs = list(range(wanted * 3))  # some have no fitting data
    shards = [Shard(seed, only, programs[i::jobs], summary) for i in range(jobs)]
    shown = time.monotonic()
    while shards:
        ready = multiprocessing.connection.wait([shard.pipe for shard in shards], timeout=1.0)
        for shard in list(shards):
            going = True
            if shard.pipe in ready:
                going = shard.step()
            elif shard.is_silent():
                going = shard.lost("hung")
            if not going:
                shards.remove(shard)
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            print(dict(summary.counts), file=sys.stderr, flush=True)
        if summary.counts["cases"] >= wanted:
            for shard in shards:
                shard.process.kill()
            break
    return summary


def text_of(finding: Finding) -> str:
    case = finding.case
    return (
        f"# {finding.status}; program {finding.program}; reader {case.reader!r}; place {case.place}; "
        f"change {case.change.kind}\n# {finding.detail}\n{case.text()}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=20, help="findings to print whole")
    parser.add_argument("--report", type=Path, help="where all findings go")
    parser.add_argument("--reader", default="", help="only readers whose name contains this")
    options = parser.parse_args()
    summary = run(options.seed, options.cases, options.jobs, options.report, options.reader)
    for finding in summary.findings[: options.show]:
        print(text_of(finding), end="\n\n")
    print("\n".join(summary.lines()))
    return 1 if summary.findings else 0


if __name__ == "__main__":
    sys.exit(main())
