"""Reads a .sublime-syntax, checks it, and runs its own contexts with Oniguruma, the editor's regular expressions.

An embedded syntax is a black box that takes all text up to its escape. What the format allows is in Sublime Text's
documentation of syntax definitions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onigurumacffi
import yaml

ACTIONS = {"push", "set", "pop", "embed"}
RULE = {"match", "scope", "captures", "escape", "escape_captures", "embed_scope"} | ACTIONS
META = {"meta_scope", "meta_content_scope", "meta_include_prototype", "clear_scopes"}


class _Loader(yaml.SafeLoader):
    """Takes all scalars as text, and no key twice."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's way


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value in node.value:
        key = str(loader.construct_object(key_node))
        if key in found:
            raise ValueError(f"line {key_node.start_mark.line + 2}: “{key}” is there twice")
        found[key] = loader.construct_object(value, deep=True)
    return found


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


@dataclass(frozen=True)
class Frame:
    """A context on the stack, with what its back references mean, or an embedded syntax."""

    name: str
    groups: tuple[str, ...] = ()
    escape: str = ""
    scope: str = ""
    escape_captures: tuple[tuple[int, str], ...] = ()


@dataclass
class Line:
    """How a line is read."""

    text: str
    spans: list[tuple[int, int, str]]
    """Start, end and scopes of what the rules have matched."""
    stack: tuple[str, ...]
    """The contexts at its end."""
    loops: int = 0
    """How often a rule has changed nothing."""

    @property
    def scopes(self) -> str:
        """All of them."""
        return " ".join(scope for _, _, scope in self.spans)


@dataclass
class Grammar:
    """A syntax definition."""

    definition: dict[str, Any]
    _compiled: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def load(cls, path: Path) -> Grammar:
        """Read a file.

        Raises:
            ValueError: it is no YAML, or has a key twice.
        """
        text = path.read_text(encoding="utf-8").replace("%YAML 1.2\n---\n", "", 1)
        return cls(yaml.load(text, _Loader))  # noqa: S506 - a safe loader

    @property
    def contexts(self) -> dict[str, list[dict[str, Any]]]:
        """The rules of each context."""
        return self.definition["contexts"]

    # Checking

    def problems(self) -> list[str]:
        """What is wrong with the definition."""
        found: list[str] = []
        used = {"main"}
        for name, rules in self.contexts.items():
            for number, rule in enumerate(rules):
                where = f"{name}[{number}]"
                found += [f"{where}: {problem}" for problem in self._problems_of(rule, used)]
        found += [f"“{name}” is never used" for name in self.contexts if name not in used]
        found += [f"“{name}” is not there" for name in used if name not in self.contexts]
        return found

    def _problems_of(self, rule: dict[str, Any], used: set[str]) -> Iterator[str]:
        keys = set(rule)
        if "include" in keys:
            used.add(rule["include"])
        elif "match" in keys:
            if unknown := keys - RULE:
                yield f"unknown keys {sorted(unknown)}"
            if len(keys & ACTIONS) > 1:
                yield f"several actions {sorted(keys & ACTIONS)}"
            if ("embed" in keys) != ("escape" in keys):
                yield "“embed” and “escape” belong together"
            for action in ("push", "set"):
                used.update(_listed(rule.get(action)))
            for pattern, captures in (("match", "captures"), ("escape", "escape_captures")):
                if pattern in keys:
                    yield from self._problems_of_pattern(rule[pattern], rule.get(captures, {}))
        elif not keys <= META:
            yield f"neither a rule nor meta: {sorted(keys)}"

    def _problems_of_pattern(self, pattern: str, captures: dict[str, str]) -> Iterator[str]:
        try:
            count = self._pattern(pattern, ("x",) * 9).number_of_captures()
        except (onigurumacffi.OnigError, KeyError) as error:
            yield f"{pattern}: {error}"
            return
        yield from (f"{pattern}: no group {group}" for group in captures if int(group) > count)

    # Reading

    def read(self, text: str) -> list[Line]:
        """How a text is read, line by line."""
        stack: list[Frame] = [Frame("main")]
        return [self._line(line, stack) for line in re.findall(r"[^\n]*\n|[^\n]+$", text)]

    def _line(self, text: str, stack: list[Frame]) -> Line:
        read = Line(text, [], ())
        at = 0
        seen: set[tuple[int, tuple[Frame, ...]]] = set()
        while True:
            state = at, tuple(stack)
            if state in seen:
                read.loops += 1
                break
            seen.add(state)
            found = self._first(text, at, stack)
            start = found[0].start() if found else len(text)
            if start > at:
                read.spans.append((at, start, self._scope(stack)))
            if found is None:
                break
            match, rule = found
            self._act(text, match, rule, stack, read)
            at = match.end()
            if at >= len(text):
                break
        read.stack = tuple(frame.name for frame in stack)
        return read

    def _first(self, text: str, at: int, stack: list[Frame]) -> tuple[Any, dict[str, Any]] | None:
        """The first match from a point on; the escape of an embedded syntax goes first, then the order of rules."""
        top = stack[-1]
        if top.escape:
            rules: list[dict[str, Any]] = [{"match": top.escape, "captures": dict(top.escape_captures), "leave": True}]
        else:
            rules = list(self._rules(top.name))
        best: tuple[Any, dict[str, Any]] | None = None
        for rule in rules:
            match = self._pattern(rule["match"], top.groups).search(text, at)
            if match and (best is None or match.start() < best[0].start()):
                best = match, rule
        return best

    def _act(self, text: str, match: Any, rule: dict[str, Any], stack: list[Frame], read: Line) -> None:
        if match.end() > match.start():
            captures = {int(group): scope for group, scope in rule.get("captures", {}).items()}
            scopes = [scope for group, scope in captures.items() if _has(match, group)]
            read.spans.append(
                (match.start(), match.end(), " ".join([self._scope(stack), rule.get("scope", ""), *scopes]))
            )
        if "leave" in rule:
            stack.pop()
            return
        if "pop" in rule:
            del stack[len(stack) - int(rule["pop"]) :]
        if "set" in rule:
            stack.pop()
        count = self._pattern(rule["match"], ("x",) * 9).number_of_captures()
        groups = tuple(match.group(number) if _has(match, number) else "" for number in range(count + 1))
        stack += [Frame(name, groups) for name in (*_listed(rule.get("push")), *_listed(rule.get("set")))]
        if "embed" in rule:
            captures = tuple(rule.get("escape_captures", {}).items())
            stack.append(Frame(rule["embed"], groups, rule["escape"], rule.get("embed_scope", ""), captures))

    def _rules(self, name: str) -> Iterator[dict[str, Any]]:
        for rule in self.contexts[name]:
            if "include" in rule:
                yield from self._rules(rule["include"])
            elif "match" in rule:
                yield rule

    def _scope(self, stack: list[Frame]) -> str:
        scopes = [self.definition["scope"]]
        for frame in stack:
            scopes.append(frame.scope)
            scopes += [
                rule["meta_content_scope"] for rule in self.contexts.get(frame.name, ()) if "meta_content_scope" in rule
            ]
        return " ".join(filter(None, scopes))

    def _pattern(self, pattern: str, groups: tuple[str, ...]) -> Any:
        """A compiled pattern; `groups` are what its back references mean."""
        variables: dict[str, str] = self.definition.get("variables", {})
        while (expanded := re.sub(r"\{\{(\w+)\}\}", lambda found: variables[found[1]], pattern)) != pattern:
            pattern = expanded
        pattern = re.sub(r"\\([1-9])", lambda found: re.escape(groups[int(found[1])]), pattern)
        if pattern not in self._compiled:
            self._compiled[pattern] = onigurumacffi.compile(pattern)
        return self._compiled[pattern]


def _listed(names: object) -> list[str]:
    return [str(name) for name in names] if isinstance(names, list) else [names] if isinstance(names, str) else []


def _has(match: Any, group: int) -> bool:
    """Whether a group takes part in a match; the library gives no answer by itself."""
    return match._begs[group] >= 0
