"""`python -m scripts.release.bounds`: writes companion/libraries/bounds.py from the pins, for `scripts/lock`."""

from __future__ import annotations

from pathlib import Path

from .pins import FROM_CHANNEL, needed

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path("companion/libraries/bounds.py")
PAIR = ("pydantic", "pydantic-core")

HEAD = '''"""Which versions of the libraries fit. Written by scripts/lock: do not edit.

The lower bound of each is the version that is tested. The upper one is the next major version, whose interface may
differ: it is tried, and named if the start fails.
"""

from __future__ import annotations

'''


def text(root: Path) -> str:
    """The module."""
    versions = {pin.name: pin.version for pin in needed(root)}
    majors = {name: int(version.split(".")[0]) for name, version in versions.items()}
    lines = [f'    "{name}": ("{version}", "{majors[name] + 1}"),\n' for name, version in versions.items()]
    channel = ", ".join(f'"{name}"' for name in sorted(FROM_CHANNEL))
    pydantic, core = (versions[name] for name in PAIR)
    return (
        f"{HEAD}BOUNDS = {{\n{''.join(lines)}}}\n"
        '"""From the name of each library to the least version, and the first that nobody has tried."""\n'
        f"FROM_CHANNEL = frozenset({{{channel}}})\n"
        '"""Those that Package Control\'s default channel has for everybody."""\n'
        f'PAIR = ("{pydantic}", "{core}")\n'
        '"""A pydantic and the only pydantic-core that it takes."""\n'
    )


if __name__ == "__main__":
    (ROOT / TARGET).write_text(text(ROOT), encoding="utf-8", newline="\n")
