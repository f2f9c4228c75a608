"""The plain records of the API: panel rows, completions, symbols, syntaxes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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


class Html:
    """A string that is HTML."""

    __slots__ = ("data",)

    def __init__(self, data: str) -> None:
        self.data = data

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


class CompletionItem:
    """One completion."""

    __slots__ = ("annotation", "completion", "completion_format", "details", "flags", "kind", "trigger")

    def __init__(
        self,
        trigger: str,
        annotation: str = "",
        completion: str = "",
        completion_format: CompletionFormat = CompletionFormat.TEXT,
        kind: Kind = KIND_AMBIGUOUS,
        details: str = "",
        flags: CompletionItemFlags = CompletionItemFlags.NONE,
    ) -> None:
        self.trigger = trigger
        self.annotation = annotation
        self.completion = completion
        self.completion_format = completion_format
        self.kind = kind
        self.details = details
        self.flags = flags

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


class QuickPanelItem:
    """A row of the quick panel."""

    __slots__ = ("annotation", "details", "kind", "trigger")

    def __init__(
        self,
        trigger: str,
        details: str | list[str] | tuple[str] = "",
        annotation: str = "",
        kind: Kind = KIND_AMBIGUOUS,
    ) -> None:
        self.trigger = trigger
        self.details = details
        self.annotation = annotation
        self.kind = kind

    def __repr__(self) -> str:
        return _told(self, ("trigger",), ("details", "annotation", "kind"))


class ListInputItem(Generic[T]):
    """A row of a list input handler."""

    __slots__ = ("annotation", "details", "kind", "text", "value")

    def __init__(
        self,
        text: str,
        value: T,
        details: str | list[str] | tuple[str] = "",
        annotation: str = "",
        kind: Kind = KIND_AMBIGUOUS,
    ) -> None:
        self.text = text
        self.value = value
        self.details = details
        self.annotation = annotation
        self.kind = kind

    def __repr__(self) -> str:
        return _told(self, ("text",), ("value", "details", "annotation", "kind"))


class SymbolRegion:
    """A symbol in a view."""

    __slots__ = ("kind", "name", "region", "syntax", "type")

    def __init__(self, name: str, region: Region, syntax: str, type: SymbolType, kind: Kind) -> None:
        self.name = name
        self.region = region
        self.syntax = syntax
        self.type = type
        self.kind = kind

    def __repr__(self) -> str:
        return _told(self, ("name", "region"), ("syntax", "type", "kind"))


class SymbolLocation:
    """A symbol in a file."""

    __slots__ = ("col", "display_name", "kind", "path", "row", "syntax", "type")

    def __init__(
        self,
        path: str,
        display_name: str,
        row: int,
        col: int,
        syntax: str,
        type: SymbolType,
        kind: Kind,
    ) -> None:
        self.path = path
        self.display_name = display_name
        self.row = row
        self.col = col
        self.syntax = syntax
        self.type = type
        self.kind = kind

    def __repr__(self) -> str:
        return _told(self, ("path",), ("display_name", "row", "col", "syntax", "type", "kind"))

    def path_encoded_position(self) -> str:
        """`path:row:col`, as NewFileFlags.ENCODED_POSITION wants it."""
        return f"{self.path}:{self.row}:{self.col}"


class Syntax:
    """A syntax definition."""

    __slots__ = ("hidden", "name", "path", "scope")

    def __init__(self, path: str, name: str, hidden: bool, scope: str) -> None:
        self.path = path
        self.name = name
        self.hidden = hidden
        self.scope = scope

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Syntax) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"Syntax({self.path!r}, {self.name!r}, {self.hidden}, {self.scope!r})"


class ContextStackFrame:
    """One frame of the syntax highlighting."""

    __slots__ = ("context_name", "source_file", "source_location")

    def __init__(self, context_name: str, source_file: str, source_location: tuple[int, int]) -> None:
        self.context_name = context_name
        self.source_file = source_file
        self.source_location = source_location

    def __repr__(self) -> str:
        return _told(self, ("context_name", "source_file", "source_location"), ())


class Phantom:
    """Some minihtml between the lines of a view; shown by a PhantomSet."""

    def __init__(
        self,
        region: Region,
        content: str,
        layout: PhantomLayout,
        on_navigate: Callable[[str], None] | None = None,
    ) -> None:
        self.region = region
        self.content = content
        self.layout = layout
        self.on_navigate = on_navigate
        self.id: int | None = None

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
