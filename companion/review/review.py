"""One proposed change: what was asked, by whom, and how it stands."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field
from typing import Protocol

from ..protocol import Notification
from .disk import DiskFile
from .source_text import SourceText


@dataclass(frozen=True, slots=True)
class Request:
    """A chat asks before it changes a file (companion-spec.md F3).

    The person alone answers; the chat's daemon takes a yes or a no, but no other text.
    """

    old: str
    """What the file holds now, as the daemon says."""
    is_here: bool = True
    """Whether the file is on this machine. If it isn't, none is read."""


class Owner(Protocol):
    """The session or the chat that opened a diff, and alone hears of its outcome."""

    @property
    def window(self) -> int:
        """The window that the session belongs to."""
        ...

    @property
    def cli(self) -> str:
        """The name of the CLI, for messages."""
        ...

    def notify(self, notification: Notification) -> None:
        """Send a notification on the session's stream, or as soon as that is back."""
        ...


@dataclass(eq=False)
class Review:
    """One proposed change. `file_path` is the very string that openDiff got, and is said back as it is."""

    owner: Owner
    file_path: str
    proposed: SourceText
    number: int = field(default_factory=itertools.count(1).__next__)
    disk: DiskFile = field(default_factory=DiskFile)
    """The file as the diff shows it."""
    is_shown: bool = False
    """The file has been read and the diff is, or is about to be, on the screen."""
    orphaned: bool = False
    """The session is gone: nobody waits for the outcome."""
    request: Request | None = None
    """What a chat asks; None for a CLI's proposal, which the person may edit."""

    @property
    def is_editable(self) -> bool:
        """Whether the person may change the proposal."""
        return self.request is None

    @property
    def is_here(self) -> bool:
        """Whether the file is on this machine."""
        return self.request is None or self.request.is_here

    @property
    def name(self) -> str:
        """The file's name."""
        return os.path.basename(self.file_path)

    @property
    def original(self) -> str:
        """The file on disk as a view shows it."""
        return self.disk.source.shown

    @property
    def shown(self) -> str:
        """The proposal as a view shows it."""
        return self.proposed.shown
