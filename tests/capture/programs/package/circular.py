"""Imports itself while it is half made."""

from . import circular
from .circular import never
