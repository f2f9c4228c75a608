"""The Review as a text: turns, their files, and the changes of each with the lines around them.

The lines of a change are the file's own, with nothing in front of them, so that a syntax can read them. All other lines
begin with a sign and a no-break space. Where a change's removed lines end and its new ones begin, the last removed line
ends with a no-break space: each side is read by itself. `QwenCompanion Review.sublime-syntax` knows both.

Lines and changes count from 0, points are characters of a text as in Sublime Text, ranges are half-open. The module is
pure. A body is made away from the UI thread; an arrangement takes milliseconds.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Literal, NamedTuple

from ..visible import visible_name
from .changes import Count, counted
from .compare import Change
from .marks import Points, changed_words, moved

CONTEXT = 3
"""Lines that are shown above and below a change."""
SPLIT = "\N{NO-BREAK SPACE}"
"""Ends the last removed line of a change that has new ones, and stands after the sign of a line of our own."""
GAP = f"⋯{SPLIT}"
OPEN, FOLDED, TURN, DONE, REMARK, HINT = (f"{sign}{SPLIT}" for sign in "▾▸◆✓¶—")
"""How the lines of our own begin: an unfolded file and a folded one, a turn, a file that is answered, a comment, and
those at the top and at the end."""
WHOLE = frozenset({"created", "deleted", "renamed", "mode", "link", "binary", "large", "excluded", "unreadable"})
"""Kinds of files that are one line, as long as nobody unfolds them. On that line they are decided as a whole."""
_NEAR = 200
"""Changes before and after one in which it is looked for in the next version of a file."""
_LONGEST = 400
"""Characters of a line of our own."""

BackEnd = Literal["proposal", "written"]
"""What decides about a change: the review of a proposal, which is answered as a whole, or the round of a folder."""
CONTEXT_KIND, REMOVED_KIND, ADDED_KIND, GAP_KIND = " -+~"
"""The signs of lines of a body. Those of other lines are letters."""


class FileKey(NamedTuple):
    """Which file of a review is meant."""

    back_end: BackEnd
    root: str
    """The root of a round; empty for a proposal."""
    name: str
    """The path in the root, or the number of a proposal."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file with changes that wait for a decision."""

    key: FileKey
    path: str
    """As it is shown."""
    version: str
    """Identifies both of its contents, and whose lines they have."""
    count: Count
    agent: str = ""
    kind: str = "modified"
    note: str = ""
    state: str = ""
    """What the person has done with it, in a word."""
    renamed_from: str = ""
    reason: str = ""
    """What the agent said just before it, in a line."""
    place: str = ""
    """The absolute path without links: a file may be proposed and written. Empty for one on another machine."""

    @property
    def said(self) -> str:
        """What its line says beside the path and the count."""
        kind = "" if self.kind in ("modified", "proposal") else self.kind
        reason = f"“{self.reason}”" if self.reason else ""
        return " · ".join(filter(None, (kind, self.note, self.state, reason)))

    @property
    def is_whole(self) -> bool:
        """Whether it is one line, as long as nobody unfolds it."""
        return self.kind in WHOLE

    @property
    def has_parts(self) -> bool:
        """Whether its changes are decided one by one where they are shown. In a created file it is only some lines."""
        return not self.is_whole or self.kind == "renamed"

    def matches(self, words: Sequence[str]) -> bool:
        """Whether each of some words, in small letters, is in what its line says."""
        line = f"{self.path} {self.renamed_from} {self.agent} {self.kind} {self.said}".casefold()
        return all(word in line for word in words)


@dataclass(frozen=True, slots=True)
class ReviewTurn:
    """What an agent has done for one prompt, or what it proposes."""

    key: Hashable
    agent: str
    at: str = ""
    """The time of the prompt, as it is shown."""
    words: str = ""
    """The prompt's first words."""
    files: Sequence[ListedFile] = ()
    again: Sequence[str] = ()
    """What it has changed besides and a later prompt has changed again, as it is shown: it is under that one."""


@dataclass(frozen=True, slots=True)
class Body:
    """The changes of a file as lines, with the lines around them."""

    text: str
    """The lines, each with a line feed."""
    kinds: str
    """A sign for each line."""
    numbers: array[int]
    """The number of each line in its file, from 1; of a line that both sides have, that in the new one."""
    owners: array[int]
    """The change that each line belongs to; −1 for none."""
    starts: array[int]
    """Where each line begins in the text, and where the last one ends."""
    changes: tuple[tuple[int, int, int, int, str], ...]
    """The lines in the old and in the new text, and a key."""
    firsts: array[int]
    """The first line of each change."""
    removed_words: list[Points] = field(default_factory=list[Points])
    added_words: list[Points] = field(default_factory=list[Points])
    """Points of the text, ascending."""
    compared: Collection[int] = ()
    """The lines of changes of which only the marked words differ. There may be none in one of a pair."""

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.kinds)

    @property
    def highest(self) -> int:
        """About the highest number of a line: as wide as any."""
        return max(self.changes[-1][1], self.changes[-1][3]) + CONTEXT if self.changes else 0

    def line(self, number: int) -> str:
        """The text of a line, without what is ours."""
        text = self.text[self.starts[number] : self.starts[number + 1] - 1]
        return text[:-1] if self._is_split(number) else text

    def _is_split(self, number: int) -> bool:
        return (
            self.kinds[number : number + 2] == REMOVED_KIND + ADDED_KIND
            and self.owners[number] == self.owners[number + 1]
        )

    def ident(self, change: int) -> tuple[str, ...]:
        """What tells a change from others of its file, wherever it has moved to."""
        return tuple(self.kinds[at] + self.line(at) for at in self.lines_of(change))

    def lines_of(self, change: int) -> range:
        """The numbers of a change's lines."""
        old_start, old_end, new_start, new_end, _ = self.changes[change]
        return range(first := self.firsts[change], first + old_end - old_start + new_end - new_start)

    def nearest(self, ident: tuple[str, ...], change: int) -> int:
        """The change with this `ident` that is nearest to where it was; that which is there now if it is gone."""
        order = sorted(
            range(max(change - _NEAR, 0), min(change + _NEAR, len(self.changes))), key=lambda at: abs(at - change)
        )
        return next((at for at in order if self.ident(at) == ident), min(change, len(self.changes) - 1))

    def change_at(self, number: int) -> int:
        """The change at a line, or the next one below it, or the last one; −1 if there is none."""
        if not self.changes:
            return -1
        if self.owners[number] >= 0:
            return self.owners[number]
        return min(bisect_left(self.firsts, number), len(self.changes) - 1)


NOTHING = Body("", "", array("i"), array("i"), array("i", [0]), (), array("i"))
"""The body of a file whose contents can't be shown."""


def body_of(old: str, new: str, changes: Sequence[tuple[int, int, int, int, str]]) -> Body:
    """The changes of a file. Texts have plain line feeds; the changes are from the top, each with its key."""
    old_lines, new_lines = _pieces(old), _pieces(new)
    texts: list[str] = []
    kinds: list[str] = []
    numbers, owners, firsts = array("i"), array("i"), array("i")

    def add(kind: str, lines: Sequence[str], number: int, owner: int = -1) -> None:
        texts.extend(lines)
        kinds.append(kind * len(lines))
        numbers.extend(range(number + 1, number + 1 + len(lines)))
        owners.extend([owner] * len(lines))

    shown = 0
    """The lines of the new text that are shown already, or left out."""
    for at, (old_start, old_end, new_start, new_end, _) in enumerate(changes):
        first = max(new_start - CONTEXT, shown)
        if at and first > shown:
            texts.append(GAP)
            kinds.append(GAP_KIND)
            numbers.append(0)
            owners.append(-1)
        add(CONTEXT_KIND, new_lines[first:new_start], first)
        firsts.append(len(texts))
        # A last piece that is empty is the line feed before it, and a line to whoever decides about it.
        gone = [*old_lines[old_start:old_end], *[""] * (old_end - max(old_start, len(old_lines)))]
        come = [*new_lines[new_start:new_end], *[""] * (new_end - max(new_start, len(new_lines)))]
        if gone and come:
            gone[-1] += SPLIT
        add(REMOVED_KIND, gone, old_start, at)
        add(ADDED_KIND, come, new_start, at)
        following = changes[at + 1][2] if at + 1 < len(changes) else len(new_lines)
        shown = max(min(new_end + CONTEXT, following), new_end)
        add(CONTEXT_KIND, new_lines[new_end:shown], new_end)
    starts = array("i", accumulate((len(text) + 1 for text in texts), initial=0))
    text = "\n".join([*texts, ""])
    removed: list[Points] = []
    added: list[Points] = []
    compared = set[int]()
    found = [Change(*each[:4]) for each in changes]
    for at, old_line, gone, new_line, come in changed_words(found, [*old_lines, ""], [*new_lines, ""]):
        change, first = found[at], firsts[at]
        pair = first + old_line - change.old_start, first + change.deleted + new_line - change.new_start
        removed += moved(gone, starts[pair[0]])
        added += moved(come, starts[pair[1]])
        compared.update(pair if gone or come else ())
    words = sorted(removed), sorted(added)
    return Body(text, "".join(kinds), numbers, owners, starts, tuple(changes), firsts, *words, compared)


def _pieces(text: str) -> list[str]:
    pieces = text.split("\n")
    return pieces if pieces[-1] else pieces[:-1]


class Block(NamedTuple):
    """A part of the Review's text that changes as a whole: a line of our own, or a file with its body."""

    key: Hashable
    text: str
    kinds: str
    """A sign for each line."""
    file: ListedFile | None = None
    body: Body | None = None
    """Of an unfolded file. Its lines follow the block's first one; not all of them have to be there yet."""

    @property
    def lines(self) -> int:
        """How many there are."""
        return len(self.kinds)


class DoneLine(NamedTuple):
    """A line of its own: a file that is answered, a comment, or an agent's note."""

    key: Hashable
    words: str
    is_comment: bool = False

    @property
    def block(self) -> Block:
        """The line."""
        sign, kind = (REMARK, "C") if self.is_comment else (DONE, "D")
        return Block(self.key, f"{sign}{_line(self.words)}\n", kind)


class Arrangement(NamedTuple):
    """What the Review shows."""

    blocks: list[Block]
    missing: FileKey | None
    """The file whose body is to be shown next and isn't there."""
    is_whole: bool
    """Whether nothing is left to be filled in below."""


def arranged(
    turns: Sequence[ReviewTurn],
    bodies: Mapping[FileKey, Body],
    *,
    folded: Collection[FileKey] = (),
    wanted: str = "",
    limit: int = 1_000_000_000,
    notes: Sequence[DoneLine] = (),
    ended: Sequence[DoneLine] = (),
    empty: str = "Nothing waits for a review.",
    keys: str = "",
    hint: str = "",
) -> Arrangement:
    """The Review, at least its first `limit` lines if their bodies are there.

    `folded` are the files that have the other state than usual: one that is a line by itself is unfolded by that.
    `wanted` has words that a file must have in its line. `keys` names the most important keys, `hint` all of them.
    `notes` come before everything else, `ended` after it.
    """
    words = wanted.casefold().split()

    def lines(found: Sequence[DoneLine]) -> list[Block]:
        return [each.block for each in found if all(word in each.words.casefold() for word in words)]

    found = [(turn, [file for file in turn.files if file.matches(words)]) for turn in turns]
    title = " · ".join(filter(None, (_title(turns, found, wanted) or empty, keys)))
    blocks = [Block("title", f"{HINT}{title}\n", "N"), *lines(notes)]
    missing: FileKey | None = None
    is_whole, left = True, limit
    for turn, files in found:
        if is_whole and (files or (turn.again and not words)):
            blocks.append(Block(("turn", turn.key), _turn_line(turn, files), "T"))
            left -= 1
            for file in files:
                is_whole = is_whole and left > 0
                if not is_whole:
                    break
                block, is_whole = _file_block(file, bodies, folded, left)
                blocks.append(block)
                left -= block.lines
                missing = None if is_whole or block.body else file.key
    if is_whole:
        blocks += lines(ended)
    else:
        blocks.append(Block("more", f"{GAP}more below\n", "M"))
    hints = [f"{HINT}{_line(line)}" for line in hint.split("\n")]
    blocks.append(Block("hint", "\n".join(hints), "H" * len(hints)))
    return Arrangement(blocks, missing, is_whole)


def _title(turns: Sequence[ReviewTurn], shown: Sequence[tuple[ReviewTurn, Sequence[ListedFile]]], wanted: str) -> str:
    """How much is shown; empty for nothing."""
    files = [file for turn in turns for file in turn.files]
    count = _count([file for _, found in shown for file in found])
    if not files:
        return ""
    if wanted.split():
        of = counted(_count(files).files, "file")
        return f"{count.files} of {of}, {count.lines}: only those with “{_line(wanted)}”"
    proposed, written = (
        _count([file for file in files if file.key.back_end == each]).files for each in ("proposal", "written")
    )
    parts = f": {proposed} proposed, {written} written" if proposed and written else ""
    return f"{count}{parts}"


def _count(files: Sequence[ListedFile]) -> Count:
    """How much there is to review in some files. One that is proposed and written is one, with the lines of both."""
    total = sum((file.count for file in files), Count())
    return replace(total, files=len({file.place or file.key for file in files}))


def _file_block(
    file: ListedFile, bodies: Mapping[FileKey, Body], folded: Collection[FileKey], left: int
) -> tuple[Block, bool]:
    """A file with about this number of lines of its body at most, and whether nothing of it is left out."""
    if not is_open(file, folded):
        return Block(file.key, _file_line(file, is_open=False), "F", file), True
    line = _file_line(file, is_open=True)
    if (body := bodies.get(file.key)) is None:
        return Block(file.key, line, "F", file), False
    count = min(max(left, 1), body.lines)
    text, kinds = body.text[: body.starts[count]], body.kinds[:count]
    return Block(file.key, line + text, f"F{kinds}", file, body), count == body.lines


def to_come(turns: Sequence[ReviewTurn], folded: Collection[FileKey], after: FileKey) -> list[FileKey]:
    """The files from one on whose bodies are shown, in the order of the Review."""
    keys = [file.key for turn in turns for file in turn.files if is_open(file, folded)]
    return keys[keys.index(after) :] if after in keys else keys


def is_open(file: ListedFile, folded: Collection[FileKey]) -> bool:
    """Whether a file is unfolded."""
    return (file.key in folded) == file.is_whole


def _turn_line(turn: ReviewTurn, files: Sequence[ListedFile]) -> str:
    words = f"“{turn.words}”" if turn.words else ""
    count = _count(files)
    said = " · ".join(filter(None, (turn.agent or "Changed outside", turn.at, words)))
    again = _line(f"changed again later: {', '.join(turn.again)}") if turn.again else ""
    return f"{TURN}{_line(said)}{SPLIT}  {'  '.join(filter(None, (str(count) if files else '', again)))}\n"


def _file_line(file: ListedFile, *, is_open: bool) -> str:
    moved = f"{file.renamed_from} → {file.path}" if file.renamed_from else file.path
    # The syntax knows a file's language by what is before the no-break space.
    line = f"{OPEN if is_open else FOLDED}{_line(moved)}{SPLIT}  {file.count.lines}"
    return f"{line}  {_line(file.said)}\n" if file.said else f"{line}\n"


_SPACES = re.compile(r"\s+")


def _line(text: str) -> str:
    """A text that is not ours in a line of ours: without line breaks, signs of ours and characters of no width."""
    flat = visible_name(_SPACES.sub(" ", text[: 2 * _LONGEST]).strip())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"
