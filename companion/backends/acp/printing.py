"""What a command prints in a terminal, as text: without colours, and limited from its beginning. Pure."""

from __future__ import annotations

import codecs
import re
from typing import Any

MAX_HELD = 4096
"""Characters of the beginning of a code that wait for the rest of it."""
_CODES = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f](?:"
    r"(?<=\x1b)(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])"
    r"|(?<=\x9b)[0-?]*[ -/]*[@-~])?"
)
"""ECMA-48: control characters, sequences for colours and the cursor, strings such as a title, other sequences."""
_BEGUN = re.compile(r"\x1b(?:[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)\Z|(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z")
"""The beginning of such a code at the end of a text."""
_LINE_END = re.compile(r"(?<!\r)\r+\n")


def without_colours(text: str) -> str:
    """A text without the codes for colours and for the cursor."""
    return _CODES.sub("", text)


class Printing:
    """The end of what was printed, of at most `limit` bytes."""

    def __init__(self, limit: int, text: str = "", held: str = "", *, is_cut: bool = False) -> None:
        self._limit = limit
        self._text = text
        self._size = len(_encoded(text))
        self._held = held
        self._is_cut = is_cut
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def text(self) -> str:
        """What was printed."""
        self._cut()
        return self._text

    @property
    def is_cut(self) -> bool:
        """Whether the beginning is left out."""
        self._cut()
        return self._is_cut

    @property
    def half(self) -> bytes:
        """The beginning of a character."""
        return self._decoder.getstate()[0]

    def hand_over(self) -> dict[str, Any]:
        """What makes the same again, but for `half`."""
        return {"limit": self._limit, "text": self.text, "held": self._held, "is_cut": self.is_cut}

    def add(self, data: bytes) -> None:
        """Something more was printed."""
        text = self._held + self._decoder.decode(data)
        begun = _BEGUN.search(text)
        # A line ending may come in two pieces.
        at = len(text[: begun.start() if begun else None].rstrip("\r"))
        if len(text) - at > MAX_HELD:
            at = len(text)
        self._held = text[at:]
        self._add(text[:at])

    def end(self) -> None:
        """Nothing more comes."""
        text, self._held = self._held + self._decoder.decode(b"", final=True), ""
        self._add(text)

    def _add(self, text: str) -> None:
        if "\r" in text:
            # A line that is printed again and again, such as one with a percentage, is shown as it was last.
            head, line_end, line = self._text.rpartition("\n")
            lines = _LINE_END.sub("\n", line + text).split("\n")
            self._text = head + line_end
            self._size = len(_encoded(self._text))
            text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
        text = without_colours(text)
        self._text += text
        self._size += len(_encoded(text))
        # Not each time, since that takes as long as the limit is large.
        if self._size > 2 * max(self._limit, MAX_HELD):
            self._cut()

    def _cut(self) -> None:
        if self._size > self._limit:
            self._is_cut = True
            kept = _encoded(self._text)[-self._limit :] if self._limit else b""
            self._text = kept.decode("utf-8", "ignore")
            self._size = len(_encoded(self._text))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
