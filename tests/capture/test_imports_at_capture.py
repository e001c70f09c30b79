"""Modules that captured code loads for the first time: before the capture, unless a program would notice."""

import sys
from pathlib import Path

import pytest

from stator._capture import Compiled


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "loaded_late"
    folder.mkdir()
    (folder / "__init__.py").write_text("FACTOR = 2\n")
    (folder / "part.py").write_text("FACTOR = 3\n")
    (folder / "raising.py").write_text("raise ImportError('never')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("loaded_late")]:
        del sys.modules[name]


@pytest.mark.usefixtures("package")
def test_import_of_a_module() -> None:
    def program(x: int) -> int:
        import loaded_late

        return x * loaded_late.FACTOR

    compiled = Compiled(program, fullgraph=True)
    assert [compiled(3), compiled(3)] == [6, 6]
    assert compiled.entries[0]["hits"] == 1


@pytest.mark.usefixtures("package")
def test_import_of_a_submodule() -> None:
    def program(x: int) -> int:
        from loaded_late import part

        return x * part.FACTOR

    compiled = Compiled(program, fullgraph=True)
    assert [compiled(3), compiled(3)] == [9, 9]
    sys.modules["loaded_late.part"].FACTOR = 5  # type: ignore[attr-defined]
    assert compiled(3) == 15


@pytest.mark.usefixtures("package")
def test_a_module_that_cannot_be_loaded() -> None:
    def program(x: int) -> int:
        try:
            import loaded_late.raising  # noqa: F401
        except ImportError:
            return -x
        return x

    compiled = Compiled(program)
    assert [compiled(3), compiled(3)] == [-3, -3]


@pytest.mark.usefixtures("package")
def test_a_module_that_sees_what_the_program_wrote(package: Path) -> None:
    (package / "looking.py").write_text("import loaded_late\nSEEN = loaded_late.FACTOR\n")
    import loaded_late

    def program() -> int:
        loaded_late.FACTOR = 7
        from loaded_late import looking

        return looking.SEEN  # type: ignore[no-any-return]

    assert Compiled(program)() == 7


@pytest.mark.usefixtures("package")
def test_a_module_that_may_see_writes_is_captured_once_it_is_loaded() -> None:
    calls: list[int] = []

    def program(x: int) -> int:
        calls.append(x)
        import loaded_late

        return x * loaded_late.FACTOR

    compiled = Compiled(program)
    assert [compiled(3), compiled(3), compiled(3)] == [6, 6, 6]
    assert calls == [3, 3, 3]
    assert [entry["hits"] for entry in compiled.entries] == [1]
    assert len(compiled.breaks) == 1
    assert "loaded_late" in compiled.breaks[0]


def test_a_module_that_is_never_there_costs_one_attempt() -> None:
    calls: list[int] = []

    def program(x: int) -> int:
        calls.append(x)
        try:
            import there_is_no_such_module  # type: ignore[import-not-found] # noqa: F401
        except ImportError:
            return -x
        return x

    compiled = Compiled(program)
    assert [compiled(n) for n in (1, 2, 3)] == [-1, -2, -3]
    assert calls == [1, 2, 3]
    assert len(compiled.breaks) == 1


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of Python's own that is not loaded."""
    monkeypatch.delitem(sys.modules, "quopri", raising=False)
    return "quopri"


@pytest.mark.usefixtures("forgotten")
def test_pythons_own_modules_do_not_see_what_a_program_wrote() -> None:
    calls: list[int] = []

    def program(x: int) -> str:
        calls.append(x)
        import quopri

        return quopri.__name__ * x

    compiled = Compiled(program, fullgraph=True)
    assert [compiled(2), compiled(2)] == ["quopriquopri"] * 2
    assert calls == [2, 2]
    assert compiled.entries[0]["hits"] == 1


@pytest.mark.usefixtures("forgotten")
def test_pythons_own_modules_see_pythons_own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "seen_by_modules", 1, raising=False)

    def program(x: int) -> int:
        sys.seen_by_modules = x  # type: ignore[attr-defined]
        import quopri

        return len(quopri.__name__) * x

    compiled = Compiled(program)
    assert compiled(2) == 12
    assert len(compiled.entries) == 0
    assert compiled(2) == 12
    assert len(compiled.entries) == 1


@pytest.mark.usefixtures("package")
def test_a_package_loads_a_part_of_itself(package: Path) -> None:
    (package / "lazy.py").write_text(
        "def factor(x):\n    from loaded_late import part\n    return x * part.FACTOR\n"
        "LOADED = False\n"
        "def noting_factor(x):\n    global LOADED\n    LOADED = True\n"
        "    from loaded_late import noted\n    return noted.SEEN\n"
    )
    (package / "noted.py").write_text("from loaded_late import lazy\nSEEN = lazy.LOADED\n")
    from loaded_late import lazy

    calls: list[int] = []

    def program(x: int) -> int:
        calls.append(x)
        return lazy.factor(x)  # type: ignore[no-any-return]

    compiled = Compiled(program, fullgraph=True)
    assert [compiled(3), compiled(3)] == [9, 9]
    assert calls == [3, 3]
    # Here the part may look at what the package wrote.
    noting = Compiled(lambda x: lazy.noting_factor(x))
    assert noting(1) is True
    assert len(noting.entries) == 0
    assert noting(1) is True
    assert len(noting.entries) == 1


@pytest.mark.usefixtures("package")
def test_import_by_name() -> None:
    import importlib

    def program(x: int) -> int:
        return x * importlib.import_module("loaded_late.part").FACTOR  # type: ignore[no-any-return]

    compiled = Compiled(program, fullgraph=True)
    assert [compiled(3), compiled(3)] == [9, 9]
    sys.modules["loaded_late.part"].FACTOR = 5  # type: ignore[attr-defined]
    assert compiled(3) == 15


RELATIVE = """
def beside(x):
    from . import part
    return x * part.FACTOR
def inside(x):
    from .part import FACTOR
    return x * FACTOR
def above(x):
    from .. import part
    return x * part.FACTOR
def beyond(x):
    from ... import part
    return x
"""


def test_relative_imports(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package / "relative.py").write_text(RELATIVE)
    (package / "inner").mkdir()
    (package / "inner" / "__init__.py").write_text(RELATIVE)
    (package / "inner" / "part.py").write_text("FACTOR = 7\n")
    from loaded_late import inner, relative

    for function, factor in [(relative.beside, 3), (relative.inside, 3), (inner.beside, 7), (inner.above, 3)]:
        compiled = Compiled(function, fullgraph=True)
        assert [compiled(2), compiled(2)] == [2 * factor] * 2, function
        assert compiled.entries[0]["hits"] == 1
    with pytest.raises(ImportError, match="beyond top-level package"):
        Compiled(inner.beyond)(2)
    # Another package: another module.
    compiled = Compiled(relative.beside, fullgraph=True)
    assert compiled(2) == 6
    monkeypatch.setattr(relative, "__package__", "loaded_late.inner")
    monkeypatch.setattr(relative, "__spec__", None)
    assert compiled(2) == 14
    monkeypatch.undo()
    # Another module in its place.
    sys.modules["loaded_late.part"].FACTOR = 5  # type: ignore[attr-defined]
    assert compiled(2) == 10


@pytest.mark.usefixtures("package")
def test_a_call_of_import() -> None:
    def program(x: int) -> int:
        part = __import__("loaded_late.part", None, None, ["FACTOR"])
        return x * part.FACTOR + __import__("loaded_late.part").FACTOR  # type: ignore[no-any-return]

    compiled = Compiled(program, fullgraph=True)
    assert [compiled(3), compiled(3)] == [11, 11]
    sys.modules["loaded_late.part"].FACTOR = 5  # type: ignore[attr-defined]
    assert compiled(3) == 17
    named = Compiled(lambda: __import__(name="loaded_late", level=0).FACTOR)
    assert [named(), named(), named()] == [2, 2, 2]
    assert len(named.breaks) == 1
