"""Makes texts of models and tools fit for the lines of a chat."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...visible import visible, visible_name

GAP = "\u00a0"
"""Follows the sign at the beginning of the chat's own lines: a no-break space, which no line of a message has there."""
YOU = f"❯{GAP}You\n"
"""The heading of a person's message."""
SIGNS = {"pending": "○", "in_progress": "◐", "completed": "✓", "failed": "✗"}
"""By the states of tool calls and of the steps of a plan."""
_OWN = re.compile(rf"^([ \t]*[❯◆▸○◐✓✗?⚠◌◇—]){GAP}", re.MULTILINE)

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Including those that change the direction of the text."""
_BREAK = re.compile(r"[\n\v\f\x1c-\x1e\x85\u2028\u2029]")
_READ = 4
"""How many times what is shown of a text is read of it at most: control characters and blanks are left out."""


def presentable(text: str) -> str:
    """A text that an editor accepts: no lone surrogates, no line ending but the line feed."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def foreign(text: str, before: str = "") -> str:
    """A presentable text of a model or a person in which no line begins like one of the chat's own.

    `before` is what precedes it in its first line. The length stays the same.
    """
    return _OWN.sub(r"\1 ", before + text)[len(before) :] if GAP in text else text


def flat(text: str, most: int | None = None) -> str:
    """A text on one line, without control characters and terminal sequences."""
    text = text.strip()
    is_cut = most is not None and len(text) > _READ * most
    text = clean(_joined(text[: _READ * (most or 0)] if is_cut else text)).replace("\t", " ")
    return text if most is None or (len(text) <= most and not is_cut) else f"{text[: most - 1]}…"


def spelled(text: str) -> str:
    """A whole text on one line, with each character that acts or hides as its number."""
    return visible_name(_joined(text).replace("\t", " "))


def _joined(text: str) -> str:
    """The lines of a text as one, without the blanks around each and without empty ones."""
    parts = (part.strip() for part in _BREAK.split(presentable(text)))
    return " ↵ ".join(part for part in parts if part)


def clean(text: str) -> str:
    """A text without control characters and terminal sequences."""
    return _CONTROL.sub("", _ESCAPE.sub("", presentable(text)))


def sentence(text: str) -> str:
    """A text on one line that ends like a sentence."""
    text = flat(text)
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def relative(path: str, folder: str) -> str:
    """A path relative to a folder, if it is inside. Windows knows two separators."""
    path, folder = flat(path), folder.rstrip("/\\")
    inside = path.replace("\\", "/").startswith(folder.replace("\\", "/") + "/")
    return path[len(folder) + 1 :] if folder and inside else path


def whole(text: str) -> Iterator[str]:
    """The whole text as lines, with each character that acts or hides as its number."""
    first, *more = visible(presentable(text)).split("\n")
    yield first
    yield from (f"  {line}" for line in more)
