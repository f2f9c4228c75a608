"""The port: what the companion asks of an editor, and the plain values that cross it.

Every method is called on the companion thread; an adapter brings the call to the thread that the editor wants.
This module is imported before the libraries are, so it needs the standard library alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .chat.prompt import Draft
    from .chat.transcript.frame import Frame
    from .review.changes import Edit
    from .review.marks import Marks
    from .review.reviews import Review


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the companion itself needs."""

    is_trusted: bool | None = None
    """What `isTrusted` says; None leaves the field out, so that the CLI's own folder trust rules."""
    show_diffs: bool = True
    """Whether the CLIs are offered diffs; without, they ask in their terminals alone."""
    legacy_discovery_files: bool = True
    """Whether CLIs from before Qwen Code 0.5.2 find the editor: they look for files of other names."""
    max_marked_bytes: int = 5 * 1024 * 1024
    """A text with more characters opens without marks."""
    max_marked_lines: int = 100_000
    """A text with more lines opens without marks."""


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """The settings of the chat, as they stand in the file; the environment fills what they leave empty (F1)."""

    enabled: bool = False
    managed: bool = True
    """Whether a private `qwen serve` is started where neither the settings nor the environment name an address."""
    url: str = ""
    token: str = field(default="", repr=False)
    """Never to be shown or logged (F7)."""
    command: str | tuple[str, ...] = ("qwen",)
    """What runs Qwen Code."""


@dataclass(frozen=True, slots=True)
class WindowStatus:
    """What there is to say of a window in a few words."""

    clis: tuple[str, ...] = ()
    """The names of the CLIs that are connected, in the order in which they came."""
    diffs: int = 0
    """How many diffs wait for the person."""
    questions: int = 0
    """How many questions of the chat do that no diff shows."""


@dataclass(frozen=True, slots=True)
class Window:
    """A window that is to be served, and the port that it had before; 0 for none."""

    id: int
    folders: tuple[str, ...]
    port: int = 0


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A view of a window that shows a file, which need not exist on disk."""

    view: int
    path: str

    @property
    def folder(self) -> str:
        """The folder that the file is in."""
        return os.path.dirname(self.path)


@dataclass(frozen=True, slots=True)
class WindowState:
    """A window's folders, and those of the asked views that are still in it and show a file, in the asked order."""

    folders: tuple[str, ...]
    files: tuple[OpenFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Where the caret of a view is and what is selected there.

    `line` and `character` count from 1, `character` in UTF-16 units. `text` may be cut: it holds at least the first
    units that were asked for.
    """

    line: int
    character: int
    text: str = ""


class Editor(Protocol):
    """What the companion asks of an editor. An answer of None means that the window or the view is gone."""

    def listening(self, window: int, port: int) -> None:
        """A window is served on this port, which it should have again after a reload or a restart."""
        ...

    def show_status(self, window: int, status: WindowStatus) -> None:
        """Say in passing which CLIs are connected, how many diffs and questions wait. Called when that changes."""
        ...

    async def window_state(self, window: int, views: Sequence[int]) -> WindowState | None:
        """The window's folders and what the given views show."""
        ...

    async def selection(self, view: int, limit: int) -> Selection | None:
        """The caret and the selected text of a view, of which the first `limit` characters are enough."""
        ...

    async def show_review(self, review: Review, marks: Marks | None) -> None:
        """Open the diff of a review without taking the focus; without marks if the texts can't be compared."""
        ...

    def show_marks(self, review: Review, marks: Marks, version: int) -> None:
        """Mark the changes of a proposal that has been edited, if it still is at this version."""
        ...

    def edit_review(self, review: Review, edit: Edit, version: int) -> None:
        """Edit the proposal, if it still is at this version."""
        ...

    def review_changed_on_disk(self, review: Review) -> None:
        """Warn: the file is no longer what the diff shows."""
        ...

    async def review_text(self, review: Review) -> str | None:
        """The proposal as it stands in its view, with plain line feeds."""
        ...

    def dismiss_review(self, review: Review) -> None:
        """Close the diff's views; the review has its outcome."""
        ...

    def orphan_review(self, review: Review) -> None:
        """Mark the diff: nobody waits for it any more. Its views stay until the person closes them."""
        ...

    def keep_text(self, window: int, title: str, text: str, why: str) -> None:
        """Show text that would be lost in a view of its own, and say why it is there."""
        ...

    async def show_chat(self, window: int, frame: Frame) -> bool:
        """Bring a window's chat up to date. Returns False if the window shows none.

        It is awaited before the next frame is made, so that a busy editor gets fewer of them.
        """
        ...

    def return_draft(self, window: int, draft: Draft, why: str) -> None:
        """Put what the person has written back into the chat's prompt, and say why."""
        ...

    def mention(self, message: str, window: int) -> None:
        """Tell the person one sentence in passing."""
        ...

    def say(self, message: str, window: int | None = None) -> None:
        """Tell the person of a problem so that it can be read later too; without a window, in the one in front."""
        ...
