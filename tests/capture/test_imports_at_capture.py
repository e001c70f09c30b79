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
