"""stator_startup.py: what STATOR=1 does when Python starts (stator_startup.pth): torch comes with Stator.

A module beside the package and not in it, so that a process that never imports torch pays for no import.
"""

import sys


class _WhenTorchIsImported:
    """Finds nothing itself: it is asked first when torch is imported, and steps aside."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        try:
            import stator

            stator.install()  # waits until torch is there
        except Exception as error:
            print(f"STATOR=1 has no effect: {type(error).__name__}: {error}", file=sys.stderr)
            return None
        import importlib.util

        return importlib.util.find_spec(name)


sys.meta_path.insert(0, _WhenTorchIsImported())
