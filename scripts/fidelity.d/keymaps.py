"""`scripts/fidelity keys`: which real keymaps of other packages can take a key of this one, on three systems.

A binding that is loaded later wins where both contexts hold. `KNOWN` has those that do no harm, and why.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from headless import jsonc  # noqa: E402
from headless.keymap import normalized  # noqa: E402

SYSTEMS = {"Windows": False, "Linux": False, "OSX": True}
"""Whether the primary key is Command."""
ELSEWHERE = (
    "terminus_view",
    "setting.terminus",
    "setting.git_savvy",
    "setting.lsp",
    "setting.command_mode",
    "nv_",
    "vi_",
)
"""Contexts of the views of other packages, and of Vim's normal mode, in which none of our keys is active."""
KNOWN = {("Terminus", "shift+escape"): "sublime_text/listeners.py rejects the diff"}


def keymaps(archive: Path, system: str) -> Iterator[dict[str, Any]]:
    """All bindings of a package on a system."""
    with zipfile.ZipFile(archive) as package:
        for name in package.namelist():
            if Path(name).name in {"Default.sublime-keymap", f"Default ({system}).sublime-keymap"}:
                yield from jsonc.loads(package.read(name).decode("utf-8")) or []


def is_elsewhere(binding: dict[str, Any]) -> bool:
    """Whether a binding can hold only where none of ours does."""
    keys = [each["key"] for each in binding.get("context", [])]
    return any(key.startswith(ELSEWHERE) and ".exec_panel_" not in key for key in keys)


def main() -> None:
    """Look at each archive."""
    parser = argparse.ArgumentParser(prog="scripts/fidelity keys", description=__doc__)
    parser.add_argument("--packages", type=Path, default=ROOT.parent / "shared" / "fidelity" / "packages")
    options = parser.parse_args()
    ours = jsonc.loads((ROOT / "Default.sublime-keymap").read_text(encoding="utf-8"))
    bad = looked = 0
    for archive in sorted(options.packages.glob("*.zip")):
        for system, mac in SYSTEMS.items():
            mine = {tuple(normalized(key, mac) for key in binding["keys"]) for binding in ours}
            for binding in keymaps(archive, system):
                looked += 1
                keys = tuple(normalized(key, mac) for key in binding.get("keys", []))
                if keys not in mine or archive.stem < "QwenCompanion" or is_elsewhere(binding):
                    continue
                why = KNOWN.get((archive.stem, " ".join(keys)))
                bad += why is None
                print(
                    f"{archive.stem:14} {system:8} {' '.join(keys):14} {binding['command']:14} {why or 'TAKES OUR KEY'}"
                )
    print(f"{looked} bindings")
    sys.exit(1 if bad or not looked else 0)


if __name__ == "__main__":
    main()
