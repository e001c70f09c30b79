"""Tables of program text, as blocks of text that read like programs."""

from __future__ import annotations

import re


def texts(block: str) -> tuple[str, ...]:
    """Pieces without new lines, separated by two spaces or a new line."""
    return tuple(text for text in re.split(r"\n|  ", block) if text)


def paragraphs(block: str) -> tuple[str, ...]:
    """Pieces of several lines, separated by empty lines."""
    return tuple(text.strip("\n") for text in block.split("\n\n"))
