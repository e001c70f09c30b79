"""Climbs."""

from ..first import VALUE as parent
NAME = __name__.rsplit(".", 1)[-1]
