"""Arguments: which objects may differ from call to call, and which ones are one and the same."""

import collections
import dataclasses
import enum
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

capture = importlib.import_module("stator._capture")


@dataclasses.dataclass
class Item:
    name: str
    sizes: list[int]
    factor: int = 2

    def total(self) -> int:
        return sum(self.sizes) * self.factor


class Pair(NamedTuple):
    first: int
    rest: list[int]


class Node:
    shared = 1

    def __init__(self, *children: "Node") -> None:
        self.children = list(children)
        self.flags = {"leaf"} if not children else set()
        self.table = collections.OrderedDict(a=len(children), b=[1])

    def count(self) -> int:
        return self.shared + sum(child.count() for child in self.children)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


def check(function: Callable[..., Any], make: Callable[[], tuple[Any, ...]], captures: int) -> None:
    """Calls with new arguments each time give what plain calls give, and do the same to their arguments."""
    compiled = capture.Compiled(function, limit=4)
    for _ in range(6):
        given, wanted = make(), make()
        assert repr(compiled(*given)) == repr(function(*wanted))
        assert repr(given) == repr(wanted)
    assert compiled.breaks == []
    assert len(compiled.entries) == captures


def test_dataclass() -> None:
    def function(item: Item) -> int:
        item.sizes.append(item.total())
        item.name = item.name.upper()
        return item.total()

    check(function, lambda: (Item("a", [1, 2]),), captures=1)


def test_named_tuple() -> None:
    def function(pair: Pair) -> Any:
        pair.rest.append(pair.first)
        return pair._replace(first=len(pair.rest)), pair.first, isinstance(pair, Pair)

    check(function, lambda: (Pair(1, [2, 3]),), captures=1)


def show_node(node: Node) -> str:
    return f"Node({node.__dict__})"


def test_instances_that_change_become_known_by_their_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Node, "__repr__", show_node, raising=False)

    def function(node: Node) -> Any:
        node.table["c"] = node.count()
        node.children[0].flags.add("seen")
        node.seen = node.children[1]  # type: ignore[attr-defined]
        return node.count(), node.table["a"], node is node.children[0]

    check(function, lambda: (Node(Node(), Node(Node())),), captures=2)


def test_the_argument_itself_is_returned() -> None:
    compiled = capture.Compiled(lambda node: (node, node.children))
    for _ in range(4):
        node = Node(Node())
        result, children = compiled(node)
        assert (result is node, children is node.children) == (True, True)


def test_class_of_an_argument_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = capture.Compiled(lambda node: node.count())
    assert [compiled(Node()) for _ in range(4)] == [1] * 4
    monkeypatch.setattr(Node, "shared", 5)
    assert compiled(Node()) == 5
    monkeypatch.setattr(Node, "count", lambda self: "other")
    assert compiled(Node()) == "other"


def test_members_of_enums_stay_themselves() -> None:
    compiled = capture.Compiled(lambda color: (color is Color.RED, color.name))
    for color in (Color.RED, Color.BLUE, Color.RED, Color.BLUE):
        assert compiled(color) == (color is Color.RED, color.name)


KNOWN: list[int] = []
TABLE: dict[str, int] = {}
NODE = Node()


def reads_known(items: list[int]) -> Any:
    KNOWN.append(1)
    return items is KNOWN, len(items)


def reads_table(items: dict[str, int]) -> Any:
    items["n"] = TABLE.get("n", 0) + 1
    return TABLE.get("n"), items is TABLE


def reads_node(node: Node) -> Any:
    NODE.table["x"] = 3
    return "x" in node.table, node is NODE


@pytest.mark.parametrize(
    ("function", "other", "known"),
    [(reads_known, list, KNOWN), (reads_table, dict, TABLE), (reads_node, Node, NODE)],
)
def test_an_argument_that_the_function_reaches_by_itself(
    function: Callable[[Any], Any], other: Callable[[], Any], known: Any
) -> None:
    def fresh() -> Any:
        for container in (KNOWN, TABLE):
            container.clear()  # type: ignore[attr-defined]
        NODE.__init__()  # type: ignore[misc]
        return capture.Compiled(function)

    for order in ((other, other, lambda: known, other), (lambda: known, other, lambda: known)):
        compiled = fresh()
        results = [compiled(make()) for make in order]
        fresh()
        assert results == [function(make()) for make in order]


def test_one_list_given_twice() -> None:
    def function(a: list[int], b: list[int]) -> Any:
        a.append(1)
        return len(b), a is b

    compiled = capture.Compiled(function)
    for same in (False, True, False, True):
        a: list[int] = []
        assert compiled(a, a if same else []) == ((1, True) if same else (0, False))


def test_a_list_that_contains_itself() -> None:
    items: list[Any] = [1]
    items.append(items)
    compiled = capture.Compiled(lambda items: items[1][1] is items)
    assert [compiled(items) for _ in range(3)] == [True] * 3


def test_the_part_that_differs_is_named() -> None:
    compiled = capture.Compiled(lambda item: item.total())
    compiled(Item("a", [1]))
    compiled(Item("b", [1]))
    assert compiled.misses == []  # the name was not read
    compiled(Item("b", [1], 3))
    assert compiled.misses == ['L["item"].factor == 2']
