"""A package for the import programs."""

from . import first
from .first import VALUE as EXPORTED

__all__ = ["EXPORTED", "first"]
hidden = "hidden"
