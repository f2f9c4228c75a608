"""Scope selectors: `source.python string - comment, text.*`."""

from __future__ import annotations

import functools
import re

_TOKEN = re.compile(r"[()|,&]|-(?=\s|\()|[^\s()|,&]+")


def score(scope_name: str, selector: str) -> int:
    """How well `selector` matches the scopes of `scope_name`; 0 if it does not.

    A deeper scope and a longer match count more. An empty selector matches with 1.
    """
    scopes = tuple(scope_name.split())
    if not selector.strip():
        return 1
    return max(0, _Parser(_tokens(selector), scopes).alternatives())


@functools.lru_cache(maxsize=512)
def _tokens(selector: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(selector))


class _Parser:
    """Evaluates a selector while reading it; -1 stands for no match."""

    def __init__(self, tokens: tuple[str, ...], scopes: tuple[str, ...]) -> None:
        self._tokens = tokens
        self._at = 0
        self._scopes = scopes

    def _peek(self) -> str | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def alternatives(self) -> int:
        """`a, b` and `a | b`: the best of them."""
        best = self._conjunction()
        while self._peek() in (",", "|"):
            self._at += 1
            best = max(best, self._conjunction())
        return best

    def _conjunction(self) -> int:
        """`a & b` and `a - b`."""
        value = self._term()
        while self._peek() in ("&", "-"):
            excludes = self._peek() == "-"
            self._at += 1
            other = self._term()
            if (other > 0) == excludes:
                value = -1
            elif not excludes:
                value = max(value, other)
        return value

    def _term(self) -> int:
        if self._peek() == "(":
            self._at += 1
            value = self.alternatives()
            if self._peek() == ")":
                self._at += 1
            return value
        if self._peek() == "-":  # a selector that begins with an exclusion
            return 1
        parts = []
        while (word := self._peek()) is not None and word not in "()|,&-":
            parts.append(word)
            self._at += 1
        return self._descendant(parts)

    def _descendant(self, parts: list[str]) -> int:
        """`a b`: b somewhere inside a. Matched from the innermost scope outwards."""
        depth, total = len(self._scopes), 0
        for part in reversed(parts):
            depth -= 1
            while depth >= 0 and not _matches(self._scopes[depth], part):
                depth -= 1
            if depth < 0:
                return -1
            total += (part.count(".") + 1) * 8 ** min(depth, 6)
        return total or -1


def _matches(scope: str, part: str) -> bool:
    names, wanted = scope.split("."), part.split(".")
    return len(wanted) <= len(names) and all(w in ("*", n) for n, w in zip(names, wanted, strict=False))
