"""The pieces of a chat's text. Each knows its position and its marks, and gives the edits that change it."""

from __future__ import annotations

from ...review.changes import TextEdit
from ...review.words import common_head
from .markdown import Scanner
from .plain import foreign, presentable
from .render import Fold
from .writer import TranscriptMarks, Writer


class Piece:
    """A part of a chat's text: a lead that separates it from the piece before, a body, and a suffix.

    Its marks count from the beginning of the chat's text. The edits of its methods apply one after the other, to a
    text that is up to date before this piece.
    """

    def __init__(self) -> None:
        self.start = 0
        self.lead = ""
        self.suffix = ""
        self.marks = TranscriptMarks()
        self._parts: list[str] = []
        self._size = 0

    @property
    def length(self) -> int:
        """In characters."""
        return len(self.lead) + self._size + len(self.suffix)

    @property
    def text(self) -> str:
        """The whole of it."""
        return "".join((self.lead, *self._parts, self.suffix))

    def move(self, start: int) -> None:
        """Begin at another point."""
        if by := start - self.start:
            self.start = start
            moved = TranscriptMarks()
            moved.add((self.marks,), by)
            self.marks = moved

    def put(self, lead: str, writer: Writer) -> list[TextEdit]:
        """Replace the piece by what has been written."""
        edits = self._replace(lead, writer.text, "")
        self.marks = TranscriptMarks()
        self.marks.add((writer.marks,), self.start + len(lead))
        return edits

    def _replace(self, lead: str, body: str, suffix: str) -> list[TextEdit]:
        before = self.text
        self.lead, self._parts, self._size, self.suffix = lead, [body], len(body), suffix
        return change(before, lead + body + suffix, self.start)

    def _append(self, text: str) -> list[TextEdit]:
        if not text:
            return []
        at = self.start + len(self.lead) + self._size
        self._parts.append(text)
        self._size += len(text)
        return [TextEdit(at, at, text)]

    def _finish(self, suffix: str) -> list[TextEdit]:
        edits = change(self.suffix, suffix, self.start + len(self.lead) + self._size)
        self.suffix = suffix
        return edits


QUOTE = "> "
"""The beginning of each line of a quoted message, which distinguishes it from anything else."""
_KEPT = 2
"""Line feeds at a message's end that the blank line after it replaces."""


class MessagePiece(Piece):
    """A message, which grows at its end. An update costs as much as the new text.

    The text is kept as it is, except line feeds at its ends that the lead or the blank line behind it already have,
    and the blanks in tables. Line endings become line feeds, since an editor has no others.
    """

    def __init__(self, key: str, *, is_quoted: bool = False, is_scanned: bool = False) -> None:
        super().__init__()
        self._key = key
        self._is_quoted = is_quoted
        self._is_scanned = is_scanned
        self._clear("", "")

    def grow(self, text: str, lead: str, suffix: Writer, *, is_finished: bool) -> list[TextEdit]:
        """Replace or extend the piece by a message that isn't blank; `suffix` comes behind it.

        The lead of a quoted message ends with its first line, behind which the rest is folded.
        """
        if self._size and lead == self.lead and text.startswith(self._said):
            return self._grow(text, suffix, is_finished)
        before = self.text
        self._clear(lead, text)
        self._grow(text, suffix, is_finished)
        return change(before, self.text, self.start)

    def _clear(self, lead: str, text: str) -> None:
        self.lead, self.suffix, self.marks = lead, "", TranscriptMarks()
        self._parts, self._size = [], 0
        self._scanner = Scanner(self._key)
        self._said = ""
        self._open = ""
        """The end of the body that may still be shown in another way."""
        self._certain = 0, 0
        """How many of the links and codes are final, whatever text follows."""
        begin = len(text) - len(text.lstrip("\r\n"))
        self._taken = begin if self._is_quoted else min(begin, len(lead) - len(lead.rstrip("\n")))
        """How many characters of the message were read."""

    def _grow(self, text: str, suffix: Writer, is_finished: bool) -> list[TextEdit]:
        new = self._take(text)
        if self._is_quoted:
            new = f"\n{new}" if not self._size and new else new
            new = new.replace("\n", f"\n{QUOTE}")
        body = self.start + len(self.lead)
        links, codes = self._certain
        del self.marks.links[links:], self.marks.codes[codes:]
        end = ""
        if self._is_scanned:
            shown, marks = self._scanner.feed(new)
            edits = self._go_on(shown, self._scanner.open)
            self.marks.add((marks,), body)
            self._certain = len(self.marks.links), len(self.marks.codes)
            if is_finished:
                shown, end, marks = self._scanner.end(text.count("\n", self._taken))
                edits += self._go_on("", shown)
                self.marks.add((marks,), body)
        else:
            edits = self._append(new)
        edits += self._finish(end + suffix.text)
        self.marks.add((suffix.marks,), body + self._size + len(end))
        if self._is_quoted and self._size:
            self.marks.folds = [Fold(self._key, body, self.start + self.length)]
        return edits

    def _go_on(self, final: str, still_open: str) -> list[TextEdit]:
        """Replace what was open by a text that is final, and one that may still be shown in another way."""
        before, after = self._open, final + still_open
        at = self.start + len(self.lead) + self._size
        if before:
            self._parts.pop()
        self._parts += [part for part in (final, still_open) if part]
        self._size += len(after) - len(before)
        self._open = still_open
        if after.startswith(before):
            new = after[len(before) :]
            return [TextEdit(at, at, new)] if new else []
        return change(before, after, at - len(before))

    def _take(self, text: str) -> str:
        """The new part of a text that has grown, as far as it can be shown."""
        self._said = text
        end = len(text)
        least = self._taken if self._is_quoted else max(self._taken, end - _KEPT)
        while end > least and text[end - 1] in "\r\n":
            end -= 1
        # The other half may still come.
        while end > self._taken and (text[end - 1] == "\r" or "\ud800" <= text[end - 1] <= "\udbff"):
            end -= 1
        new = presentable(text[self._taken : end])
        if not self._is_quoted:
            line = max(text.rfind("\n", 0, self._taken), text.rfind("\r", 0, self._taken)) + 1
            new = foreign(new, presentable(text[line : self._taken]))
        self._taken = max(end, self._taken)
        return new


def change(before: str, after: str, start: int = 0) -> list[TextEdit]:
    """The edit that turns one text into the other: what lies between their common ends, if anything."""
    if before == after:
        return []
    head = common_head(before, after)
    tail = common_head(before[head:][::-1], after[head:][::-1])
    return [TextEdit(start + head, start + len(before) - tail, after[head : len(after) - tail])]
