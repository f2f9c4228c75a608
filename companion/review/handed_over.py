"""Open reviews as plain data, in which one instance of the package leaves them to the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..editor import ReviewId, WindowId
from ..protocol import DiffOutcomeParams, DiffRejected, Notification
from .disk import DiskFile, Encodings
from .review import Owner, Request, Review
from .source_text import SourceText
from .targets import Revert

_SAME = ("file_path", "disk_state", "seen", "endings", "keeps_endings", "orphaned", "views")
_NEWER = ("reason", "connected", "title", "outcome", "moved_to")
"""The attributes of a review that are plain data as they are; those that versions before have not left."""


class Unclaimed:
    """The owner of a review whose chat has not asked again yet. It remembers the outcome."""

    is_model = False

    def __init__(self, window: WindowId, cli: str) -> None:
        self.window = window
        self.cli = cli
        self.heard: list[Notification] = []

    def notify(self, notification: Notification) -> None:
        """Keep an outcome until the owner is back."""
        self.heard.append(notification)

    def handed_over(self) -> dict[str, Any]:
        """Nothing: the owner is known already."""
        return {}


def to_plain(review: Review) -> dict[str, Any]:
    """A review as plain data. `rejected` is the notification to send if nobody takes it."""
    disk = review.disk
    rejected = DiffRejected(params=DiffOutcomeParams(file_path=review.file_path))
    return {
        "number": int(review.number),
        "cli": review.owner.cli,
        "owner": review.owner.handed_over(),
        "proposed": review.proposed.source,
        "disk": {"source": disk.source.source, "exists": disk.exists, "is_text": disk.is_text, "stamp": disk.stamp},
        "encodings": asdict(review.encodings),
        "reverts": [tuple(revert) for revert in review.reverts],
        "request": asdict(review.request) if review.request else None,
        "rejected": rejected.model_dump(by_alias=True),
        **{name: getattr(review, name) for name in (*_SAME, *_NEWER)},
    }


def from_plain(left: Mapping[str, Any], owner: Owner) -> Review:
    """The review that was left. Raises LookupError or TypeError if another version of the package has left it."""
    disk: dict[str, Any] = left["disk"]
    request: dict[str, Any] | None = left["request"]
    return Review(
        owner,
        proposed=SourceText(left["proposed"]),
        number=ReviewId(left["number"]),
        disk=DiskFile(SourceText(disk["source"]), disk["exists"], disk["is_text"], disk["stamp"]),
        encodings=Encodings(**left["encodings"]),
        request=Request(**request) if request else None,
        reverts=[Revert(*each) for each in left.get("reverts", ())],
        is_shown=left["views"] is not None,
        **{name: left[name] for name in _SAME},
        **{name: left[name] for name in _NEWER if name in left},
    )
