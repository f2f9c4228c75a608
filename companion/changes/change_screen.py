"""What the changes need from an editor."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from ..editor import ChatId, WindowId
from ..review.changes import Count
from ..review.review_screen import FileScreen

if TYPE_CHECKING:
    from ..settings import Settings
    from .rows import ChangeRow


PointKind = Literal["branch", "tag", "commit"]
SHORT = 10
"""Digits of a commit's id that are shown."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What is to be reviewed in a window, and what was reviewed since something waited last."""

    rows: tuple[ChangeRow, ...] = ()
    done: tuple[tuple[ChangeRow, str], ...] = ()
    """Files of which nothing waits any more, each with "kept" or "undone"."""
    unsure: str = ""
    """Why nobody can say that nothing waits, as a sentence; empty if somebody can."""
    by_git: int = 0
    """How many of the files were changed as git was used, which may have been the person."""
    has_checkpoints: bool = False
    """Whether the files can be brought back to what they were before a prompt."""
    can_take_back: bool = False
    """Whether something was decided, or answered, that may be taken back."""
    has_rejected: bool = False
    """Whether the text of a proposal that was rejected, in whatever window, can be reopened."""
    disk: tuple[str, ...] = ()
    """Identifies the folders as the last scans have found them, while something else compares them as well."""
    _by_path: Mapping[str, ChangeRow] = field(init=False, repr=False, compare=False)
    """The rows by their absolute paths, as `os.path.normcase` has them.

    Each tab asks for its own: to look for it would take longer with each row.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_path", {os.path.normcase(row.full_path): row for row in self.rows})

    def row_at(self, path: str) -> ChangeRow | None:
        """The row of a file, by its real path, in whatever case that is; None if nothing of it waits."""
        return self._by_path.get(os.path.normcase(path))

    @property
    def count(self) -> Count:
        """How much waits."""
        return sum((row.count for row in self.rows), Count())

    @property
    def agents(self) -> tuple[str, ...]:
        """Who was at work when they were written."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.agents))


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The changes of a file that is open: what the editor needs to mark them."""

    path: str
    """The absolute path."""
    baseline: str
    """The text of the baseline, with plain line feeds."""
    text: str
    """The text that was compared with it, with plain line feeds. The marks fit to no other one."""
    changes: tuple[tuple[int, int, int, int, str], ...]
    """From the top: the lines in the baseline and in the text, half-open, from 0; and the key of the change."""
    agents: tuple[str, ...]
    after: str
    """Identifies what is on the disk."""
    new: frozenset[str] = frozenset()
    """The keys of the changes that were made since comments were sent."""
    going: frozenset[str] = frozenset()
    """The keys of those that are undone when the turn ends; an empty one stands for all."""


@dataclass(frozen=True, slots=True)
class FileTurn:
    """A prompt after which an agent has changed a file that waits."""

    key: str
    """The same for all files of the prompt, in all folders of a window."""
    agent: str
    at: float
    """When it was sent, in Unix time."""
    words: str
    """Its first words."""


@dataclass(frozen=True, slots=True)
class SavedText:
    """What the editor knows of a save of the person's. Texts are as in a view, with plain line feeds."""

    loaded: str | None = None
    """The text that the tab had in common with the file before; None if that isn't known."""
    text: str | None = None
    """The text of the tab after the save; None if that isn't known."""
    found: bytes | None = None
    """What was on the disk just before the save, if that was something else than what was loaded."""
    is_lost: bool = False
    """Whether something else was there and could not be read."""
    since: int = 0
    """When the editor began to write the file, in nanoseconds of Unix time; 0 if that isn't known."""
    until: int = 0
    """When it had written it."""


@dataclass(frozen=True, slots=True)
class SincePoint:
    """Something that a folder can be compared with."""

    root: str
    name: str
    """As the person knows it, such as “main”."""
    kind: PointKind
    id: str
    """Of a branch, what it has now: it is compared with the commit where `HEAD` has left it."""
    at: float = 0.0
    """Unix time; 0 if that isn't known."""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class SinceListing:
    """What differs."""

    point: SincePoint
    """By now that of a commit."""
    rows: tuple[ChangeRow, ...] = ()
    trouble: str = ""
    """Why nothing can be said, as a sentence; empty if something can."""
    left_out: int = 0
    """Files whose content in the commit isn't there to compare, or is too large."""


class ChangeViews(Protocol):
    """The written changes on the screen, called on the companion thread."""

    def show_changes(self, window: WindowId, listing: Listing) -> None:
        """Show what waits in a window. Called when that changes."""
        ...

    def offer_take_back(self, window: WindowId, said: str) -> None:
        """Say for ten seconds what the person has decided, such as “Accepted a.py”, and how that is taken back."""
        ...

    def save_overwritten(self, window: WindowId, path: str, agents: Sequence[str], text: str) -> None:
        """A save of the person has overwritten what agents had written: offer once to compare the text lost there."""
        ...

    def turn_changed(self, window: WindowId, agent: str, files: int) -> None:
        """A turn is over, or a CLI has been quiet for a while, and this many files have changed in it: say so once."""
        ...


class UnsavedViews(Protocol):
    """The tabs with unsaved text, called on the companion thread."""

    def written_below(self, path: str, agents: Sequence[str], before: bytes | None) -> None:
        """Agents have written a file that is open. A tab with unsaved text of it says so, once. `path` is absolute.

        `before` is what was on the disk before the scan that has found it; None if that was no text, or isn't known.
        """
        ...


class ChangeScreen(FileScreen, Protocol):
    """What the changes need of the screen."""

    @property
    def written(self) -> ChangeViews:
        """The written changes."""
        ...

    @property
    def unsaved(self) -> UnsavedViews:
        """The tabs with unsaved text."""
        ...


class Work(Protocol):
    """What the rounds need from whoever serves the windows."""

    def folders_of(self, window: WindowId) -> tuple[str, ...]:
        """The folders of a window."""
        ...

    def settings_of(self, window: WindowId) -> Settings:
        """The settings of a window."""
        ...

    def changes_changed(self) -> None:
        """Something waits for a review, or no longer."""
        ...

    def turn_written(self, chat: ChatId, turn: str, files: int) -> None:
        """So many files were found to be changed in a turn of a chat that has ended."""
        ...
