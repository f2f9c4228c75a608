"""The messages between a CLI and the companion (docs/protocols/qwen-ide.md#context).

Field names are camelCase on the wire. A field without a value is left out, never null: a CLI disconnects at a null.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictStr
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

LONGEST_PATH = 32_767
"""Characters. No system has a longer path."""


def _absolute(path: str) -> str:
    if not os.path.isabs(path):
        raise ValueError("must be an absolute path")
    if "\0" in path:
        raise ValueError("must not hold a NUL character")
    if len(path) > LONGEST_PATH:
        raise ValueError(f"must not be longer than {LONGEST_PATH} characters")
    return path


FilePath = Annotated[StrictStr, AfterValidator(_absolute)]


@dataclass(frozen=True, slots=True)
class Cursor:
    """A caret. Both numbers count from 1, `character` in UTF-16 units."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class File:
    """An open file. Only the focused file has `is_active`, `cursor` and `selected_text`."""

    path: str
    timestamp: int
    """Unix time of the last focus, in milliseconds."""
    is_active: bool | None = None
    cursor: Cursor | None = None
    selected_text: str | None = None

    @property
    def message(self) -> dict[str, object]:
        """As a JSON object."""
        message: dict[str, object] = {"path": self.path, "timestamp": self.timestamp}
        if self.is_active is not None:
            message["isActive"] = self.is_active
        if self.cursor is not None:
            message["cursor"] = {"line": self.cursor.line, "character": self.cursor.character}
        if self.selected_text is not None:
            message["selectedText"] = self.selected_text
        return message


@dataclass(frozen=True)
class IdeContext:
    """Notification: the open files and the folder's trust have changed. Each one replaces the one before.

    It is made of plain values, since it is sent far more often than the others.
    """

    open_files: Sequence[File]
    is_trusted: bool | None = None

    @property
    def message(self) -> dict[str, object]:
        """The context as a JSON object."""
        state: dict[str, object] = {"openFiles": [file.message for file in self.open_files]}
        if self.is_trusted is not None:
            state["isTrusted"] = self.is_trusted
        return {"workspaceState": state}

    @cached_property
    def event(self) -> bytes:
        """The notification as an event of a session's stream, made once for all sessions.

        Raises ValueError for a text with half of a surrogate pair, which can't be sent.
        """
        return _event(to_json({"jsonrpc": "2.0", "method": "ide/contextUpdate", "params": self.message}))


class _Arguments(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, frozen=True)


class OpenDiffArguments(_Arguments):
    """Arguments of the tool `openDiff`."""

    file_path: FilePath = Field(description="Absolute path of the file that the change is for.")
    new_content: StrictStr = Field(description="The whole proposed text of the file.")


class CloseDiffArguments(_Arguments):
    """Arguments of the tool `closeDiff`."""

    file_path: StrictStr = Field(description="The path that was passed to openDiff.")
    suppress_notification: StrictBool = Field(
        default=False,
        description="The user has answered in the terminal. closeDiff never sends a notification in any case.",
    )


@dataclass(frozen=True)
class DiffOutcome:
    """Notification: the person has accepted a diff, or rejected it. `file_path` is exactly what `openDiff` got."""

    file_path: str
    content: str | None = None
    """The final text; None if the diff is rejected."""

    @property
    def message(self) -> dict[str, Any]:
        """As a JSON object, without the version of JSON-RPC."""
        if self.content is None:
            return {"method": "ide/diffRejected", "params": {"filePath": self.file_path}}
        return {"method": "ide/diffAccepted", "params": {"filePath": self.file_path, "content": self.content}}

    @cached_property
    def event(self) -> bytes:
        """The notification as an event of a session's stream. Raises ValueError as that of a context."""
        return _event(to_json({"jsonrpc": "2.0", **self.message}))


def _event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


Notification = IdeContext | DiffOutcome


def moved(notification: Notification, move: Callable[[str], str]) -> Notification:
    """A notification with other paths."""
    if isinstance(notification, DiffOutcome):
        return replace(notification, file_path=move(notification.file_path))
    files = [replace(file, path=move(file.path)) for file in notification.open_files]
    return replace(notification, open_files=files)


def is_sendable(notification: Notification) -> bool:
    """Whether there is an event of a notification."""
    try:
        return bool(notification.event)
    except ValueError:
        return False


def outcome(message: Mapping[str, Any]) -> DiffOutcome:
    """The outcome of a diff from its JSON object. Raises KeyError for anything else."""
    return DiffOutcome(message["params"]["filePath"], message["params"].get("content"))
