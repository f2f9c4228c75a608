"""The plain records of the API: panel rows, completions, symbols, syntaxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from headless.api.command_text import format_command
from headless.api.flags import (
    KIND_AMBIGUOUS,
    KIND_SNIPPET,
    AutoCompleteFlags,
    CompletionFormat,
    CompletionItemFlags,
    PhantomLayout,
    SymbolType,
)
from headless.api.region import Region
from headless.api.types import CommandArgsLike, CompletionValue, Kind, Point

T = TypeVar("T")


def _told(item: Any, first: Iterable[str], named: Iterable[str]) -> str:
    """The representation of a record: the attributes in `first` without their names, those in `named` with them."""
    values = [repr(getattr(item, name)) for name in first]
    values += [f"{name}={getattr(item, name)!r}" for name in named]
    return f"{type(item).__name__}({', '.join(values)})"


# The records are equal only to themselves unless they say otherwise, and only some have slots: as in the editor.


@dataclass(slots=True, eq=False, repr=False)
class Html:
    """A string that is HTML."""

    data: str

    def __repr__(self) -> str:
        return f"Html({self.data})"


class CompletionList:
    """Completions, now or later."""

    def __init__(
        self,
        completions: Sequence[CompletionValue] | None = None,
        flags: AutoCompleteFlags = AutoCompleteFlags.NONE,
    ) -> None:
        self.target: int | None = None
        self.completions = completions
        self.flags = flags

    def __repr__(self) -> str:
        return _told(self, (), ("completions", "flags"))

    def set_completions(
        self,
        completions: Sequence[CompletionValue],
        flags: AutoCompleteFlags = AutoCompleteFlags.NONE,
    ) -> None:
        """Give the completions; once only, else AssertionError."""
        assert self.completions is None, "the completions have been set already"
        self.completions = completions
        self.flags = flags


@dataclass(slots=True, eq=False, repr=False)
class CompletionItem:
    """One completion."""

    trigger: str
    annotation: str = ""
    completion: str = ""
    completion_format: CompletionFormat = CompletionFormat.TEXT
    kind: Kind = KIND_AMBIGUOUS
    details: str = ""
    flags: CompletionItemFlags = CompletionItemFlags.NONE

    def __eq__(self, rhs: object) -> bool:
        return isinstance(rhs, CompletionItem) and self._values() == rhs._values()

    __hash__ = None  # type: ignore[assignment]

    def _values(self) -> tuple[Any, ...]:
        return (
            self.trigger, self.annotation, self.completion, self.completion_format, tuple(self.kind), self.details,
            self.flags,
        )  # fmt: skip

    def __repr__(self) -> str:
        named = ("annotation", "completion", "completion_format", "kind", "details", "flags")
        return _told(self, ("trigger",), named)

    @classmethod
    def snippet_completion(
        cls,
        trigger: str,
        snippet: str,
        annotation: str = "",
        kind: Kind = KIND_SNIPPET,
        details: str = "",
    ) -> CompletionItem:
        """A completion that inserts a snippet."""
        return cls(trigger, annotation, snippet, CompletionFormat.SNIPPET, kind, details)

    @classmethod
    def command_completion(
        cls,
        trigger: str,
        command: str,
        args: CommandArgsLike | None = None,
        annotation: str = "",
        kind: Kind = KIND_AMBIGUOUS,
        details: str = "",
    ) -> CompletionItem:
        """A completion that runs a command."""
        text = format_command(command, args)
        return cls(trigger, annotation, text, CompletionFormat.COMMAND, kind, details)


@dataclass(slots=True, eq=False, repr=False)
class QuickPanelItem:
    """A row of the quick panel."""

    trigger: str
    details: str | list[str] | tuple[str] = ""
    annotation: str = ""
    kind: Kind = KIND_AMBIGUOUS

    def __repr__(self) -> str:
        return _told(self, ("trigger",), ("details", "annotation", "kind"))


@dataclass(slots=True, eq=False, repr=False)
class ListInputItem(Generic[T]):
    """A row of a list input handler."""

    text: str
    value: T
    details: str | list[str] | tuple[str] = ""
    annotation: str = ""
    kind: Kind = KIND_AMBIGUOUS

    def __repr__(self) -> str:
        return _told(self, ("text",), ("value", "details", "annotation", "kind"))


@dataclass(slots=True, eq=False, repr=False)
class SymbolRegion:
    """A symbol in a view."""

    name: str
    region: Region
    syntax: str
    type: SymbolType
    kind: Kind

    def __repr__(self) -> str:
        return _told(self, ("name", "region"), ("syntax", "type", "kind"))


@dataclass(slots=True, eq=False, repr=False)
class SymbolLocation:
    """A symbol in a file."""

    path: str
    display_name: str
    row: int
    col: int
    syntax: str
    type: SymbolType
    kind: Kind

    def __repr__(self) -> str:
        return _told(self, ("path",), ("display_name", "row", "col", "syntax", "type", "kind"))

    def path_encoded_position(self) -> str:
        """`path:row:col`, as NewFileFlags.ENCODED_POSITION wants it."""
        return f"{self.path}:{self.row}:{self.col}"


@dataclass(slots=True, eq=False, repr=False)
class Syntax:
    """A syntax definition."""

    path: str
    name: str
    hidden: bool
    scope: str

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Syntax) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"Syntax({self.path!r}, {self.name!r}, {self.hidden}, {self.scope!r})"


@dataclass(slots=True, eq=False, repr=False)
class ContextStackFrame:
    """One frame of the syntax highlighting."""

    context_name: str
    source_file: str
    source_location: tuple[int, int]

    def __repr__(self) -> str:
        return _told(self, ("context_name", "source_file", "source_location"), ())


@dataclass(eq=False, repr=False)
class Phantom:
    """Some minihtml between the lines of a view; shown by a PhantomSet."""

    region: Region
    content: str
    layout: PhantomLayout
    on_navigate: Callable[[str], None] | None = None
    id: int | None = field(default=None, init=False)

    def __eq__(self, rhs: object) -> bool:
        # The callback counts, as in the editor: a new closure makes a new phantom.
        return isinstance(rhs, Phantom) and self.to_tuple() == rhs.to_tuple()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return _told(self, ("region", "content", "layout"), ("on_navigate",))

    def to_tuple(
        self,
    ) -> tuple[tuple[Point, Point], str, PhantomLayout, Callable[[str], None] | None]:
        """What tells this phantom from others, hashable."""
        return self.region.to_tuple(), self.content, self.layout, self.on_navigate


class PhantomSet:
    """The phantoms that one owner shows in a view; they go when the set goes."""

    def __init__(self, view: Any, key: str = "") -> None:
        self.view = view
        self.key = key
        self.phantoms: list[Phantom] = []

    def __repr__(self) -> str:
        return _told(self, ("view",), ("key",))

    def __del__(self) -> None:
        try:
            for phantom in self.phantoms:
                if phantom.id is not None:
                    self.view.erase_phantom_by_id(phantom.id)
        except RuntimeError:
            # The API has shut down, and the phantoms with it.
            return

    def update(self, phantoms: Iterable[Phantom]) -> None:
        """Show these phantoms instead; one that equals a shown one takes over its id and is not redrawn."""
        self._follow_edits()
        new = {phantom.to_tuple(): phantom for phantom in phantoms}
        shown = {phantom.to_tuple(): phantom.id for phantom in self.phantoms}
        for key, phantom in new.items():
            phantom.id = shown.get(key)
            if phantom.id is None:
                phantom.id = self._show(phantom)
        kept = {phantom.id for phantom in new.values()}
        for old in self.phantoms:
            if old.id not in kept and old.region != Region(-1):
                self.view.erase_phantom_by_id(old.id)
        self.phantoms = list(new.values())

    def _follow_edits(self) -> None:
        regions = self.view.query_phantoms([phantom.id for phantom in self.phantoms])
        for phantom, region in zip(self.phantoms, regions, strict=True):
            phantom.region = region

    def _show(self, phantom: Phantom) -> int:
        return int(
            self.view.add_phantom(self.key, phantom.region, phantom.content, phantom.layout, phantom.on_navigate)
        )
