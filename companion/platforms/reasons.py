"""What the system says of an error, for a sentence to a person."""

from __future__ import annotations


def reason_of(error: BaseException) -> str:
    """The words without the number and the path, such as "not a directory"."""
    words = getattr(error, "strerror", None) or str(error)
    return words[:1].lower() + words[1:] if words[1:2].islower() else words
