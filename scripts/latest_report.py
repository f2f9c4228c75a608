"""`python -m scripts.latest_report FOLDER`: what a run of `scripts/latest` has found, as a page for an issue.

The folder has `versions`, a line for each release that is newer or could not be installed, and for each part of the
tests its output, `NAME.log`, and pytest's exit status, `NAME.status`. The page is written beside them, empty if nothing
has failed and nothing is new.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("clis", "agents")
AGENTS = "tests/agents"
_RAN = {"0", "1"}
"""Pytest's status if all tests were run: they passed, or some failed."""
_TAIL = 5


def report(versions: str, failed: Sequence[str], new: Sequence[str]) -> str:
    """The page; empty if there is nothing to tell."""
    lines = versions.splitlines()
    failed = [*(line.removeprefix("- ") for line in lines if is_missing(line)), *failed]
    if not failed and not new:
        return ""
    newer = "\n".join(line for line in lines if not is_missing(line))
    return (
        "The newest releases of the CLIs and agents were tried.\n\n"
        f"## Versions that are newer than those in this repository\n\n{newer or 'None.'}\n\n"
        f"## What has failed\n\n{_block('', failed)}\n"
        f"## What is new in what the agents send, and in what works with them\n\n{_block('diff', new)}"
    )


def is_missing(line: str) -> bool:
    """Whether a line of `versions` is one of a package that is not there."""
    return line.endswith(" could not be installed")


def failures(part: str, log: str, status: str) -> list[str]:
    """The tests of a part that failed. A part that has not run to its end is a failure of its own."""
    lines = [line for line in log.splitlines() if re.match(r"(?:FAILED|ERROR) ", line)]
    if status.strip() not in _RAN or (status.strip() == "1" and not lines):
        last = " / ".join([line.strip() for line in log.splitlines() if line.strip()][-_TAIL:])
        lines.append(f"The tests of the {part} have not run to their end: {last or 'they print nothing'}")
    return lines


def news(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What changed between two states of the shapes or of the results, as lines of a diff that name the agent."""
    lines: list[str] = []
    for agent in sorted({*before, *after}):
        old, new = _facts(before.get(agent, [])), _facts(after.get(agent, []))
        # What was comes before what is.
        changed = [(name, 0, f"- {agent}: {fact}") for fact, name in old.items() if fact not in new]
        changed += [(name, 1, f"+ {agent}: {fact}") for fact, name in new.items() if fact not in old]
        lines += [line for _, _, line in sorted(changed)]
    return lines


def _facts(state: Any) -> dict[str, str]:
    """The shapes of an agent, or its steps with their outcomes, and what each is about."""
    if isinstance(state, dict):
        return {f"{step.replace('_', ' ')}: {outcome}": step for step, outcome in state["steps"].items()}
    return {shape: shape for shape in state}


def _block(kind: str, lines: Sequence[str]) -> str:
    return f"~~~{kind}\n{chr(10).join(lines) or 'nothing'}\n~~~\n"


def _committed(name: str) -> Any:
    found = subprocess.run(
        ["git", "-C", ROOT, "show", f"HEAD:{AGENTS}/{name}"], capture_output=True, check=True, encoding="utf-8"
    )
    return json.loads(found.stdout)


def _now(name: str) -> Any:
    return json.loads((ROOT / AGENTS / name).read_text("utf-8"))


def main(folder: Path) -> None:
    """Write the page."""
    failed: list[str] = []
    for part in PARTS:
        texts = [(folder / f"{part}.{end}").read_text("utf-8", errors="replace") for end in ("log", "status")]
        failed += failures("CLIs" if part == "clis" else part, *texts)
    new = news(_committed("wire.json"), _now("wire.json"))
    new += news(_committed("results.json")["agents"], _now("results.json")["agents"])
    page = report((folder / "versions").read_text("utf-8"), failed, new)
    (folder / "report.md").write_text(page, "utf-8")
    print(page or "Nothing has failed, and nothing is new.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
