"""match statements with every kind of pattern."""

import collections
import dataclasses


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Color:
    RED = 1
    BLUE = "blue"


def classify(value):
    match value:
        case None:
            return "none"
        case True | False as flag:
            return "bool", flag
        case 0:
            return "zero"
        case -1 | 1:
            return "unit"
        case 2.5:
            return "float"
        case -3 + 4j:
            return "complex"
        case "text":
            return "text"
        case b"raw":
            return "bytes"
        case Color.BLUE:
            return "value"
        case int(n) if n > 100:
            return "big", n
        case int() | float():
            return "number"
        case str(s):
            return "str", s
        case []:
            return "empty"
        case [x]:
            return "one", x
        case [1, 2, *rest]:
            return "from one two", rest
        case (first, *_, "end"):
            return "ends", first
        case [Point(x=0, y=y), *others]:
            return "points", y, others
        case [[a, b], [c, d]]:
            return "matrix", a, b, c, d
        case [*_]:
            return "sequence"
        case {"kind": "a", "n": n, **rest}:
            return "a", n, rest
        case {"kind": Color.RED}:
            return "red"
        case {"deep": {"er": [x, y]}}:
            return "deep", x, y
        case {}:
            return "mapping"
        case Point(0, 0):
            return "origin"
        case Point(x, y=0):
            return "axis", x
        case Point(x=x) if x < 0:
            return "negative", x
        case Point():
            return "point"
        case _:
            return "other"


def case_all(log):
    for value in (
        None, True, False, 0, 1, -1, 2.5, -3 + 4j, "text", b"raw", "blue", 101, 50, 1.5, "abc", [], [9], [1, 2], [1, 2, 3, 4],
        (5, 6, "end"), ("q", "end"), [Point(0, 3), 1], [[1, 2], [3, 4]], [1, 2, 3][::-1], (), range(3), range(0),
        collections.deque([1, 2, 9]), {"kind": "a", "n": 1}, {"kind": "a", "n": 1, "z": 2}, {"kind": 1}, {"kind": "b"}, {},
        {"deep": {"er": (1, 2)}}, {"deep": {"er": (1, 2, 3)}}, collections.OrderedDict(kind=1), Point(0, 0), Point(4, 0),
        Point(-1, 5), Point(3, 3), {1, 2}, object, bytearray(b"x"), b"", collections.defaultdict(list),
    ):
        log.append(classify(value))


def case_no_match(log):
    match 5:
        case 6:
            log.append("six")
    match log:
        case [_]:
            log.append("one")
        case _:
            log.append("default")
    return "fell through"


def case_bindings_survive_guard(log):
    match [1, 2]:
        case [a, b] if log.append((a, b)) or False:
            pass
        case [a, *c] if a == 1:
            log.append((a, b, c))


def case_match_args_errors(log):
    class Many:
        __match_args__ = ("a",)

    class NotTuple:
        __match_args__ = ["a"]

    class NotString:
        __match_args__ = (1,)

    class Twice:
        __match_args__ = ("a", "a")
        a = 1

    def too_many():
        match Many():
            case Many(1, 2):
                pass

    def not_tuple():
        match NotTuple():
            case NotTuple(1):
                pass

    def not_string():
        match NotString():
            case NotString(1):
                pass

    def twice():
        match Twice():
            case Twice(1, a=1):
                pass

    def int_twice():
        match 1:
            case int(1, 2):
                pass

    def not_class():
        match 1:
            case classify(1):
                pass

    for function in (too_many, not_tuple, not_string, twice, int_twice, not_class):
        try:
            function()
            log.append("fine")
        except TypeError as error:
            log.append(str(error))
    return too_many()


def case_missing_attribute(log):
    class A:
        __match_args__ = ("x", "y")

        def __init__(self):
            self.x = 1

    match A():
        case A(1, 2):
            return "both"
        case A(1):
            return "one"


def case_attribute_raises(log):
    class A:
        @property
        def x(self):
            raise ValueError("from property")

    match A():
        case A(x=1):
            return 1


def case_mapping_protocol(log):
    class M(collections.abc.Mapping):
        def __init__(self, d):
            self.d = d

        def __getitem__(self, key):
            log.append(("getitem", key))
            return self.d[key]

        def __iter__(self):
            return iter(self.d)

        def __len__(self):
            return len(self.d)

        def get(self, key, default=None):
            log.append(("get", key))
            return self.d.get(key, default)

    match M({"a": 1, "b": 2}):
        case {"a": 2}:
            return "no"
        case {"a": 1, **rest}:
            return rest


def case_duplicate_keys(log):
    class K:
        A = "k"
        B = "k"

    match {"k": 1, "z": 2}:
        case {K.A: 1, K.B: 1}:
            return "never"


def case_default_dict_is_not_filled(log):
    d = collections.defaultdict(int)
    match d:
        case {"missing": 0}:
            log.append("matched")
        case _:
            log.append("not matched")
    return dict(d)


def case_sequence_protocol(log):
    class S(collections.abc.Sequence):
        def __getitem__(self, i):
            log.append(i)
            return [1, 2, 3][i]

        def __len__(self):
            log.append("len")
            return 3

    match S():
        case [1, 2]:
            return "two"
        case [first, *_, last]:
            log.append((first, last))
    match S():
        case [*all]:
            return all


def case_or_and_as(log):
    match {"op": ("add", 1, 2)}:
        case {"op": ("sub" | "add" as op, (int() | float()) as left, right)}:
            return op, left, right


def case_nested_match(log):
    def evaluate(e):
        match e:
            case ("+", l, r):
                return evaluate(l) + evaluate(r)
            case ("*", l, r):
                return evaluate(l) * evaluate(r)
            case ("if", c, a, b):
                return evaluate(a) if evaluate(c) else evaluate(b)
            case int():
                return e
            case _:
                raise ValueError(f"bad {e!r}")

    log.append(evaluate(("+", 1, ("*", 2, ("if", 0, 5, 6)))))
    return evaluate(("+", 1, "x"))
