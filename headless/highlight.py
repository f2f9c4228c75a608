"""Syntax colours for pictures: by Pygments if it is there, else none."""

from __future__ import annotations

from typing import Any

from headless.schemes import Scheme

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


def spans(text: str, syntax_name: str, scheme: Scheme) -> list[tuple[int, int, str]]:
    """Parts of a text in another colour than the foreground: (start, end, colour)."""
    lexer = _lexer(syntax_name)
    if lexer is None:
        return []
    found = []
    for at, kind, part in lexer.get_tokens_unprocessed(text):
        name = _colour_name(str(kind))
        if name is not None and name != "foreground":
            found.append((at, at + len(part), scheme.colours[name]))
    return found


def _colour_name(kind: str) -> str | None:
    while kind:
        if kind in _COLOURS:
            return _COLOURS[kind]
        kind = kind.rpartition(".")[0]
    return None
