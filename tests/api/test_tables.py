"""Every row of a table is used: a row that nothing asks for is knowledge that nobody checks."""

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "src"


def rows(table: str, macro: str) -> list[list[str]]:
    """The arguments of each row, up to the first one that holds a parenthesis."""
    text = re.sub(r"//.*", "", (SOURCES / table).read_text())
    found = re.findall(rf"\b{macro}\(([^()]*)", text)
    return [[part.strip().strip('"') for part in row.split(",")] for row in found]


def names_in_use(table: str) -> set[str]:
    texts = (path.read_text() for path in SOURCES.rglob("*") if path.suffix in (".cpp", ".h", ".inc", ".c"))
    return set(re.findall(r"\bk[A-Z]\w*", "\n".join(texts)))


@pytest.mark.parametrize(
    ("table", "macro"),
    [("core/break_reasons.def", "STATOR_BREAK"), ("core/ir/ops.def", "STATOR_OP")],
)
def test_every_row_is_used_by_the_engine(table: str, macro: str) -> None:
    identifiers = [row[0] for row in rows(table, macro)]
    assert identifiers
    assert sorted(set(identifiers) - names_in_use(table)) == []


def test_functions_of_floats_exist_in_python() -> None:
    for _, module, name, *_ in rows("core/shape/real_functions.def", "REAL_FUNCTION"):
        assert hasattr(importlib.import_module(module), name), name


def test_operators_with_hidden_effects_exist_in_torch() -> None:
    torch = pytest.importorskip("torch")
    for name, *_ in rows("core/ir/hidden_effects.def", "STATOR_HIDDEN_EFFECT"):
        operator, _, overload = name.removeprefix("aten::").partition(".")
        packet = getattr(torch.ops.aten, operator)
        assert not overload or hasattr(packet, overload), name


OLDER = {"has_names"}  # gone in torch 2.13, and there in 2.11


def test_callables_of_torch_exist() -> None:
    torch = pytest.importorskip("torch")
    holders = [torch, torch.amp, torch._C, torch._C._functorch, torch._C._nn, torch._C._autograd]
    holders += [torch._C._VariableFunctions, torch.Tensor, torch._C.TensorBase, torch.cuda, torch.jit]
    holders += [torch._C._SymNode]
    names = [row[0] for row in rows("torch/domain/callables.def", "STATOR_FUNCTION")]
    assert names
    # A build without CUDA lacks what asks for it.
    missing = [name for name in names if not any(hasattr(holder, name) for holder in holders)]
    assert [name for name in missing if "cuda" not in name and name not in OLDER] == []
    methods = [row[0] for row in rows("torch/domain/callables.def", "STATOR_METHOD")]
    assert [name for name in methods if not hasattr(torch.Tensor, name) and name not in OLDER] == []


def schema_of(name: str) -> Any:
    """Of an operator by its full name; None if torch has none."""
    torch = pytest.importorskip("torch")
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    importlib.import_module("torch._prims")
    packet = getattr(getattr(torch.ops, namespace), base, None)
    operator = getattr(packet, overload or "default", None)
    return None if operator is None else operator._schema


@pytest.mark.parametrize(
    ("table", "macro", "columns"),
    [
        ("core/pass/decompositions.def", "STATOR_DECOMPOSITION", (0,)),
        ("core/pass/in_place_operators.def", "STATOR_IN_PLACE", (0, 1)),
        ("core/pass/inverse_views.def", "STATOR_INVERSE_VIEW", (0,)),
        ("backends/openxla/emit/rules.def", "STATOR_RULE", (0,)),
        ("backends/openxla/emit/rules.def", "STATOR_RULE_TEMPLATE", (0,)),
    ],
)
def test_operators_of_compilers_exist_in_torch(table: str, macro: str, columns: tuple[int, ...]) -> None:
    names = {row[column] for row in rows(table, macro) for column in columns if "::" in row[column]}
    assert names
    assert [name for name in sorted(names) if schema_of(name) is None] == []


def test_functions_of_decompositions_name_every_argument() -> None:
    """The table of operators keeps the first description of one: it must be whole."""
    text = (SOURCES / "core/pass/decomposition_functions.def").read_text()
    found = re.findall(r'STATOR_FUNCTION\("\w+", "([^"]*)", "([^"]*)", "([^"]*)"', text)
    assert found
    for *operators, arguments in found:
        for name in filter(None, operators):
            schema = schema_of(name)
            assert schema is not None, name
            assert [argument.name for argument in schema.arguments] == arguments.split(","), name


def test_every_kind_of_object_has_its_file_and_every_file_its_row() -> None:
    table = [row for row in rows("capture/objects/objects.def", "OBJECT_KIND") if row[0] != "kind"]
    listed = {file: kind for kind, file in table}
    folder = SOURCES / "capture/objects"
    for file, kind in listed.items():
        assert f"struct {kind} " in (folder / f"{file}.h").read_text(), file
        assert (folder / f"{file}.cpp").exists(), file
    defined = {path.stem for path in folder.glob("*.h") if "static bool includes(" in path.read_text()}
    assert defined == set(listed)


TORCH_WORDS = r"requires_grad|autograd|asks_gradient|\bscript"


def test_the_capture_layer_knows_no_word_of_torch() -> None:
    """What torch means by its names is said by the domain."""
    found = [
        f"{path.relative_to(SOURCES)}: {line.strip()}"
        for path in (SOURCES / "capture").rglob("*.*")
        for line in path.read_text().splitlines()
        if re.search(TORCH_WORDS, line.split("//")[0], re.IGNORECASE)
    ]
    assert found == []
