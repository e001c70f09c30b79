"""Fails while it is imported."""

before = 1
raise RuntimeError("broken on purpose")
