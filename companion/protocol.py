"""The messages between a CLI and the companion (companion-spec.md C and D, qwen-ide.md §5 and §6).

Field names are camelCase on the wire. A field without a value is left out, never null: a CLI disconnects at a null.
"""

from __future__ import annotations

import os
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictStr, TypeAdapter
from pydantic.alias_generators import to_camel


class _Message(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, frozen=True)


def _absolute(path: str) -> str:
    if not os.path.isabs(path):
        raise ValueError("must be an absolute path")
    if "\0" in path:
        raise ValueError("must not hold a NUL character")
    return path


FilePath = Annotated[StrictStr, AfterValidator(_absolute)]


class Cursor(_Message):
    """A caret. Both numbers count from 1, `character` in UTF-16 units."""

    line: int
    character: int


class File(_Message):
    """An open file. Only the focused file has `is_active`, `cursor` and `selected_text`."""

    path: str
    timestamp: int
    """Unix time of the last focus, in milliseconds."""
    is_active: bool | None = None
    cursor: Cursor | None = None
    selected_text: str | None = None


class WorkspaceState(_Message):
    """The open files and the folder's trust."""

    open_files: list[File]
    is_trusted: bool | None = None


class IdeContext(_Message):
    """The whole context; each update replaces the previous one."""

    workspace_state: WorkspaceState


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
        description="The person has answered in the terminal. closeDiff never sends a notification in any case.",
    )


class DiffOutcomeParams(_Message):
    """The diff that was decided on. `file_path` is exactly the string that `openDiff` got."""

    file_path: str


class DiffAcceptedParams(DiffOutcomeParams):
    """The accepted diff with its final text."""

    content: str


class _Notification(_Message):
    @cached_property
    def event(self) -> bytes:
        """The notification as an event of a session's stream. It is made once for all sessions."""
        message = self.model_dump_json(by_alias=True, exclude_none=True)
        return b'event: message\r\ndata: {"jsonrpc":"2.0",' + message.encode().removeprefix(b"{") + b"\r\n\r\n"


class ContextUpdate(_Notification):
    """Notification: the context has changed."""

    method: Literal["ide/contextUpdate"] = "ide/contextUpdate"
    params: IdeContext


class DiffAccepted(_Notification):
    """Notification: the person has accepted a diff."""

    method: Literal["ide/diffAccepted"] = "ide/diffAccepted"
    params: DiffAcceptedParams


class DiffRejected(_Notification):
    """Notification: the person has rejected a diff."""

    method: Literal["ide/diffRejected"] = "ide/diffRejected"
    params: DiffOutcomeParams


Notification = ContextUpdate | DiffAccepted | DiffRejected


def outcome(message: object) -> DiffAccepted | DiffRejected:
    """The outcome of a diff from its JSON object."""
    return _OUTCOME.validate_python(message)


_OUTCOME: TypeAdapter[DiffAccepted | DiffRejected] = TypeAdapter(DiffAccepted | DiffRejected)
