"""Imports its siblings in every relative form."""

from . import first as renamed
from .first import *
from .inner import deep
from .inner.deep import parent

result = renamed.VALUE, public, deep.NAME, parent, "_private" in globals()
