"""What the tools for agents take and return, as models whose JSON schemas the agents get.

All places count from 1. `character` counts in UTF-16 units, as in the context of a CLI.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr
from pydantic.alias_generators import to_camel

from ..problems import Severity
from ..protocol import FilePath

MOST = 500
"""Rows in one answer."""
MOST_PATHS = 100
MOST_LINES = 2**31 - 1
"""The last line or character that can be asked for; the editor takes no larger number."""
LONGEST_WAIT = 5.0
"""Seconds that a tool waits for a language server."""


class _Arguments(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=False, validate_by_alias=True, frozen=True)


class _Answer(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, serialize_by_alias=True, from_attributes=True, frozen=True
    )


class NoArguments(_Arguments):
    """A tool that takes nothing."""


class _Paged(_Arguments):
    limit: Annotated[StrictInt, Field(ge=1, le=MOST)] = Field(default=100, description="The most rows to return.")
    cursor: StrictStr | None = Field(default=None, description="The nextCursor of the answer before this page.")

    @property
    def offset(self) -> int:
        """The first row of the page. Raises ValueError for a cursor that is none of ours."""
        if self.cursor is None:
            return 0
        if not (self.cursor.isascii() and self.cursor.isdigit() and len(self.cursor) < 10):
            raise ValueError("cursor: it must be the nextCursor of an answer")
        return int(self.cursor)


class GetDiagnosticsArguments(_Paged):
    """Arguments of `getDiagnostics`."""

    paths: Annotated[list[FilePath], Field(max_length=MOST_PATHS)] | None = Field(
        default=None, description="Absolute paths of the files. Without it, the problems of the whole window."
    )
    severity: Severity = Field(default="hint", description="The lowest severity to return.")
    wait_seconds: Annotated[float, Field(ge=0, le=LONGEST_WAIT)] = Field(
        default=LONGEST_WAIT, description="How long to wait at most for the language server to finish."
    )


class GetOpenFilesArguments(_Paged):
    """Arguments of `getOpenFiles`."""


class FindSymbolArguments(_Paged):
    """Arguments of `findSymbol`."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=500)] = Field(
        description="The name of a function, a class or the like."
    )


class FindReferencesArguments(_Paged):
    """Arguments of `findReferences`."""

    name: Annotated[StrictStr, Field(max_length=500)] = Field(
        default="", description="The symbol's name. Not needed with path, line and character."
    )
    path: FilePath | None = Field(default=None, description="Absolute path of a file that has the symbol.")
    line: Annotated[StrictInt, Field(ge=1, le=MOST_LINES)] = Field(
        default=1, description="The symbol's line in it, from 1."
    )
    character: Annotated[StrictInt, Field(ge=1, le=MOST_LINES)] = Field(
        default=1, description="The symbol's place in that line, in UTF-16 units from 1."
    )


class OpenFileArguments(_Arguments):
    """Arguments of `openFile`."""

    path: FilePath = Field(description="Absolute path of a file that exists.")
    line: Annotated[StrictInt, Field(ge=1, le=MOST_LINES)] = Field(default=1, description="The line to show, from 1.")


class PointOutArguments(_Arguments):
    """Arguments of `pointOut`."""

    path: FilePath = Field(description="Absolute path of a file in the user's folders.")
    start_line: Annotated[StrictInt, Field(ge=1, le=MOST_LINES)] = Field(description="The first line, from 1.")
    end_line: Annotated[StrictInt, Field(ge=1, le=MOST_LINES)] = Field(description="The last line.")
    note: Annotated[StrictStr, Field(min_length=1, max_length=200)] = Field(
        description="Why the user should look there, as plain text in one line."
    )
    order: Annotated[StrictInt, Field(ge=1, le=MOST_LINES)] = Field(
        default=MOST_LINES, description="Where it comes among your notes: 1 comes first."
    )


class PlaceAnswer(_Answer):
    """A place in a file."""

    line: int
    character: int


class DiagnosticAnswer(_Answer):
    """A problem. With `context` set to "files", it comes without its message."""

    path: str
    start: PlaceAnswer
    end: PlaceAnswer
    severity: Severity
    source: str
    code: str
    message: str


class _Changing(_Answer):
    new_problems: list[DiagnosticAnswer] | None = Field(
        default=None, description="Problems that your last changes have made. Fix them."
    )


class OpenDiffAnswer(_Changing):
    """What the user did with a diff."""

    outcome: Literal["accepted", "rejected"]
    content: str | None = Field(default=None, description="The accepted text, as the user wants it.")


class GetContextAnswer(_Changing):
    """The context, as docs/protocols/qwen-ide.md#context has it."""

    workspace_state: dict[str, object] | None = None


class GetDiagnosticsAnswer(_Changing):
    """A page of problems."""

    diagnostics: list[DiagnosticAnswer]
    total: int
    next_cursor: str | None = None
    provider: str = Field(description="Who reported them: LSP, SublimeLinter or build.")
    is_settled: bool = Field(description="Whether the language server had finished.")
    not_open: list[str] = Field(
        description="Paths that no tab shows. Most language servers look only at open files: call openFile first."
    )


class TabAnswer(_Answer):
    """An open file."""

    path: str
    language: str
    is_active: bool
    is_visible: bool
    has_unsaved_changes: bool


class GetOpenFilesAnswer(_Changing):
    """A page of open files."""

    files: list[TabAnswer]
    total: int
    next_cursor: str | None = None


class SelectionAnswer(_Answer):
    """One selection; it is a caret if it ends where it starts."""

    start: PlaceAnswer
    end: PlaceAnswer
    text: str
    is_cut: bool


class GetSelectionAnswer(_Changing):
    """The selections in the file that had the focus last."""

    path: str | None = Field(default=None, description="Left out if there is none that you may know.")
    selections: list[SelectionAnswer]


class SymbolAnswer(_Answer):
    """Where a symbol is."""

    path: str
    line: int
    character: int
    name: str
    kind: str
    container: str


class SymbolsAnswer(_Changing):
    """A page of places."""

    places: list[SymbolAnswer]
    total: int
    next_cursor: str | None = None
    provider: str = Field(description="Who knows them: LSP, or the editor's index, which compares names only.")


class OpenFileAnswer(_Changing):
    """Whether the place is on the screen."""

    is_shown: bool


class PointOutAnswer(_Changing):
    """How many notes the window has, with those of other agents."""

    notes: int
