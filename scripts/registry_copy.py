"""`python -m scripts.registry_copy [FILE|FOLDER DATE]`: writes the list of agents that comes with the package anew.

It has the form in which the registry's address serves it (docs/protocols/acp.md#registry), without what the package
does not use, and `origin`: from where, of which day, and by which licence. An entry that the package can't use is left
out and named.
"""

from __future__ import annotations

import io
import json
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from companion.registry.entries import RegistryError, read_entries
from companion.registry.registry import ADDRESS, LIST_LIMIT, LIST_SECONDS, fetch

TARGET = Path(__file__).resolve().parents[1] / "companion" / "registry" / "registry.json"
LICENSE = "Apache-2.0"
"""The registry's own. Each agent has another."""
USED = ("id", "name", "version", "description", "repository", "website", "license", "license_url", "distribution")


def served() -> list[dict[str, Any]]:
    """The agents as the registry's address has them. Raises RegistryError."""
    data = io.BytesIO()
    fetch(ADDRESS, LIST_LIMIT, LIST_SECONDS, data)
    return json.loads(data.getvalue())["agents"]


def kept(path: Path) -> list[dict[str, Any]]:
    """The agents of a JSON file of the registry, or of a folder with its repository: one folder for each of them.

    Raises OSError, or ValueError if it is neither.
    """
    if not path.is_dir():
        return json.loads(path.read_text("utf-8"))["agents"]
    # The registry lists those in folders of their own; `_not_yet_unsupported` has more below it.
    found = [json.loads(each.read_text("utf-8")) for each in sorted(path.glob("[!._]*/agent.json"))]
    if not found:
        raise ValueError(f"{path} has no agents")
    return found


def copy(agents: list[dict[str, Any]], source: str, date: str) -> tuple[dict[str, Any], list[str]]:
    """What is written, and the ids of the agents that are left out."""
    used: list[Mapping[str, Any]] = []
    left: list[str] = []
    for agent in agents:
        fields = {name: agent[name] for name in USED if name in agent}
        try:
            read_entries(json.dumps({"agents": [fields]}).encode())
        except RegistryError:
            left.append(str(agent.get("id")))
        else:
            used.append(fields)
    used.sort(key=lambda each: each["id"])
    return {"version": "1.0.0", "origin": {"from": source, "on": date, "license": LICENSE}, "agents": used}, left


def main(place: str = "", date: str = "", *, target: Path) -> None:
    """Write the file, and say what is in it. A copy that is there has the date on which it was taken."""
    if place and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        sys.exit("Which day is the copy of? scripts/registry FILE|FOLDER YYYY-MM-DD")
    agents = kept(Path(place)) if place else served()
    source = "github.com/agentclientprotocol/registry" if place else ADDRESS
    written, left = copy(agents, source, date or time.strftime("%Y-%m-%d", time.gmtime()))
    target.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(written['agents'])} agents")
    if left:
        print(f"left out: {', '.join(left)}")


if __name__ == "__main__":
    main(*sys.argv[1:3], target=TARGET)
