"""Stator: a C++ interpreter of Python bytecode that captures PyTorch programs.

Importing this package does not import torch.
"""

from stator import support

support.require_this_python()
support.load_extension("_capture")

from stator.interpreter import (  # noqa: E402  (the checks above explain a failure better than this import)
    Statistics,
    interpret,
    interpret_everything,
    reset_statistics,
    statistics,
)

__version__ = "0.1.0"

__all__ = [
    "Statistics",
    "__version__",
    "interpret",
    "interpret_everything",
    "reset_statistics",
    "statistics",
]
