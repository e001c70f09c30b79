"""Unchanged programs on Stator: their `torch.compile` is ours from `install()` until `uninstall()`."""

from stator.dropin.installation import install, is_installed, uninstall

__all__ = ["install", "is_installed", "uninstall"]
