"""Comments at lines of a file or of a proposal, until they are sent to an agent.

A `Comment` is what a person or an agent says about some lines, and `CommentedLines` finds these again. `Comments` has
all that there are, `CommentStore` keeps them on the disk, `message` makes the text for an agent. No library is imported
here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import secrets
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from .json_text import as_list, as_object, as_text, read_own
from .platforms.files import make_private_folder, rename, write_private
from .platforms.paths import path_key
from .visible import visible, visible_name

logger = logging.getLogger(__name__)

Side = Literal["file", "proposal", "original", "removed"]
"""The file itself, what an agent proposes for it, what its proposal takes away, or what was taken away from the file.

The lines of the last one are nowhere: it is about the place where they were."""
MAX_LINES = 2_000
"""Lines whose text a comment keeps, to find them again."""
MAX_NOTES = 50
"""Notes of agents that a window has at once: an agent has to choose."""
MAX_TEXT = 100_000
"""Characters of them, with their endings. The last line that is kept may be cut by that."""
EFFORT = 200_000
"""Lines that are compared for all comments of a look that aren't where they were, in about 10 ms: those that are not
found by then are as if they were gone."""

_TEXTS = ("path", "words", "agent", "id")
_TIMES = ("sent", "written")
_MOST = 2**53
"""What no line and no time reaches; a damaged file may have any number."""


@dataclass(frozen=True, slots=True)
class Comment:
    """What a person says about some lines; or an agent, which has `by` and is called a note."""

    path: str
    """The file's absolute path."""
    first: int
    """The first line, from 1."""
    lines: tuple[str, ...]
    """The text of the lines without their endings, as it was when the comment was written; the first of them if they
    are many (`kept_lines`)."""
    words: str
    side: Side = "file"
    agent: str = ""
    """Who has made the change that is commented; empty if nobody is known."""
    sent: float = 0.0
    """When it was sent, as a Unix time in seconds; 0 if it wasn't."""
    to: str = ""
    """Who has got it, or in whose prompt it is; empty for nobody."""
    is_in_prompt: bool = False
    """Whether it stands in that prompt, as far as is known. In a chat it isn't sent until the prompt is."""
    has_changed: bool = False
    """Whether its lines have other text now, or are gone."""
    left_out: int = 0
    """How many lines come after those whose text is kept."""
    by: str = ""
    """The agent whose words they are; empty for the person. A note is never sent."""
    rank: int = 0
    """Where an agent wants it among its notes: the lowest comes first."""
    written: float = field(default_factory=time.time)
    """When it was written, likewise."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def last(self) -> int:
        """The last line, from 1."""
        return self.first + max(len(self.lines), 1) - 1 + self.left_out

    @property
    def order(self) -> tuple[str, int, float]:
        """What comments are sorted by: their files, lines and times."""
        return self.path, self.first, self.written

    @property
    def is_sent(self) -> bool:
        """Whether an agent has got it."""
        return self.sent > 0

    @property
    def is_due(self) -> bool:
        """Whether it is still to be sent: it is the person's, nobody has got it, and it stands in no prompt."""
        return not self.by and not self.is_sent and not self.is_in_prompt

    @property
    def state(self) -> str:
        """How far it has come, in words; empty if it is still to be sent."""
        if self.is_in_prompt:
            return f"in the prompt of {self.to}" if self.to else "in a prompt"
        if self.is_sent:
            return f"sent to {self.to}" if self.to else "sent"
        return ""

    def moved(self, first: int, *, has_changed: bool = False) -> Comment:
        """The same comment where its lines are now."""
        return replace(self, first=first, has_changed=has_changed)

    def as_data(self) -> dict[str, Any]:
        """As an object of JSON."""
        return {**asdict(self), "lines": list(self.lines)}

    @classmethod
    def of(cls, data: object) -> Comment | None:
        """A comment from an object of JSON; None if it is none."""
        fields = as_object(data)
        texts = {name: value for name in _TEXTS if isinstance(value := fields.get(name), str)}
        times = {name: value for name in _TIMES if isinstance(value := fields.get(name), int | float)}
        first, side = _count(fields.get("first")), fields.get("side")
        is_whole = len(texts) == len(_TEXTS) and len(times) == len(_TIMES) and first
        if not is_whole or side not in get_args(Side) or not all(0 <= time < _MOST for time in times.values()):
            return None
        known: dict[str, Any] = {**texts, **times}
        return cls(
            **known,
            first=first,
            side=cast("Side", side),
            lines=tuple(line for line in as_list(fields.get("lines")) if isinstance(line, str)),
            to=as_text(fields.get("to")),
            is_in_prompt=fields.get("is_in_prompt") is True,
            has_changed=fields.get("has_changed") is True,
            left_out=_count(fields.get("left_out")),
            by=as_text(fields.get("by")),
            rank=_count(fields.get("rank")),
        )


def _count(value: object) -> int:
    """A number of lines or the like; 0 for anything else."""
    return value if isinstance(value, int) and 0 < value < _MOST else 0


def kept_lines(text: str) -> tuple[str, ...]:
    """The lines of a text that a comment keeps: the first ones, without their endings."""
    return tuple(text[:MAX_TEXT].split("\n", MAX_LINES)[:MAX_LINES])


class CommentedLines:
    """The lines of a text, in which comments are looked for."""

    def __init__(self, lines: Sequence[str]) -> None:
        """`lines` are without their endings."""
        self._lines = lines
        self._rows: dict[str, list[int]] | None = None
        """Where each line is, from 0; made when a comment isn't where it was."""
        self._left = EFFORT

    def __len__(self) -> int:
        """How many there are."""
        return len(self._lines)

    def find(self, comment: Comment) -> int | None:
        """The first of a comment's lines, from 1: as near as possible to where they were; None if they are gone.

        A comment on an empty file stays at its line. Beyond a limit of effort, only where they were is looked at.
        """
        lines, was = comment.lines, comment.first - 1
        if not lines:
            return min(comment.first, max(len(self), 1))
        is_cut = sum(map(len, lines)) + len(lines) - 1 >= MAX_TEXT
        if self._same(lines, was, is_cut=is_cut) == len(lines):
            return comment.first
        if self._left <= 0:
            return None
        # Of a line that was cut only the beginning is known, but if it is alone that is as long as what is indexed.
        offset, rows = self._rarest(lines[:-1] if is_cut and len(lines) > 1 else lines)
        for row in _nearest(rows, was + offset):
            same = self._same(lines, row - offset, is_cut=is_cut)
            if same == len(lines):
                return row - offset + 1
            self._left -= 1 + same
            if self._left <= 0:
                break
        return None

    def _same(self, lines: Sequence[str], at: int, *, is_cut: bool) -> int:
        """How many of some lines are at a row, from the first one on. The last of them may be cut."""
        if not 0 <= at <= len(self) - len(lines):
            return 0
        for offset, line in enumerate(lines):
            here = self._lines[at + offset]
            if here != line and not (is_cut and offset == len(lines) - 1 and here.startswith(line)):
                return offset
        return len(lines)

    def _rarest(self, lines: Sequence[str]) -> tuple[int, Sequence[int]]:
        """Which of some lines is in the fewest places, and its rows."""
        if self._rows is None:
            self._rows = {}
            for at, each in enumerate(self._lines):
                self._rows.setdefault(each[:MAX_TEXT], []).append(at)
        places = [self._rows.get(line, ()) for line in lines]
        return min(enumerate(places), key=lambda place: len(place[1]))


def _nearest(rows: Sequence[int], was: int) -> Iterator[int]:
    """Some rows, which ascend, in the order −1, 1, −2, 2 … rows from where a line was."""
    below = bisect_left(rows, was)
    above = below - 1
    while above >= 0 or below < len(rows):
        if below >= len(rows) or (above >= 0 and was - rows[above] <= rows[below] - was):
            yield rows[above]
            above -= 1
        else:
            yield rows[below]
            below += 1


Line = tuple[str, Side, int]
"""A path, a side, and a line from 1."""


class Comments:
    """All comments, by the root folder that they belong to, however its path is spelled.

    `changed` is called with the key (`path_key`) of a root whose comments differ now.
    Lives on the thread of the editor's interface; nothing here touches the disk.
    """

    def __init__(self, changed: Callable[[str], object]) -> None:
        self._changed = changed
        self._by_root: dict[str, list[Comment]] = {}
        self._drafts: dict[Line, str] = {}

    def loaded(self, root: str, comments: Sequence[Comment]) -> None:
        """The comments that were kept of a root, which may have new ones already."""
        known = self._by_root.setdefault(path_key(root), [])
        ids = {comment.id for comment in known}
        known[:0] = [comment for comment in comments if comment.id not in ids]

    def knows(self, root: str) -> bool:
        """Whether the comments of a root were loaded."""
        return path_key(root) in self._by_root

    def add(self, root: str, comment: Comment) -> None:
        """Add a comment."""
        key = path_key(root)
        self._by_root.setdefault(key, []).append(comment)
        self._changed(key)

    def edit(self, identifier: str, words: str) -> None:
        """Give a comment other words; it counts as not sent."""
        self._replace([identifier], lambda comment: replace(comment, words=words, sent=0.0, to="", is_in_prompt=False))

    def move(self, identifier: str, first: int, *, has_changed: bool) -> None:
        """The lines of a comment are at this line now; or they were changed, and this is where they were."""
        self._replace([identifier], lambda comment: comment.moved(first, has_changed=has_changed))

    def removed(self, lines: Mapping[str, int]) -> None:
        """The lines of some comments, by their ids, were taken away from the file, at these lines of it."""
        self._replace(lines, lambda comment: replace(comment.moved(lines[comment.id]), side="removed"))

    def sent(self, identifiers: Iterable[str], to: str = "", *, is_in_prompt: bool = False) -> None:
        """An agent has got comments, or they stand in its prompt, where nobody can see whether they are sent."""
        now = time.time()
        self._replace(identifiers, lambda comment: replace(comment, sent=now, to=to, is_in_prompt=is_in_prompt))

    def hold(self, identifiers: Iterable[str], to: str) -> None:
        """Comments stand in the prompt of a chat, which is still to be sent."""
        self._replace(identifiers, lambda comment: replace(comment, sent=0.0, to=to, is_in_prompt=True))

    def release(self, identifiers: Iterable[str]) -> None:
        """Comments stand in no prompt any more, and nobody has got them."""
        self._replace(identifiers, lambda comment: replace(comment, sent=0.0, to="", is_in_prompt=False))

    def delete(self, identifiers: Iterable[str]) -> None:
        """Delete comments."""
        gone = set(identifiers)
        for root, comments in self._by_root.items():
            if any(comment.id in gone for comment in comments):
                comments[:] = [comment for comment in comments if comment.id not in gone]
                self._changed(root)

    def find(self, identifier: str) -> Comment | None:
        """A comment by its id."""
        return next((comment for comment in self if comment.id == identifier), None)

    def of_root(self, root: str) -> tuple[Comment, ...]:
        """The comments of a root, in the order of their files and lines."""
        return tuple(sorted(self._by_root.get(path_key(root), ()), key=lambda comment: comment.order))

    def of_file(self, path: str) -> tuple[Comment, ...]:
        """The comments on a file and on its proposals, in the order of their lines."""
        key = path_key(path)
        found = (comment for comment in self if path_key(comment.path) == key)
        return tuple(sorted(found, key=lambda comment: comment.order))

    def draft(self, line: Line) -> str:
        """The text that was begun at a line; empty for none. The path may be the id of a comment that is edited."""
        return self._drafts.get(_spelled(line), "")

    def keep_draft(self, line: Line, words: str) -> None:
        """Keep the text that was begun at a line, or forget it if it is empty."""
        if words.strip():
            self._drafts[_spelled(line)] = words
        else:
            self._drafts.pop(_spelled(line), None)

    def __iter__(self) -> Iterator[Comment]:
        """All comments."""
        for comments in list(self._by_root.values()):
            yield from comments

    def _replace(self, identifiers: Iterable[str], change: Callable[[Comment], Comment]) -> None:
        wanted = set(identifiers)
        for root, comments in self._by_root.items():
            changed = [change(comment) if comment.id in wanted else comment for comment in comments]
            if changed != comments:
                comments[:] = changed
                self._changed(root)


def _spelled(line: Line) -> Line:
    path, side, first = line
    return path_key(path), side, first


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
    return f"{markdown(code_span(path), [_range(comment)])}{_about(comment)}:\n{words(comment)}"


def code_span(path: str) -> str:
    """A path as code in Markdown."""
    text = visible_name(path)
    ticks = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    blank = " " if len(ticks) > 1 else ""
    return f"{ticks}{blank}{text}{blank}{ticks}"


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


MAX_SIZE = 32 * 1024 * 1024
"""Bytes of a file of comments; a larger one is put aside."""
MAX_SENT = 200
"""Comments that were sent and are still kept, the latest of a root."""


class CommentStore:
    """Keeps the comments of each root in a file of its own below a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, root: str) -> str:
        """The file for a root."""
        name = hashlib.sha256(os.fsencode(path_key(root))).hexdigest()[:32]
        return os.path.join(self._folder, f"{name}.json")

    def load(self, root: str) -> list[Comment]:
        """The comments that were kept of a root. A damaged file is put aside, and nothing of it is lost."""
        path = self.path(root)
        if not os.path.lexists(path):
            return []
        body = read_own(Path(path), MAX_SIZE)
        found: object = None
        if body is not None and path_key(str(body.get("root"))) == path_key(root):
            found = body.get("comments")
        if not isinstance(found, list):
            aside = f"{path}.{secrets.token_hex(4)}.damaged"
            logger.warning("The comments of %s can't be read; they are in %s", root, aside)
            rename(path, aside)
            return []
        return [comment for each in cast("list[Any]", found) if (comment := Comment.of(each)) is not None]

    def save(self, root: str, comments: Sequence[Comment]) -> None:
        """Keep the comments of a root; none: remove its file. Raises OSError."""
        sent = sorted((comment for comment in comments if comment.is_sent), key=lambda comment: -comment.sent)
        dropped = {comment.id for comment in sent[MAX_SENT:]}
        kept = [comment.as_data() for comment in comments if comment.id not in dropped]
        path = self.path(root)
        if not kept:
            if os.path.lexists(path):
                os.remove(path)
            return
        os.makedirs(os.path.dirname(self._folder), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            make_private_folder(self._folder)
        write_private(path, json.dumps({"root": root, "comments": kept}).encode())
