"""Code made by exec and eval, with globals, builtins and locals of every kind."""

import collections
import types


def case_exec(log):
    space = {}
    exec("x = 1\ndef f(a): return a + x\ny = f(2)", space)
    log.append((space["x"], space["y"], "__builtins__" in space))
    local = {}
    exec("x = 5", space, local)
    log.append((space["x"], local))
    log.append(eval("x + z", {"x": 1}, {"z": 2}))
    log.append(eval("[i for i in range(n)]", {"n": 3}))
    log.append(eval(compile("(lambda y: y * 2)(4)", "<made>", "eval")))
    exec("log.append(sorted(locals()))")
    exec("import math; log.append(math.floor(2.5))")


def case_locals_mapping(log):
    class Space(dict):
        def __getitem__(self, key):
            log.append(("get", key))
            if key == "magic":
                return 42
            return dict.__getitem__(self, key)

        def __setitem__(self, key, value):
            log.append(("set", key, value))
            dict.__setitem__(self, key, value)

        def __delitem__(self, key):
            log.append(("del", key))
            dict.__delitem__(self, key)

    space = Space()
    exec("x = magic\ny = x + 1\ndel x\nz = len([1])", {}, space)
    log.append(sorted(space))
    try:
        exec("del nothing", {}, Space())
    except NameError as error:
        log.append(str(error))
    exec("nothing", {}, Space())


def case_locals_not_a_dict(log):
    class Mapping(collections.UserDict):
        def __getitem__(self, key):
            log.append(key)
            return super().__getitem__(key)

    m = Mapping()
    exec("a = 1\nb = a + 1\nclass C: q = 1\nprint(b)", {}, m)
    log.append(sorted(m.data))

    class Broken:
        def __getitem__(self, key):
            raise ValueError(key)

    try:
        exec("a", {}, Broken())
    except ValueError as error:
        log.append(str(error))
    exec("a = 1", {}, Broken())


def case_globals_subclass(log):
    class G(dict):
        def __missing__(self, key):
            log.append(key)
            raise KeyError(key)

        def __getitem__(self, key):
            log.append(("g", key))
            return super().__getitem__(key)

    space = G(a=1)
    exec("b = a + 1\ndef f():\n    return a + b\nc = f()", space)
    log.append((dict.get(space, "b"), dict.get(space, "c")))
    exec("def g():\n    return absent\ng()", space)


def case_custom_builtins(log):
    space = {"__builtins__": {"len": lambda x: "my len", "print": log.append}}
    exec("print(len(1))\ndef f():\n    return len(2)\nprint(f())", space)
    try:
        exec("max(1, 2)", space)
    except NameError as error:
        log.append(str(error))
    for builtins in ({}, {"__name__": "b"}):
        for source in ("len", "class A: pass", "import os", "[x for x in (1, 2)]", "assert 0, 1"):
            try:
                exec(source, {"__builtins__": builtins})
                log.append("fine")
            except Exception as error:
                log.append((type(error).__name__, str(error)))
    module = types.ModuleType("b")
    module.answer = 42
    log.append(eval("answer", {"__builtins__": module}))


def case_builtins_mapping(log):
    class B(dict):
        def __getitem__(self, key):
            log.append(("builtin", key))
            return super().__getitem__(key)

    space = {"__builtins__": B(two=2, len=len)}
    exec("x = two + len('a')\ndef f():\n    return two\ny = f()", space)
    log.append((space["x"], space["y"]))
    exec("def f():\n    return three\nf()", space)


def case_function_type(log):
    def f():
        return value

    g = types.FunctionType(f.__code__, {"value": 7})
    log.append(g())
    code = next(c for c in compile("def f(a, b=2):\n  return a, b, value", "<x>", "exec").co_consts if isinstance(c, types.CodeType))
    h = types.FunctionType(code, {"value": 1}, "h", (5, 6))
    log.append(h())

    def outer(x):
        return lambda: x

    log.append(types.FunctionType(outer(1).__code__, {}, closure=(types.CellType(9),))())
    return types.FunctionType(f.__code__, {})()


def case_modes(log):
    log.append(eval(compile("1 + 1", "<e>", "eval")))
    exec(compile("x = 5", "<s>", "single"))
    import sys

    hook = sys.displayhook
    sys.displayhook = lambda v: log.append(("shown", v))
    try:
        exec(compile("7\n", "<s>", "single"))
        exec(compile("for i in range(2): i\n", "<s>", "single"))
    finally:
        sys.displayhook = hook
    return exec(compile("1/0", "<exec>", "exec"))


def case_annotations_at_module_level(log):
    space = {}
    exec("x: int = 1\ny: str\nclass A:\n    z: int\n    def f(self): pass", space)
    log.append(space["__annotations__"])
    log.append(space["A"].__annotations__)
    exec("del __annotations__\nq = 1", space)
    log.append("__annotations__" in space)


def case_module_level_everything(log):
    source = """
import os as _os
a, *b = range(4)
def f(x, *, y=2):
    global g
    g = x
    return x + y
class C:
    attr = a
    def m(self):
        return __class__
try:
    1 / 0
except ZeroDivisionError as e:
    caught = repr(e)
with open(_os.devnull) as h:
    pass
for i in range(3):
    if i: break
else:
    z = 1
while i:
    i -= 1
d = {k: v for k, v in zip('ab', [1, 2])}
gen = list(x for x in d)
del b
match a:
    case 0: matched = True
lam = (lambda q: q + a)(5)
r = f(1)
t = f'{a=}'
assert r == 3
"""
    space = {"__name__": "made"}
    exec(compile(source, "<module>", "exec"), space)
    log.append(sorted(k for k in space if not k.startswith("_")))
    log.append((space["caught"], space["lam"], space["gen"], space["g"], space["t"]))
    return space["C"]().m().__qualname__


def case_traceback_in_made_code(log):
    exec(compile("def f():\n    return 1 + None\n\n\nf()", "<made up>", "exec"), {})


def case_global_statement(log):
    space = {"n": 1}
    exec("def f():\n    global n, m\n    n += 1\n    m = n\n    del n\nf()", space)
    log.append((space.get("n"), space["m"]))
    exec("f()", space)


def case_class_in_exec_with_locals(log):
    try:
        exec("v = 1\nclass A:\n    w = v", {}, {})
    except NameError as error:
        log.append(str(error))
    exec("v = 1\ndef f():\n    return v\nf()", {}, {})


def case_code_replace(log):
    def f():
        return 1

    f.__code__ = f.__code__.replace(co_name="renamed", co_consts=tuple(5 if c == 1 else c for c in f.__code__.co_consts), co_firstlineno=100)
    log.append(f())
    log.append(f.__code__.co_name)

    def g(x):
        return x.bad

    g.__code__ = g.__code__.replace(co_name="other", co_filename="elsewhere.py")
    return g(1)


def case_dont_inherit(log):
    code = compile("from __future__ import annotations\nx: undefined_thing = 1", "<f>", "exec")
    space = {}
    exec(code, space)
    log.append(space["__annotations__"])


def case_globals_changed_by_dict(log):
    space = {"step": 1}
    exec("def f():\n    total = 0\n    for i in range(4):\n        total += step\n        globals()['step'] = step * 2\n    return total", space)
    log.append(space["f"]())
    space["len"] = lambda x: "shadow"
    exec("def g():\n    a = len([])\n    del globals()['len']\n    return a, len([])", space)
    return space["g"]()


def case_non_string_keys(log):
    space = {1: 2, "a": 3}
    exec("b = a", space)
    local = {5: 6}
    exec("c = a", space, local)
    return local


def case_eval_locals(log):
    x = 10
    log.append(eval("x + 1"))
    log.append([eval("y", {"y": y}) for y in range(2)])

    def f(a):
        b = 2
        exec("b = 99; c = 3")
        return b, sorted(locals())

    return f(1)
