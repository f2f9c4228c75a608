"""`python -m scripts.registry_copy`: writes companion/registry/registry.json anew, for `scripts/registry`."""

from __future__ import annotations

import io
import json
from pathlib import Path

from companion.registry.downloads import fetch
from companion.registry.entries import read_entries
from companion.registry.registry import ADDRESS, LIST_LIMIT, LIST_SECONDS

TARGET = Path(__file__).resolve().parents[1] / "companion" / "registry" / "registry.json"


def main() -> None:
    data = io.BytesIO()
    fetch(ADDRESS, LIST_LIMIT, LIST_SECONDS, data)
    entries = read_entries(data.getvalue())
    # As the registry has it, in a form whose changes can be read.
    TARGET.write_text(json.dumps(json.loads(data.getvalue()), indent=2, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(entries)} agents")


if __name__ == "__main__":
    main()
