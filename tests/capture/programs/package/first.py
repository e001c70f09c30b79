"""A leaf module."""

VALUE = 1
_private = 2
public = 3
