"""The rows of the list: a proposal, a file that is written already, or a comment; and the list as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import sublime

from ...review.changes import Tally

if TYPE_CHECKING:
    from ...changes.rows import ChangeRow as Change
    from ...comments.comment import Comment
    from .view import DiffView

NAME_LENGTH = 40
"""Columns of a name, if there are longer ones."""


class Row(NamedTuple):
    """One file in a list."""

    number: int | None
    """That of its review, None if it was answered."""
    name: str
    counts: Tally | None
    state: str
    cli: str
    where: str
    """The file's folder in the window's folder, empty for that itself; the whole path of a file elsewhere."""
    path: str = ""
    note: str = ""
    change: Change | None = None
    """What is written already and waits; None for a proposal, and for what is reviewed."""
    comment: Comment | None = None

    @classmethod
    def of(cls, diff: DiffView, answer: str = "") -> Row:
        """The row of a diff, with the answer that it got."""
        review, where = diff.review, _where(diff.review.file_path, diff.window)
        number, state = (None, answer) if answer else (review.number, _state_of(diff))
        return cls(number, review.name, diff.counts, state, review.owner.cli, where, review.file_path)

    @classmethod
    def of_change(cls, change: Change, window: sublime.Window, state: str, *, waits: bool) -> Row:
        """The row of a file that is written already."""
        path = change.full_path
        counts = Tally(change.inserted, change.deleted, change.changes)
        agents = ", ".join(change.agents) or "changed outside"
        note = "" if change.kind == "modified" else change.kind
        note = " · ".join(filter(None, (note, change.note)))
        name = PurePath(path).name
        return cls(None, name, counts, state, agents, _where(path, window), path, note, change if waits else None)

    @classmethod
    def of_comment(cls, comment: Comment, window: sublime.Window) -> Row:
        """The row of a comment."""
        name = f"{PurePath(comment.path).name}:{comment.first}"
        where, state = _where(comment.path, window), comment.state or "to send"
        note = " ".join(comment.words.split())
        return cls(None, name, None, state, comment.agent or "you", where, comment.path, f"💬 {note}", comment=comment)

    @property
    def left(self) -> dict[str, Any]:
        """The row of an answered diff for the next instance of the package."""
        return {**self._asdict(), "counts": asdict(self.counts) if self.counts else None}

    @classmethod
    def of_left(cls, left: Mapping[str, Any]) -> Row:
        """The row that was left. Raises TypeError if another version of the package has left it."""
        return cls(**{**left, "counts": Tally(**left["counts"]) if left["counts"] else None})

    @property
    def plain(self) -> dict[str, object]:
        """The row for readers outside."""
        counts = self.counts
        return {
            "path": self.path,
            "kind": self._kind,
            "agent": self.cli,
            "inserted": counts.inserted if counts else None,
            "deleted": counts.deleted if counts else None,
            "changes": counts.changes if counts else None,
            "state": self.state,
            "note": self.note,
        }

    @property
    def _kind(self) -> str:
        if self.comment:
            return "comment"
        return self.change.kind if self.change else "proposal" if self.number is not None else ""


def _state_of(diff: DiffView) -> str:
    """What the person has done with a diff that waits."""
    return "edited" if diff.is_edited else "viewed" if diff.attention.is_seen else "not viewed"


def title(diffs: int, changes: int, files: int) -> str:
    """The first line: how many of the files wait for an answer."""
    if not files:
        return "Nothing waits."
    waiting = diffs + changes
    counted = f"{waiting} of {files} file{'s' * (files != 1)} wait{'s' * (waiting == 1)} for an answer"
    return f"{counted} · open Enter · next F8 · previous Shift+F8" if waiting else "Every file is answered."


def table(rows: Sequence[Row]) -> list[str]:
    """The rows as text, in columns."""
    cells = [
        (
            _one_line(row.name),
            f"+{row.counts.inserted} −{row.counts.deleted}" if row.counts else "",
            row.state,
            row.cli,
            _one_line(row.note),
        )
        for row in rows
    ]
    widths = [max(map(len, column), default=0) for column in zip(*cells, strict=True)]
    widths[:1] = [min(widths[0], NAME_LENGTH)] if widths else []
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True) if width] for row in cells]
    return [f"  {'  '.join(line)}  {_one_line(row.where)}".rstrip() for line, row in zip(lines, rows, strict=True)]


def _where(path: str, window: sublime.Window) -> str:
    for folder in window.folders():
        if (found := PurePath(path)).is_relative_to(folder):
            parent = found.relative_to(folder).parent
            return "" if parent == PurePath() else str(parent)
    return path


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
