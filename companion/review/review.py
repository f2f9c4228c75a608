"""One proposed change: what is proposed, by whom, and its state, which one instance of the package leaves the next."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, NamedTuple, Protocol

from ..editor import ReviewId, WindowId
from ..exclusion import shortened
from ..protocol import DiffOutcome
from .changes import Revert
from .disk import DiskFile, Encodings, SourceText, Stamp

COSTLY_LINES = 5_000
"""With mixed line endings, a text of more lines is restored off the event loop."""

_SAME = ("file_path", "disk_state", "seen", "endings", "keeps_endings", "orphaned", "views")
_NEWER = ("reason", "connected", "title", "outcome", "moved_to")
"""The attributes of a review that are plain data as they are; those that versions before have not left."""


@dataclass(frozen=True, slots=True)
class Request:
    """A chat asks before it changes a file. Only the person answers."""

    old: str
    """The current content of the file, according to the daemon."""
    is_here: bool = True
    """Whether the file is on this machine. If not, no file is read."""
    is_editable: bool = False
    """Whether an edited proposal is what is written. A daemon takes a yes or a no, but no text."""
    is_part: bool = False
    """Whether only a piece of the file is known, and not where it belongs."""


class Owner(Protocol):
    """The session or the chat that opened a diff. Nobody else is told the outcome."""

    @property
    def window(self) -> WindowId:
        """The window that the session belongs to."""
        ...

    @property
    def cli(self) -> str:
        """The name of the CLI, for messages."""
        ...

    @property
    def is_model(self) -> bool:
        """Whether it is told the accepted text as the answer of a tool, and writes it whenever it gets to it."""
        ...

    def notify(self, outcome: DiffOutcome, /) -> None:
        """Send a notification on the session's stream, or as soon as that is back."""
        ...

    def handed_over(self) -> dict[str, Any]:
        """What the next instance of the package needs to find this owner again, as plain data."""
        ...


DiskState = Literal["same", "changed", "deleted", "unreadable"]
"""How the file compares with what the diff shows."""
Outcome = Literal["", "accepted", "rejected"]
"""What the person has answered; nothing as long as the review is open, or if it was closed without an answer."""


@dataclass(eq=False)
class Review:
    """One proposed change. `file_path` is exactly the string that openDiff got, and is sent back unchanged."""

    owner: Owner
    file_path: str
    proposed: SourceText
    number: ReviewId
    disk: DiskFile = field(default_factory=DiskFile)
    """The file as the diff shows it."""
    encodings: Encodings = field(default_factory=Encodings)
    """How the editor decodes the file."""
    disk_state: DiskState = "same"
    seen: Stamp = None
    """The stamp at the last look."""
    endings: str = ""
    """What differs besides the text, such as "LF → CRLF in 120 lines"."""
    keeps_endings: bool = False
    """That difference is reverted: what is accepted has the endings and the byte order mark of the file."""
    unmarked: str = ""
    """Why the changes can't be marked, in words; empty if they can, or if nobody has looked yet."""
    is_shown: bool = False
    """The file has been read, and the diff is on the screen or about to be."""
    reason: str = ""
    """What the agent has said just before it, if that is known for sure. It is the agent's text."""
    connected: float | None = None
    """When the CLI in a terminal that proposes it has connected, in Unix time; None if it comes from elsewhere."""
    title: str = ""
    """What the CLI calls the conversation, if it says. It is the agent's text."""
    orphaned: bool = False
    """The session is gone: nobody waits for the outcome."""
    outcome: Outcome = ""
    moved_to: WindowId | None = None
    """The window to which the person has dragged its diff; None if that is the one of its owner."""
    views: dict[str, Any] | None = None
    """What the editor needs to go on with its views after a reload; None while it has them or if there are none.

    Only the editor's thread changes it, so that a reload in the middle of another one loses nothing.
    """
    reverts: list[Revert] = field(default_factory=list[Revert])
    """What the person has reverted in the proposal and can take back: the latest last."""
    request: Request | None = None
    """The request of a chat; None for a proposal of a CLI, which the person may edit."""

    @property
    def window(self) -> WindowId:
        """The window in which the person has it: what is said of it is said there."""
        return self.owner.window if self.moved_to is None else self.moved_to

    @property
    def is_editable(self) -> bool:
        """Whether the person may change the proposal."""
        return self.request is None or self.request.is_editable

    @property
    def is_here(self) -> bool:
        """Whether the file is on this machine."""
        return self.request is None or self.request.is_here

    @property
    def can_reload(self) -> bool:
        """Whether the file on disk is no longer what the diff shows, and can be compared again."""
        return self.disk_state in ("changed", "deleted") and self.is_editable

    def restored(self, text: str) -> str:
        """The content for the text of the proposal's view."""
        file = self.disk.source
        if self.keeps_endings and self.disk.exists:
            return file.source if text == file.shown else file.adapt(text, self.proposed)
        return self.proposed.restore(text, file)

    @property
    def is_costly(self) -> bool:
        """Whether `restored` takes long: a large text with mixed line endings."""
        kept = self.disk.source if self.keeps_endings else self.proposed
        return len(kept.endings) > COSTLY_LINES and len(set(kept.endings)) > 1

    @property
    def name(self) -> str:
        """The file's name, cut if it is one that no system takes."""
        return shortened(os.path.basename(self.file_path.rstrip(os.sep)) or self.file_path, 255)

    @property
    def original(self) -> str:
        """The file on disk as a view shows it."""
        return self.disk.source.shown

    @property
    def shown(self) -> str:
        """The proposal as a view shows it."""
        return self.proposed.shown


class Answered(NamedTuple):
    """The person's answer to a proposal."""

    at: float
    """Unix time."""
    review: Review
    """With its outcome."""
    text: str
    """As a view shows it."""
    is_passed: bool = False
    """*Take Back* has passed over it: it was accepted, and not on the disk then."""


class Unclaimed:
    """The owner of a review whose chat has not asked again yet. It remembers the outcome."""

    is_model = False

    def __init__(self, window: WindowId, cli: str) -> None:
        self.window = window
        self.cli = cli
        self.heard: list[DiffOutcome] = []

    def notify(self, outcome: DiffOutcome) -> None:
        """Keep an outcome until the owner is back."""
        self.heard.append(outcome)

    def handed_over(self) -> dict[str, Any]:
        """Nothing: the owner is known already."""
        return {}


def to_plain(review: Review) -> dict[str, Any]:
    """A review as plain data. `rejected` is the notification to send if nobody takes it."""
    disk = review.disk
    return {
        "number": int(review.number),
        "cli": review.owner.cli,
        "owner": review.owner.handed_over(),
        "proposed": review.proposed.source,
        "disk": {**vars(disk), "source": disk.source.source},
        "encodings": asdict(review.encodings),
        "reverts": [tuple(revert) for revert in review.reverts],
        "request": asdict(review.request) if review.request else None,
        "rejected": DiffOutcome(review.file_path).message,
        **{name: getattr(review, name) for name in (*_SAME, *_NEWER)},
    }


def from_plain(left: Mapping[str, Any], owner: Owner) -> Review:
    """The review that was left. Raises LookupError or TypeError if another version of the package has left it."""
    disk: dict[str, Any] = {
        each.name: left["disk"][each.name] for each in fields(DiskFile) if each.name in left["disk"]
    }
    disk["source"] = SourceText(disk["source"])
    request: dict[str, Any] | None = left["request"]
    return Review(
        owner,
        proposed=SourceText(left["proposed"]),
        number=ReviewId(left["number"]),
        disk=DiskFile(**disk),
        encodings=Encodings(**left["encodings"]),
        request=Request(**request) if request else None,
        reverts=[Revert(*each) for each in left.get("reverts", ())],
        is_shown=left["views"] is not None,
        **{name: left[name] for name in _SAME},
        **{name: left[name] for name in _NEWER if name in left},
    )
