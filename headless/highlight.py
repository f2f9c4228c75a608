"""Syntax colours for pictures.

A package's own syntax is read with Oniguruma (`grammar.py`), any other by Pygments. Without the library there are
no colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from headless.schemes import Scheme
from headless.syntaxes import resolve

if TYPE_CHECKING:
    from headless.api.items import Syntax
    from headless.grammar import Grammar

Style = tuple[int, int, str]
"""The start and the end of a part of a text, and its CSS."""

# Pygments' token types by prefix, the longest match wins.
_COLOURS = {
    "Token.Comment": "comment",
    "Token.Keyword": "purplish",
    "Token.Keyword.Constant": "redish",
    "Token.Keyword.Type": "bluish",
    "Token.Literal.String": "greenish",
    "Token.Literal.String.Escape": "purplish",
    "Token.Literal.String.Interpol": "orangish",
    "Token.Literal.Number": "orangish",
    "Token.Name.Builtin": "bluish",
    "Token.Name.Class": "orangish",
    "Token.Name.Constant": "orangish",
    "Token.Name.Decorator": "bluish",
    "Token.Name.Exception": "bluish",
    "Token.Name.Function": "cyanish",
    "Token.Name.Namespace": "foreground",
    "Token.Name.Tag": "redish",
    "Token.Name.Attribute": "purplish",
    "Token.Operator": "orangish",
    "Token.Operator.Word": "purplish",
    "Token.Generic.Heading": "orangish",
    "Token.Generic.Inserted": "greenish",
    "Token.Generic.Deleted": "redish",
}


class Highlighter:
    """Finds the styles of texts in one colour scheme. `read` returns the bytes of a resource."""

    def __init__(self, scheme: Scheme, read: Callable[[str], bytes]) -> None:
        self.scheme = scheme
        self._read = read
        self._grammars: dict[str, Grammar | None] = {}

    def styles(self, text: str, syntax: str, start: int = 0) -> Iterator[Style]:
        """The parts of a text in another style than plain text, outer parts before inner ones.

        `syntax` is a packages path or `scope:…`, `start` where the text begins.
        """
        found = resolve(syntax)
        if found is None:
            return
        grammar = self._grammar(found)
        if grammar is None:
            yield from self._by_pygments(text, found.name, start)
            return
        for span in grammar.spans(text):
            if css := self.scheme.style(span.scopes):
                yield start + span.start, start + span.end, css
            if span.embedded:
                yield from self.styles(text[span.start : span.end], span.embedded, start + span.start)

    def _grammar(self, syntax: Syntax) -> Grammar | None:
        """A package's definition of a syntax; None if there is none that can be read."""
        if syntax.path not in self._grammars:
            self._grammars[syntax.path] = self._load(syntax.path)
        return self._grammars[syntax.path]

    def _load(self, path: str) -> Grammar | None:
        try:
            text = self._read(path).decode("utf-8")
            from headless.grammar import Grammar

            return Grammar.load(text)
        except (FileNotFoundError, ImportError, ValueError):
            return None

    def _by_pygments(self, text: str, name: str, start: int) -> Iterator[Style]:
        lexer = _lexer(name)
        if lexer is None:
            return
        for at, kind, part in lexer.get_tokens_unprocessed(text):
            colour = _colour_name(str(kind))
            if colour is not None and colour != "foreground":
                yield start + at, start + at + len(part), f"color: {self.scheme.colours[colour]}"


def _lexer(name: str) -> Any:
    try:
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound
    except ImportError:
        return None
    try:
        return get_lexer_by_name(name.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _colour_name(kind: str) -> str | None:
    while kind:
        if kind in _COLOURS:
            return _COLOURS[kind]
        kind = kind.rpartition(".")[0]
    return None
