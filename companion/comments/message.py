"""The text in which comments go to an agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ..visible import visible, visible_name
from .comment import Comment

MAX_QUOTED = 20
"""Lines of a comment that are quoted."""
MAX_WIDTH = 2_000
"""Characters of a line that are quoted."""
_TICKS = re.compile(r"`+")
_WHERE = {
    "file": "",
    "proposal": "in the proposed text",
    "original": "in the text before the change",
    "removed": "where this was removed",
}
_CHANGED = "the lines have changed since"

Mention = Callable[[str, Sequence[tuple[int, int]]], str]
"""How the agent takes a path and ranges of its lines, from 1."""


def message(comments: Iterable[Comment], mention: Mention, most: int = MAX_QUOTED) -> str:
    """The comments as one text: for each its file and lines, at most so many of the lines quoted, and the words."""
    return "\n\n".join(_one(comment, mention, most) for comment in comments)


def markdown(path: str, lines: Sequence[tuple[int, int]]) -> str:
    """A mention for a reader of Markdown, whoever that is."""
    ranges = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in lines)
    is_one = len(lines) == 1 and lines[0][0] == lines[0][1]
    return f"{visible_name(path)} {'line' if is_one else 'lines'} {ranges}"


def named(comment: Comment, path: str) -> str:
    """A comment for a prompt that its lines go with: where they are, and the words. `path` is the one to show.

    It begins with no slash, which would make a command of it.
    """
    text = visible_name(path)
    ticks = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    blank = " " if len(ticks) > 1 else ""
    return f"{markdown(f'{ticks}{blank}{text}{blank}{ticks}', [_range(comment)])}{_about(comment)}:\n{words(comment)}"


def words(comment: Comment) -> str:
    """The words of a comment as an agent gets them."""
    return visible(comment.words.strip())


def _range(comment: Comment) -> tuple[int, int]:
    return comment.first, comment.last


def _about(comment: Comment) -> str:
    author = f"a note of {visible_name(comment.by)}" if comment.by else ""
    notes = [note for note in (author, _WHERE[comment.side], _CHANGED if comment.has_changed else "") if note]
    return f" ({', '.join(notes)})" if notes else ""


def _short(line: str) -> str:
    return line if len(line) <= MAX_WIDTH else f"{line[:MAX_WIDTH]}…"


def _one(comment: Comment, mention: Mention, most: int) -> str:
    where = visible_name(mention(comment.path, [_range(comment)])).rstrip() + _about(comment)
    quoted = [visible(_short(line)) for line in comment.lines[:most]]
    if left_out := len(comment.lines) + comment.left_out - len(quoted):
        quoted.append(f"… {left_out} more line{'s' * (left_out != 1)}")
    text = "\n".join(quoted)
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    block = f"{ticks}\n{text}\n{ticks}\n" if text.strip() else ""
    return f"{where}\n{block}{words(comment)}"
