"""The messages between a CLI and the companion (docs/protocols/qwen-ide.md#context).

Field names are camelCase on the wire. A field without a value is left out, never null: a CLI disconnects at a null.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictStr, TypeAdapter
from pydantic.alias_generators import to_camel
from pydantic_core import to_json


class _Message(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, frozen=True)


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


@dataclass(frozen=True, slots=True)
class IdeContext:
    """The open files and the folder's trust; each update replaces the previous one."""

    open_files: Sequence[File]
    is_trusted: bool | None = None

    @property
    def message(self) -> dict[str, object]:
        """As a JSON object."""
        state: dict[str, object] = {"openFiles": [file.message for file in self.open_files]}
        if self.is_trusted is not None:
            state["isTrusted"] = self.is_trusted
        return {"workspaceState": state}


class _Arguments(_Message):
    model_config = ConfigDict(validate_by_name=False)


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


class DiffOutcomeParams(_Message):
    """The diff that was decided on. `file_path` is exactly the string that `openDiff` got."""

    file_path: str


class DiffAcceptedParams(DiffOutcomeParams):
    """The accepted diff with its final text."""

    content: str


@dataclass(frozen=True)
class ContextUpdate:
    """Notification: the context has changed. Made of plain values: it is sent far more often than all the others."""

    params: IdeContext

    @cached_property
    def event(self) -> bytes:
        """The notification as an event of a session's stream, made once for all sessions.

        Raises ValueError for a text with half of a surrogate pair, which can't be sent.
        """
        return _event(to_json({"jsonrpc": "2.0", "method": "ide/contextUpdate", "params": self.params.message}))


class _Outcome(_Message):
    @cached_property
    def event(self) -> bytes:
        """The notification as an event of a session's stream."""
        return _event(to_json({"jsonrpc": "2.0", **self.model_dump(by_alias=True, exclude_none=True)}))


def _event(message: bytes) -> bytes:
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"


class DiffAccepted(_Outcome):
    """Notification: the person has accepted a diff."""

    method: Literal["ide/diffAccepted"] = "ide/diffAccepted"
    params: DiffAcceptedParams


class DiffRejected(_Outcome):
    """Notification: the person has rejected a diff."""

    method: Literal["ide/diffRejected"] = "ide/diffRejected"
    params: DiffOutcomeParams


Notification = ContextUpdate | DiffAccepted | DiffRejected


def moved(notification: Notification, move: Callable[[str], str]) -> Notification:
    """A notification with other paths."""
    if isinstance(notification, ContextUpdate):
        files = [replace(file, path=move(file.path)) for file in notification.params.open_files]
        return ContextUpdate(params=replace(notification.params, open_files=files))
    path = move(notification.params.file_path)
    # Made anew: a copy would have the event of the first path.
    if isinstance(notification, DiffAccepted):
        return DiffAccepted(params=DiffAcceptedParams(file_path=path, content=notification.params.content))
    return DiffRejected(params=DiffOutcomeParams(file_path=path))


def is_sendable(notification: Notification) -> bool:
    """Whether there is an event of a notification."""
    try:
        return bool(notification.event)
    except ValueError:
        return False


def outcome(message: object) -> DiffAccepted | DiffRejected:
    """The outcome of a diff from its JSON object."""
    return _OUTCOME.validate_python(message)


_OUTCOME: TypeAdapter[DiffAccepted | DiffRejected] = TypeAdapter(DiffAccepted | DiffRejected)
