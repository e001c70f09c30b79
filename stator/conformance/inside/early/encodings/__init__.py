"""Stands for `encodings`, the first module that a Python looks for on its path: starts interpretation.

It takes its own place on the path and what was added to the environment away, becomes the real
`encodings`, and then runs `sitecustomize` of the folder above.
"""


def _start(names: dict[str, object]) -> None:
    import posix
    import sys

    builtins = names["__builtins__"]
    early = str(names["__file__"]).removesuffix("/encodings/__init__.py")
    machinery = sys.modules["_frozen_importlib_external"]

    while early in sys.path:
        sys.path.remove(early)
    sys.path_importer_cache.pop(early, None)
    spec = machinery.PathFinder.find_spec("encodings", sys.path)
    code = spec.loader.get_code("encodings")
    names.clear()
    names.update(
        __name__="encodings",
        __doc__=None,
        __package__="encodings",
        __loader__=spec.loader,
        __spec__=spec,
        __path__=spec.submodule_search_locations,
        __file__=spec.origin,
        __cached__=spec.cached,
        __builtins__=builtins,
    )
    exec(code, names)

    path = early.removesuffix("/early") + "/sitecustomize.py"
    added = posix.environ.pop(b"STATOR_ADDED").split()
    before = posix.environ.pop(b"STATOR_PATH")
    known = set(sys.path_importer_cache)
    inside = machinery.SourceFileLoader("sitecustomize", path).get_code("sitecustomize")
    exec(inside, {"__name__": "sitecustomize", "__file__": path, "__builtins__": builtins})

    for place in set(sys.path_importer_cache) - known:
        del sys.path_importer_cache[place]
    for name in (b"STATOR_ADDED", b"STATOR_PATH", *added):
        posix.environ.pop(name, None)
        posix.unsetenv(name)
    if before:
        posix.environ[b"PYTHONPATH"] = before[1:]
        posix.putenv(b"PYTHONPATH", before[1:])
    else:
        del posix.environ[b"PYTHONPATH"]
        posix.unsetenv(b"PYTHONPATH")


_start(globals())
