"""The page of explain: what stands in it, and how a browser shows it."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import stator
import torch
from stator.report.source import excerpts

ROOT = Path(__file__).resolve().parents[2]
X = torch.ones(2, 3)


def inner(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x) + 1


def broken(x: torch.Tensor) -> torch.Tensor:
    y = inner(x)
    os.getloadavg()
    return y * 2


def line_of(function: object, offset: int) -> int:
    return int(function.__code__.co_firstlineno) + offset  # type: ignore[attr-defined]


class Rows(HTMLParser):
    """The class and text of each row of a table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, str]] = []
        self._kind: str | None = None
        self._text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._text += " "
        if tag == "tr":
            self._kind, self._text = dict(attrs).get("class") or "", ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr" and self._kind is not None:
            self.rows.append((self._kind, " ".join(self._text.split())))
            self._kind = None


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_source_lines_are_marked(backend: str) -> None:
    output = stator.explain(stator.compile(broken, backend=backend))(X)
    rows = Rows(output.html()).rows
    assert ("captured", f"{line_of(inner, 1)} 2 return torch.nn.functional.gelu(x) + 1") in rows
    assert ("reached", f"{line_of(broken, 1)} y = inner(x)") in rows
    assert ("break", f"{line_of(broken, 2)} ✕ os.getloadavg()") in rows
    assert ("captured", f"{line_of(broken, 3)} 1 return y * 2") in rows


def test_what_stands_in_it(tmp_path: Path) -> None:
    output = stator.explain(broken)(X)
    text = output.html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == text
    for expected in (
        "unknown-function",  # the reason
        "wrap it in stator.disable",  # its hint
        "before the break, broken, test_explain_page.py",  # a segment
        "aten::gelu",  # a graph
        "L[&#34;x&#34;] is Tensor float [2, 3]",  # a guard
        f"test_explain_page.py:{line_of(broken, 0)} in broken",  # its line
    ):
        assert expected in text, expected
    assert "&lt;script" not in text.lower()


def test_it_stands_alone() -> None:
    """Nothing is loaded from anywhere: no address, no import, no file."""
    text = stator.explain(broken)(X).html()
    assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)", text)
    assert not re.findall(r"https?://|@import|url\(", text)


def test_what_the_program_says_is_text() -> None:
    """Names and constants of the program are no markup."""
    space: dict[str, object] = {"torch": torch}
    exec("def f(x, mark='<img src=x onerror=alert(1)>'):\n    return x + len(mark)", space)
    assert "<img" not in stator.explain(space["f"])(X).html()


def test_recompiles_and_hits_of_a_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch\n"
        "@torch.compile(backend='eager')\n"
        "def scaled(x, name):\n"
        "    return x * len(name)\n"
        "@torch.compile(backend='eager')\n"
        "def unused(x):\n"
        "    return x\n"
        "for name in ('a', 'bc', 'bc'):\n"
        "    scaled(torch.ones(2), name)\n"
        "torch.compiler.reset()\n"
        "scaled(torch.ones(2), 'after')\n"
        "print(sys.argv[1:])\n"
        "sys.exit(3)\n"
    )
    page = tmp_path / "page.html"
    command = ["-m", "stator", "report", "-o", str(page), str(program), "--flag", "-o"]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (3, "['--flag', '-o']\n"), done.stderr
    assert str(page) in done.stderr
    text = page.read_text()
    assert "L[&#34;name&#34;] == &#39;a&#39;" in text.split("Captured again")[-1]
    assert "Compiled and never called: unused (" in text
    assert "&#39;after&#39;" in text
    assert text.count('<section id="f') == 2  # before the reset and after it
    assert ("captured", "4 1 return x * len(name)") in Rows(text).rows


def test_excerpts_are_the_innermost_functions() -> None:
    def outer() -> object:
        """Not part of what runs."""

        def runs(x: torch.Tensor) -> torch.Tensor:
            try:
                return x.sin()
            finally:
                pass

        return runs

    (excerpt,) = excerpts(stator.explain(outer())(X))  # type: ignore[arg-type]
    assert excerpt.title.endswith("outer.runs")
    assert [line.text.strip() for line in excerpt.lines][:3] == [
        "def runs(x: torch.Tensor) -> torch.Tensor:",
        "try:",
        "return x.sin()",
    ]


def test_in_a_notebook() -> None:
    shown = stator.explain(broken)(X)._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "os.getloadavg" in shown


def chromium() -> str:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no chromium on this machine (Debian: apt-get install chromium)")
    return found


SIZE = "1000,1400"


def browser(tmp_path: Path, *arguments: str) -> str:
    done = subprocess.run(
        [
            chromium(),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
            # Any address but the file's own is a dead end.
            *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}"),
            f"--window-size={SIZE}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout


def test_in_a_browser(tmp_path: Path) -> None:
    """The page opened at a graph: its script opens the graph, nothing is wider than the window."""
    page = tmp_path / "page.html"
    text = stator.explain(broken)(X).html()
    probe = (
        "<script>addEventListener('load', () => setTimeout(() => { document.title = JSON.stringify(["
        "document.getElementById('f1g1').open, document.getElementById('f1g2').open, "
        "document.documentElement.scrollWidth <= innerWidth, document.getElementById('breaks').textContent, "
        "getComputedStyle(document.querySelector('tr.break td')).backgroundColor, "
        "getComputedStyle(document.querySelector('tr.captured td')).backgroundColor]) }, 100))</script>"
    )
    page.write_text(text.replace("</body>", f"{probe}</body>"))
    shown = browser(tmp_path, "--dump-dom", "--virtual-time-budget=3000", f"{page.as_uri()}#f1g1")
    title = re.search(r"<title>(.*?)</title>", shown)
    assert title is not None
    found = title[1].replace("&quot;", '"')
    assert found.startswith('[true,false,true,"1",'), found
    *_, broken_colour, captured_colour = re.findall(r'"([^"]*)"', found)
    assert broken_colour != captured_colour
