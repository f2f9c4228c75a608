"""What is wrong with a syntax definition that can be read."""

from __future__ import annotations

from collections.abc import Iterator

import onigurumacffi

from headless.grammar import ACTIONS, META, Grammar, Rule, listed


def problems(grammar: Grammar) -> list[str]:
    """A sentence for each."""
    found: list[str] = []
    used = {"main"}
    for name, rules in grammar.contexts.items():
        for number, rule in enumerate(rules):
            where = f"{name}[{number}]"
            found += [f"{where}: {problem}" for problem in _problems_of(grammar, rule, used)]
    return found + [f"“{name}” is never used" for name in grammar.contexts if name not in used]


def _problems_of(grammar: Grammar, rule: Rule, used: set[str]) -> Iterator[str]:
    keys = set(rule)
    if "include" in keys:
        used.add(rule["include"])
    elif "match" in keys:
        if len(keys & ACTIONS) > 1:
            yield f"several actions {sorted(keys & ACTIONS)}"
        if ("embed" in keys) != ("escape" in keys):
            yield "“embed” and “escape” belong together"
        for action in ("push", "set"):
            used.update(listed(rule.get(action)))
        for pattern, captures in (("match", "captures"), ("escape", "escape_captures")):
            if pattern in keys:
                yield from _problems_of_pattern(grammar, rule[pattern], rule.get(captures, {}))
    elif not keys <= META:
        yield f"neither a rule nor meta: {sorted(keys)}"


def _problems_of_pattern(grammar: Grammar, pattern: str, captures: dict[str, str]) -> Iterator[str]:
    try:
        count = grammar.pattern(pattern, ("x",) * 9).number_of_captures()
    except (onigurumacffi.OnigError, KeyError) as error:
        yield f"{pattern}: {error}"
        return
    yield from (f"{pattern}: no group {group}" for group in captures if int(group) > count)
