"""The report of a check, as text."""

from __future__ import annotations

from collections.abc import Iterable

from ..assumptions import ASSUMPTIONS, UNTOLD
from .run import Outcome

TITLE = "Qwen Companion Editor Check"


def report(outcome: Outcome, about: str) -> str:
    """The text. `about` names the builds."""
    holding = [name for name in ASSUMPTIONS if (found := outcome.findings.get(name)) and found.holds]
    failing = [name for name in ASSUMPTIONS if (found := outcome.findings.get(name)) and not found.holds]
    unknown = [name for name in ASSUMPTIONS if name not in outcome.findings]
    lines = [
        TITLE,
        about,
        f"{len(holding)} of {len(ASSUMPTIONS)} assumptions hold. It took {outcome.seconds:.1f} s.",
        "",
    ]
    if outcome.failed:
        lines += [f"The check failed: {outcome.failed}.", "QwenCompanion assumes that nothing below holds.", ""]
    lines += _part("Does not hold", failing, outcome)
    lines += _part("Not known", unknown, outcome)
    lines += _part("Holds", holding, outcome)
    lines += ["Cannot be tried: the API does not show it"]
    for name, assumption in UNTOLD.items():
        lines += [f"  {name}: {assumption.claim}", f"      Always: {assumption.otherwise}"]
    lines += ["", "To tell us about your editor, select all of this text and copy it into an issue.", ""]
    return "\n".join(lines)


def _part(title: str, names: Iterable[str], outcome: Outcome) -> list[str]:
    lines: list[str] = []
    for name in names:
        assumption, found = ASSUMPTIONS[name], outcome.findings.get(name)
        seen = found.seen if found else outcome.failures.get(name, "not tried")
        lines.append(f"  {name}: {assumption.claim}")
        if seen:
            lines.append(f"      Seen: {seen}.")
        if not (found and found.holds):
            lines.append(f"      Then: {assumption.otherwise}")
    return [title, *lines, ""] if lines else []
