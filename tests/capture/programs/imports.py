"""Import statements of every form, and how they fail."""

import builtins
import os
import sys

HERE = os.path.dirname(__file__)


def fresh():
    """Make the package importable and forget earlier imports of it."""
    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    for name in [n for n in sys.modules if n == "package" or n.startswith("package.")]:
        del sys.modules[name]


def case_forms(log):
    import os.path
    import os.path as p
    import collections.abc as c, json
    from os import path, sep as separator
    from collections import (
        OrderedDict,
        abc,
    )
    from importlib import import_module as im

    log.append((os.path is p, p is path, c is abc, separator, OrderedDict.__name__, json.__name__, im.__name__))


def case_package(log):
    fresh()
    import package
    import package.second as s
    from package import first, EXPORTED, hidden
    from package.inner.deep import NAME

    log.append((s.result, first.VALUE, EXPORTED, hidden, NAME, package.second is s))
    log.append(sorted(n for n in sys.modules if n.startswith("package")))


def case_star(log):
    fresh()
    space = {"__name__": "importer"}
    exec("from package import *", space)
    log.append(sorted(k for k in space if not k.startswith("__")))
    space = {}
    exec("from package.first import *", space)
    log.append(sorted(k for k in space if not k.startswith("__")))
    try:
        exec("from package.bad_all import *", {})
    except AttributeError as error:
        log.append(str(error))


def case_star_from_odd_modules(log):
    import types

    for names in (5, ["ok", 3], None):
        module = types.ModuleType("odd")
        module.ok = 1
        if names is not None:
            module.__all__ = names
        module.__dict__.pop("__loader__", None)
        sys.modules["odd"] = module
        space = {}
        try:
            exec("from odd import *", space)
            log.append(sorted(k for k in space if not k.startswith("__")))
        except Exception as error:
            log.append((type(error).__name__, str(error)))
        finally:
            del sys.modules["odd"]


def case_failures(log):
    fresh()
    for statement in (
        "import no_such_module_here",
        "import os.no_such_part",
        "from os import no_such_name",
        "from no_such_module import x",
        "from package import nothing",
        "from package.first import nothing",
        "from . import x",
        "from .. import x",
        "from ..x import y",
        "import package.first.deeper",
        "from math import nothing",
    ):
        try:
            exec(statement, {"__name__": "importer"})
        except ImportError as error:
            log.append((type(error).__name__, str(error).replace(HERE, ""), error.name))
        except Exception as error:
            log.append((type(error).__name__, str(error)))


def case_relative_beyond_top(log):
    fresh()
    import package

    for statement in ("from .. import x", "from ...y import z"):
        try:
            exec(statement, {"__name__": "package.m", "__package__": "package"})
        except ImportError as error:
            log.append(str(error))
    space = {"__name__": "package.m", "__package__": "package"}
    exec("from . import first\nfrom .first import VALUE\nfrom .inner import deep as d", space)
    return space["VALUE"], space["d"].NAME


def case_broken_module(log):
    fresh()
    try:
        import package.broken
    except RuntimeError as error:
        log.append(str(error))
    log.append("package.broken" in sys.modules)
    log.append("package" in sys.modules)
    import package.broken


def case_circular(log):
    fresh()
    try:
        import package.circular
    except ImportError as error:
        log.append(str(error).split("(")[0])


def case_uncaught(log):
    from os import (
        path,
        certainly_not_there,
    )


def case_replaced_import(log):
    original = builtins.__import__

    def spy(name, globals=None, locals=None, fromlist=(), level=0):
        log.append((name, fromlist, level, type(globals).__name__))
        return original(name, globals, locals, fromlist, level)

    builtins.__import__ = spy
    try:
        import os.path
        from os import path, sep
        import sys as s
    finally:
        builtins.__import__ = original
    return s is sys


def case_no_import(log):
    try:
        exec("import os", {"__builtins__": {}})
    except ImportError as error:
        log.append(str(error))
    try:
        exec("import os", {"__builtins__": {"__import__": lambda *a: a[0]}})
        log.append("imported")
    except Exception as error:
        log.append(str(error))
    space = {"__builtins__": {"__import__": lambda *a: a}}
    exec("import a", space)
    log.append(space["a"][0])
    exec("import a.b.c as d", {"__builtins__": {"__import__": lambda *a: 1}})


def case_module_getattr(log):
    import types

    module = types.ModuleType("lazy_module")

    def fallback(name):
        log.append(name)
        if name in ("__path__", "__spec__"):
            raise AttributeError(name)
        return name.upper()

    module.__getattr__ = fallback
    sys.modules["lazy_module"] = module
    try:
        from lazy_module import thing, other as o
        import lazy_module

        return thing, o, lazy_module.third
    finally:
        del sys.modules["lazy_module"]


def case_import_hides_in_sys_modules(log):
    import types

    parent = types.ModuleType("pa")
    parent.__path__ = []
    child = types.ModuleType("pa.ch")
    sys.modules["pa"] = parent
    sys.modules["pa.ch"] = child
    try:
        from pa import ch

        log.append(ch is child)
        import pa.ch as other

        log.append(other is child)
    finally:
        del sys.modules["pa"], sys.modules["pa.ch"]


def case_import_in_class_and_loop(log):
    class A:
        import math as m
        from math import pi

    for _ in range(3):
        import math
    return A.m is math, A.pi > 3
