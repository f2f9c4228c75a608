"""What each agent can do, as the last run has found it, and the table of docs/agents.md.

The file has the agents by their short names, each with its steps; see `Results.note`. A test of tests/agents is a step.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .published import AGENTS

ROOT = Path(__file__).resolve().parents[2]
STORED = Path(__file__).with_name("results.json")
WIRE = Path(__file__).with_name("wire.json")
"""The shapes of what each agent has sent."""
PAGE = ROOT / "docs" / "agents.md"
HEADING = "## What works with which agent\n"
_SECTION = re.compile(rf"{re.escape(HEADING)}.*?(?=\n## |\Z)", re.DOTALL)


class Results:
    """The outcomes by agent and step."""

    def __init__(self, plain: dict[str, Any]) -> None:
        self._plain = plain
        self.system: str = plain.get("system", "")
        self.agents: dict[str, Any] = plain.setdefault("agents", {})
        self._wire: dict[str, set[str]] = {}
        self._noted: set[tuple[str, str]] = set()
        """The steps that this run has noted already."""

    @classmethod
    def read(cls) -> Results:
        """Those that are stored; none if there are none."""
        return cls(json.loads(STORED.read_text("utf-8")) if STORED.is_file() else {})

    def note(self, agent: str, step: str, outcome: str) -> None:
        """Note an outcome: "works", "fails" or a sentence on what the agent, or this package, has not."""
        published = AGENTS[agent]
        known = self.agents.get(agent)
        if known is None or known["version"] != published.version:
            known = self.agents[agent] = {"title": published.title, "version": published.version, "steps": {}}
        # One outcome of several cases: the worst.
        if (agent, step) not in self._noted or known["steps"][step] != "fails":
            known["steps"][step] = outcome
        self._noted.add((agent, step))

    def note_wire(self, agent: str, shapes: Iterable[str]) -> None:
        """Note the shapes of messages that an agent has sent: see `tests.valid_messages.shapes`."""
        self._wire.setdefault(agent, set()).update(shapes)

    def write(self) -> None:
        """Store them, and bring the page up to date."""
        wire = json.loads(WIRE.read_text("utf-8")) if WIRE.is_file() else {}
        # What came once may come again.
        wire |= {agent: sorted(shapes.union(wire.get(agent, ()))) for agent, shapes in self._wire.items()}
        WIRE.write_text(json.dumps(wire, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
        self._plain["system"] = self.system = platform.system()
        STORED.write_text(json.dumps(self._plain, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
        PAGE.write_text(with_table(PAGE.read_text("utf-8"), self), "utf-8")


def with_table(page: str, results: Results) -> str:
    """The page with the table of these results."""
    section = table(results)
    return _SECTION.sub(lambda _: section, page) if HEADING in page else f"{page.rstrip()}\n\n{section}"


def table(results: Results) -> str:
    """The section: a row for each step, a column for each agent."""
    agents = [results.agents[name] for name in sorted(results.agents)]
    steps = list(dict.fromkeys(step for agent in agents for step in agent["steps"]))
    notes: list[str] = []
    rows = [
        f"| {step.replace('_', ' ')} | {' | '.join(_cell(agent['steps'].get(step), notes) for agent in agents)} |"
        for step in sorted(steps)
    ]
    heads = " | ".join(f"{agent['title']} {agent['version']}" for agent in agents)
    lines = [
        HEADING,
        f"Written by a run of `scripts/test --agents` on {results.system}, with the agents as they are published and a",
        "scripted model. “–” was not tried.",
        "",
        f"| | {heads} |",
        f"|---{'|---' * len(agents)}|",
        *rows,
        *(["", *(f"{number}. {note}" for number, note in enumerate(notes, 1))] if notes else []),
    ]
    return "\n".join(lines) + "\n"


def _cell(outcome: str | None, notes: list[str]) -> str:
    if outcome is None:
        return "–"
    if outcome in {"works", "fails"}:
        return "yes" if outcome == "works" else "no"
    if outcome not in notes:
        notes.append(outcome)
    return f"no [{notes.index(outcome) + 1}]"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text("utf-8"), Results.read()), "utf-8")
