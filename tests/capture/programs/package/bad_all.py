"""Names something in __all__ that does not exist."""

__all__ = ["absent"]
