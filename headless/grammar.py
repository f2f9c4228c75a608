"""Reads texts by a `.sublime-syntax`, with Oniguruma, the editor's regular expressions.

Needs PyYAML and onigurumacffi. What the format allows is in Sublime Text's documentation of syntax definitions. An
embedded syntax is a black box that takes all text up to its escape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import onigurumacffi
import yaml

ACTIONS = {"push", "set", "pop", "embed"}
RULE = {"match", "scope", "captures", "escape", "escape_captures", "embed_scope"} | ACTIONS
META = {"meta_scope", "meta_content_scope", "meta_include_prototype"}
"""The properties of a context that are read; the format has others."""

Rule = dict[str, Any]


class _Loader(yaml.SafeLoader):
    """Reads all scalars as text, and refuses a key that stands twice."""

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
    """A context on the stack, with the texts that its back references stand for, or an embedded syntax."""

    name: str
    groups: tuple[str, ...] = ()
    escape: str = ""
    scope: str = ""
    escape_captures: tuple[tuple[str, str], ...] = ()


class Span(NamedTuple):
    """A part of a line or a text that has the same scopes."""

    start: int
    end: int
    scopes: str
    embedded: str = ""
    """The syntax that its text belongs to, such as `scope:source.python`; empty for the definition's own."""


@dataclass
class Line:
    """How a line is read."""

    text: str
    spans: list[Span]
    stack: tuple[str, ...]
    """The contexts at its end."""
    loops: int = 0
    """How often a rule has changed nothing."""

    @property
    def scopes(self) -> str:
        """The scopes of all spans, one after the other."""
        return " ".join(span.scopes for span in self.spans)


@dataclass
class Grammar:
    """A syntax definition."""

    definition: dict[str, Any]
    _compiled: dict[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def load(cls, text: str) -> Grammar:
        """Read the text of a definition.

        Raises:
            ValueError: it is not YAML, has a key twice, or uses a part of the format that is not supported.
        """
        try:
            definition = yaml.load(text.replace("%YAML 1.2\n---\n", "", 1), _Loader)  # noqa: S506 - a safe loader
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from None
        if not isinstance(definition, dict) or "main" not in definition.get("contexts", {}) or "extends" in definition:
            raise ValueError("It has no context “main” of its own.")
        grammar = cls(definition)
        for name, rules in list(grammar.contexts.items()):
            grammar.contexts[name] = [grammar._named(rule, f"{name}[{at}]") for at, rule in enumerate(rules)]
        return grammar

    @property
    def contexts(self) -> dict[str, list[Rule]]:
        """The rules of each context."""
        return self.definition["contexts"]

    def _named(self, rule: Rule, where: str) -> Rule:
        """A rule that refers to contexts by name; one that is written inside the rule gets the name `where`.

        Raises ValueError for what is not supported.
        """
        if unknown := set(rule) - RULE - META - {"include"}:
            raise ValueError(f"{where}: {sorted(unknown)} are not known.")
        for action in ("push", "set"):
            inner = rule.get(action)
            if isinstance(inner, list) and inner and isinstance(inner[0], dict):
                rules = [self._named(each, f"{where}/{at}") for at, each in enumerate(inner)]
                self.contexts[where] = rules
                rule = rule | {action: where}
            if foreign := [name for name in listed(rule.get(action)) if name not in self.contexts]:
                raise ValueError(f"{where}: {foreign} are not there.")
        if "include" in rule and rule["include"] not in self.contexts:
            raise ValueError(f"{where}: “{rule['include']}” is not there.")
        return rule

    # Reading

    def spans(self, text: str) -> Iterator[Span]:
        """The parts of a whole text; adjoining parts of the same embedded syntax are joined."""
        at, last = 0, Span(0, 0, "")
        for line in self.read(text):
            for span in line.spans:
                if span.embedded and span[2:] == last[2:]:
                    last = last._replace(end=at + span.end)
                    continue
                if last.end:
                    yield last
                last = Span(at + span.start, at + span.end, *span[2:])
            at += len(line.text)
        if last.end:
            yield last

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
                embedded = stack[-1].name if stack[-1].escape else ""
                read.spans.append(Span(at, start, self._scope(stack), embedded))
            if found is None:
                break
            match, rule = found
            self._act(match, rule, stack, read)
            at = match.end()
            if at >= len(text):
                break
        read.stack = tuple(frame.name for frame in stack)
        return read

    def _first(self, text: str, at: int, stack: list[Frame]) -> tuple[Any, Rule] | None:
        """The first match from a point on, of the earliest rule; in an embedded syntax only its escape counts."""
        top = stack[-1]
        if top.escape:
            rules: list[Rule] = [{"match": top.escape, "captures": dict(top.escape_captures), "leave": True}]
        else:
            rules = list(self._rules(top.name))
        best: tuple[Any, Rule] | None = None
        for rule in rules:
            match = self.pattern(rule["match"], top.groups).search(text, at)
            if match and (best is None or match.start() < best[0].start()):
                best = match, rule
        return best

    def _act(self, match: Any, rule: Rule, stack: list[Frame], read: Line) -> None:
        if "leave" in rule:
            stack.pop()
            read.spans += self._matched(match, rule, self._scope(stack))
            return
        popped = int(rule["pop"]) if str(rule.get("pop", "")).isdecimal() else 1 if "pop" in rule else 0
        popped += "set" in rule
        stays = len(stack) - popped
        # A context's `meta_scope` also covers what begins and ends it; its `meta_content_scope` does not.
        scope = self._scope(stack[:stays], () if "set" in rule else stack[stays:])
        del stack[stays:]
        count = self.pattern(rule["match"], ("x",) * 9).number_of_captures()
        groups = tuple(match.group(number) if _has(match, number) else "" for number in range(count + 1))
        new = [Frame(name, groups) for name in (*listed(rule.get("push")), *listed(rule.get("set")))]
        metas = [meta for frame in new for meta in self._meta(frame.name, "meta_scope")]
        read.spans += self._matched(match, rule, " ".join([scope, *metas]))
        stack += new
        if "embed" in rule:
            captures = tuple(rule.get("escape_captures", {}).items())
            stack.append(Frame(rule["embed"], groups, rule["escape"], rule.get("embed_scope", ""), captures))

    def _matched(self, match: Any, rule: Rule, around: str) -> Iterator[Span]:
        """The parts of a rule's match, whose groups have scopes of their own."""
        captures = [
            (match.span(int(group)), scope)
            for group, scope in rule.get("captures", {}).items()
            if _has(match, int(group))
        ]
        cuts = {match.start(), match.end()}
        cuts.update(min(max(cut, match.start()), match.end()) for span, _ in captures for cut in span)
        ordered = sorted(cuts)
        for start, end in pairwise(ordered):
            inner = [scope for (first, last), scope in captures if first <= start and end <= last]
            yield Span(start, end, " ".join(filter(None, [around, rule.get("scope", ""), *inner])))

    def _rules(self, name: str) -> Iterator[Rule]:
        has_prototype = name != "prototype" and "prototype" in self.contexts
        if has_prototype and "false" not in self._meta(name, "meta_include_prototype"):
            yield from self._rules("prototype")
        yield from self._own_rules(name)

    def _own_rules(self, name: str) -> Iterator[Rule]:
        for rule in self.contexts[name]:
            if "include" in rule:
                yield from self._own_rules(rule["include"])
            elif "match" in rule:
                yield rule

    def _meta(self, name: str, kind: str) -> list[str]:
        return [rule[kind] for rule in self.contexts.get(name, ()) if kind in rule]

    def _scope(self, stack: list[Frame], ending: Iterable[Frame] = ()) -> str:
        """The scopes inside a stack of contexts; with `ending`, those of what ends these contexts on top of it."""
        scopes = [self.definition["scope"]]
        for frame in stack:
            own = self._meta(frame.name, "meta_scope") + self._meta(frame.name, "meta_content_scope")
            scopes += [frame.scope, *own]
        for frame in ending:
            scopes += self._meta(frame.name, "meta_scope")
        return " ".join(filter(None, scopes))

    def pattern(self, pattern: str, groups: tuple[str, ...]) -> Any:
        """A compiled pattern; `groups` are the texts that its back references stand for.

        Raises onigurumacffi.OnigError for an invalid one, KeyError for a variable that is not defined.
        """
        variables: dict[str, str] = self.definition.get("variables", {})
        while (expanded := re.sub(r"\{\{(\w+)\}\}", lambda found: variables[found[1]], pattern)) != pattern:
            pattern = expanded
        pattern = re.sub(r"\\([1-9])", lambda found: re.escape(groups[int(found[1])]), pattern)
        if pattern not in self._compiled:
            self._compiled[pattern] = onigurumacffi.compile(pattern)
        return self._compiled[pattern]


def listed(names: object) -> list[str]:
    """The names of contexts, of which there may be one, several or none."""
    return [str(name) for name in names] if isinstance(names, list) else [names] if isinstance(names, str) else []


def _has(match: Any, group: int) -> bool:
    """Whether a group takes part in a match, which the library has no function for."""
    return match._begs[group] >= 0
