"""A small mistake in the code, and the tests that should notice it.

The lists are the text files beside this one. Of each mutant they have a description; the file, the function and, behind
a bar, the tests; the place, in lines that begin with a minus; what comes instead, with a plus; and, behind a question
mark, why it may survive.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T", bound=ast.AST)
Functions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class GoneError(Exception):
    """The code has no such place any more, or more than one."""


@dataclass(frozen=True)
class Mutant:
    """One mistake: in a function, the one place that reads like `old` becomes `new`.

    Both are Python: an expression, or statements. A block that is `...` stands for whichever block is there. A name
    stands for whichever name is there, always the same one; if that leaves several places, the names have to be the
    same. So a mutant survives that something in the function gets another name.
    """

    what: str
    file: str
    """Below `companion/`."""
    function: str
    """Its qualified name, as `Class.method`; empty for the module."""
    old: str
    new: str
    tests: tuple[str, ...]
    """Each as pytest takes it. One of tests/sublime runs in the stand-in editor."""
    reason: str = ""
    """Why it may survive."""

    def of(self, source: str) -> str:
        """The source with the mistake. Raises GoneError."""
        module = ast.parse(source)
        scope = scope_of(module, self.function)
        old, new = ast.parse(self.old).body, ast.parse(self.new).body
        found = list(places(scope, old, expression_of(old) if expression_of(new) else None))
        if len(found) > 1:
            found = [place for place in found if place.has_same_names]
        if len(found) != 1:
            raise GoneError(
                f"{self.file} has {len(found)} places in {self.function or 'it'} that read like {self.old!r}."
            )
        found[0].become(new)
        return ast.unparse(ast.fix_missing_locations(module))


def read(text: str) -> Iterator[Mutant]:
    """The mutants of a list."""
    for block in text.split("\n\n"):
        lines = block.strip("\n").splitlines()
        if not lines or lines[0].startswith("#"):
            continue
        parts = {mark: [line[2:] for line in lines[2:] if line[0] == mark] for mark in "-+?"}
        place, _, tests = lines[1].partition("|")
        file, _, function = place.strip().partition(" ")
        yield Mutant(
            lines[0],
            file,
            function.strip(),
            "\n".join(parts["-"]),
            "\n".join(parts["+"]),
            tuple(_test(name.strip()) for name in tests.split(",")),
            " ".join(parts["?"]),
        )


def _test(name: str) -> str:
    """A test as pytest takes it. A name without a folder is that of a file of tests/unit."""
    if "/" in name:
        return f"tests/{name}"
    file, separator, rest = name.partition("::")
    found = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "unit").rglob(file)]
    return "".join((*(found or [f"tests/unit/{file}"]), separator, rest))


def scope_of(module: ast.Module, function: str) -> ast.Module | Functions:
    """A function or a class of a module, by its qualified name. Raises GoneError."""
    scope: ast.Module | Functions = module
    for name in filter(None, function.split(".")):
        inside = [node for node in ast.walk(scope) if isinstance(node, Functions) and node.name == name]
        if len(inside) != 1:
            raise GoneError(f"There are {len(inside)} functions {function}.")
        scope = inside[0]
    return scope


class Place:
    """Where a pattern matches: the list `around` from `start` to `end`, or one field of a node."""

    def __init__(self, parent: ast.AST, field: str, start: int | None, end: int, match: Match) -> None:
        self._parent = parent
        self._field = field
        self._start = start
        self._end = end
        self._match = match

    @property
    def has_same_names(self) -> bool:
        """Whether the names are those of the pattern."""
        return all(ours.lstrip(".") == theirs for ours, theirs in self._match.names.items())

    def become(self, new: list[ast.stmt]) -> None:
        """Put something else there."""
        statements = [self._match.filled(statement) for statement in new]
        if self._start is None:
            setattr(self._parent, self._field, _expression(statements))
        elif isinstance((items := getattr(self._parent, self._field))[self._start], ast.expr):
            items[self._start] = _expression(statements)
        else:
            items[self._start : self._end] = statements


def _expression(statements: list[ast.stmt]) -> ast.expr:
    expression = expression_of(statements)
    assert expression
    return expression


def expression_of(statements: list[ast.stmt]) -> ast.expr | None:
    """What a pattern consists of; None if it is more than an expression."""
    match statements:
        case [ast.Expr(value=value)]:
            return value
    return None


def places(scope: ast.AST, pattern: list[ast.stmt], alone: ast.expr | None) -> Iterator[Place]:
    """Where a pattern matches in a function: its statements, or its expression wherever one may be."""
    for node in ast.walk(scope):
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and alone and (match := Match()).matches(alone, value):
                yield Place(node, field, None, 0, match)
            if not isinstance(value, list):
                continue
            for start, item in enumerate(value):
                if isinstance(item, ast.stmt) and not alone:
                    end = start + len(pattern)
                    match = Match()
                    if len(value) >= end and all(map(match.matches, pattern, value[start:end])):
                        yield Place(node, field, start, end, match)
                elif isinstance(item, ast.expr) and alone and (match := Match()).matches(alone, item):
                    yield Place(node, field, start, start + 1, match)


class Match:
    """What the names and the blocks of a pattern stand for."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        """The name in the code for each of the pattern; that of an attribute begins with a point in the pattern."""
        self._blocks: list[list[ast.stmt]] = []

    def matches(self, pattern: object, node: object) -> bool:
        """Whether a part of a pattern is like a part of the code."""
        if type(pattern) is not type(node):
            return False
        if isinstance(pattern, list) and isinstance(node, list):
            if _is_any(pattern):
                self._blocks.append(node)
                return True
            return len(pattern) == len(node) and all(map(self.matches, pattern, node))
        if isinstance(pattern, ast.AST) and isinstance(node, ast.AST):
            return all(self._has(pattern, field, node) for field in pattern._fields)
        return pattern == node

    def _has(self, pattern: ast.AST, field: str, node: ast.AST) -> bool:
        ours, theirs = getattr(pattern, field, None), getattr(node, field, None)
        if name := _name(pattern, field, ours):
            return self.names.setdefault(name, str(theirs)) == theirs
        if field == "orelse" and not ours and _is_any(getattr(pattern, "body", ())):
            return True  # it stays as it is
        return self.matches(ours, theirs)

    def filled(self, node: T) -> T:
        """A part of what comes instead, with the names and the blocks that are there."""
        for each in ast.walk(node):
            for field, value in list(ast.iter_fields(each)):
                if isinstance(value, list) and _is_any(value) and self._blocks:
                    setattr(each, field, self._blocks.pop(0))
                elif name := _name(each, field, value):
                    setattr(each, field, self.names.get(name, value))
        return node


def _is_any(block: object) -> bool:
    """Whether a block is `...`."""
    match block:
        case [ast.Expr(value=ast.Constant(value=value))]:
            return value is ...
    return False


def _name(node: ast.AST, field: str, value: object) -> str | None:
    """What a name in a pattern is called in `Match.names`; None if the field is no name that may change."""
    match node, field:
        case (ast.Name(), "id") | (ast.arg() | ast.keyword(), "arg") | (ast.ExceptHandler(), "name"):
            return value if isinstance(value, str) else None
        case ast.Attribute(), "attr":
            return f".{value}"
    return None
