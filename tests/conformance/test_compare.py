"""The comparison of outcomes, without any process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from stator.conformance import lists, report
from stator.conformance.compare import Comparison, compare, share
from stator.conformance.outcome import Outcome, Run, read_record, read_statistics, settled

OK = Outcome((("ok", ""),))
FAIL = Outcome((("fail", "AssertionError: 1 != 2"),))
SKIP = Outcome((("skip", "no network"),))


def run(broken: str = "", broken_in: str = "", **outcomes: Outcome) -> Run:
    return Run(outcomes=outcomes, broken=broken, broken_in=broken_in)


def test_equal_runs_have_no_difference() -> None:
    one = run(a=OK, b=FAIL, c=SKIP)
    result = compare("m", (one, one), one, [])
    assert (result.same, result.differences, result.good) == (3, [], True)


def test_details_count_but_texts_and_times_do_not() -> None:
    other = Outcome((("fail", "AssertionError: 1 != 3"),))
    slow = Outcome(FAIL.events, "Traceback", 3.0)
    plain = run(a=FAIL, b=FAIL)
    result = compare("m", (plain, plain), run(a=other, b=slow), [])
    assert [difference.test for difference in result.differences] == ["a"]
    assert result.same == 1


def test_what_the_plain_runs_disagree_on_is_left_out() -> None:
    plain = (run(a=OK, b=OK, only_first=OK), run(a=FAIL, b=OK, only_second=OK))
    result = compare("m", plain, run(a=OK, b=OK), [])
    assert result.unstable == ["a", "only_first", "only_second"]
    assert (result.same, result.good) == (1, True)


def test_missing_and_additional_tests_are_differences() -> None:
    plain = run(a=OK, b=OK)
    result = compare("m", (plain, plain), run(a=OK, z=OK), [])
    assert {difference.test for difference in result.differences} == {"b", "z"}


def test_a_break_is_one_difference_and_the_rest_another() -> None:
    plain = run(a=OK, b=OK, c=OK, d=OK)
    broken = run("crash (SIGSEGV)", "b", a=OK)
    result = compare("m", (plain, plain), broken, [broken])
    told = [(difference.test, difference.interpreted) for difference in result.differences]
    assert told == [("b", "crash (SIGSEGV)"), ("m (rest)", "2 tests not run after that")]


def test_listed_tests_are_not_compared() -> None:
    plain = run(a=OK, b=OK)
    result = compare("m", (plain, plain), run(a=FAIL, b=OK), [], {"a": "reads the specialisation"})
    assert (result.listed, result.same, result.good) == (["a"], 1, True)


def test_an_interpreter_that_did_not_load_is_a_difference() -> None:
    plain = run(a=OK)
    interpreted = run(a=OK)
    interpreted.load_failures.append("ImportError: nothing there")
    assert not compare("m", (plain, plain), interpreted, []).good


def test_share_counts_what_was_not_finished() -> None:
    assert share(Counter(finished=95, passed=3, handed_over=2, frames=1000)) == 0.95
    assert share(Counter()) == 0.0


@pytest.mark.parametrize(("finished", "good"), [(95, True), (94, False)])
def test_a_share_below_the_least_is_not_good(finished: int, good: bool) -> None:
    result = Comparison("m", same=1, statistics=Counter(finished=finished, handed_over=100 - finished))
    lines, is_good = report.total_lines([result], verbose=0)
    assert is_good is good
    assert any(f"{finished}.00%" in line for line in lines)


def test_statistics_of_all_processes_are_summed(tmp_path: Path) -> None:
    file = tmp_path / "statistics"
    file.write_text(
        "{'pid': 1, 'finished': 1, 'handover_reasons': {'x': 1}}\n"
        "{'pid': 1, 'finished': 5, 'handover_reasons': {'x': 2}}\n"
        "{'pid': 2, 'finished': 10, 'handover_reasons': {'y': 1}}\n"
        "{'pid': 3, 'finis"
    )
    total = Run()
    read_statistics(file, total)
    assert total.statistics == Counter(finished=15)
    assert total.reasons == Counter(x=2, y=1)


def test_a_record_cut_off_tells_the_running_test(tmp_path: Path) -> None:
    file = tmp_path / "record"
    file.write_text(
        '{"start": "a"}\n{"test": "a", "events": [["ok", ""]], "texts": [], "seconds": 0.1}\n'
        '{"start": "b"}\n{"tes'
    )
    outcomes, running, complete = read_record(file, "")
    assert (outcomes, running, complete) == ({"a": OK}, "b", False)


def test_addresses_and_directories_are_not_compared() -> None:
    assert settled("<f at 0x7f00deadbeef> in /tmp/stx1/tmp", "/tmp/stx1") == "<f at 0x…> in …/tmp"
    assert settled("0x1f is 31") == "0x1f is 31"


def test_the_list_of_unequal_tests_keeps_its_rules(tmp_path: Path) -> None:
    for version in ("3.11", "3.12", "3.13"):
        assert len(lists.unequal(version)) <= lists.MOST_UNEQUAL
    file = tmp_path / "list"
    file.write_text("# a note\n3.11,3.12 m.C.t reads the specialisation\nall m.C.u why\n")
    assert lists.unequal("3.11", file) == {"m.C.t": "reads the specialisation", "m.C.u": "why"}
    assert lists.unequal("3.13", file) == {"m.C.u": "why"}
    file.write_text("3.11 m.C.t\n")
    with pytest.raises(lists.BadList):
        lists.unequal("3.11", file)
    file.write_text("all m.C.t why\n" * 41)
    with pytest.raises(lists.BadList):
        lists.unequal("3.11", file)


def test_no_module_stands_twice_in_the_fast_selection() -> None:
    names = lists.selection("fast")
    assert len(names) == len(set(names)) >= 40
