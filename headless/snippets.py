"""Snippets: `$1`, `${1:text}`, `$0`, variables, and backslashes before what is meant as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from headless.changes import Span

_TOKEN = re.compile(r"\\([\\$}])|\$(\w+)|\$\{(\w+)(:?)|(\})")


@dataclass
class Snippet:
    """The text of a snippet, and where its fields are in it, in the order in which they are visited."""

    text: str = ""
    fields: dict[int, list[Span]] = field(default_factory=dict)

    def first(self) -> list[Span]:
        """What is selected at first: the first field, else the place of `$0`, else the end."""
        numbers = sorted(number for number in self.fields if number)
        end = len(self.text)
        return self.fields[numbers[0]] if numbers else self.fields.get(0, [(end, end)])


def parse(contents: str, variables: dict[str, str] | None = None) -> Snippet:
    """The snippet of a text; an unknown variable becomes an empty string."""
    result = Snippet()
    # Of each field or variable that is open: its name, where it began, and whether its default text counts.
    opened: list[tuple[str, int]] = []
    at = 0
    for token in _TOKEN.finditer(contents):
        result.text += contents[at : token.start()]
        at = token.end()
        escaped, plain, name, has_default, closing = token.groups()
        if escaped:
            result.text += escaped
        elif plain:
            _close(result, plain, len(result.text), variables or {})
        elif name:
            opened.append((name, len(result.text)))
            if not has_default and contents[at : at + 1] != "}":
                result.text += token.group()
                opened.pop()
        elif closing and opened:
            _close(result, *opened.pop(), variables or {})
        else:
            result.text += token.group()
    result.text += contents[at:]
    return result


def _close(snippet: Snippet, name: str, start: int, variables: dict[str, str]) -> None:
    if name.isdigit():
        snippet.fields.setdefault(int(name), []).append((start, len(snippet.text)))
    elif name in variables:
        snippet.text = snippet.text[:start] + variables[name]


def indented(contents: str, indent: str) -> str:
    """A snippet with `indent`, that of the line where it is inserted, before each line except the first."""
    return contents.replace("\n", "\n" + indent)
