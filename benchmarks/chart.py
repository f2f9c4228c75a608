"""Writes the figures into docs/dev/performance.md and draws docs/pictures/performance.svg.

`scripts/bench --check --json >FILE`, then `python -m benchmarks.chart FILE`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from .limits import LIMITS

DOCS = Path(__file__).resolve().parents[1] / "docs"
PICTURE = DOCS / "pictures" / "performance.svg"
PAGE = DOCS / "dev" / "performance.md"
BEGIN, END = "<!-- Written by benchmarks/chart.py -->\n", "<!-- Until here -->\n"
ROWS = {"list": "tools/list", "diff": "openDiff, 2 KB", "large": "openDiff, 1 MB", "notification": "notification"}
LEFT, WIDTH, ROW, BAR = 130, 420, 54, 14
"""Pixels: the place of the labels, the width of a ratio of `MOST`, and the heights."""
MOST = 1.25
WANTED = "#d8853b"


def bar(y: int, ratio: float, colour: str, text: str) -> str:
    """A bar and its number, beyond all lines: what is wanted is at most 1."""
    width = min(ratio, MOST) / MOST * WIDTH
    beyond = LEFT + max(width, WIDTH / MOST) + 8
    return (
        f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR}" fill="{colour}"/>'
        f'<text x="{beyond:.0f}" y="{y + BAR - 3}">{text}</text>'
    )


def chart(figures: Mapping[str, float]) -> str:
    """The picture as SVG."""
    parts: list[str] = []
    for number, (name, label) in enumerate(ROWS.items()):
        y = 30 + number * ROW
        ours, floor = figures[f"peer.{name}_ratio"], figures[f"peer.{name}_floor_ratio"]
        parts.append(f'<text x="{LEFT - 8}" y="{y + BAR + 5}" text-anchor="end">{label}</text>')
        parts.append(bar(y, ours, "#3b7dd8", f"{ours:.2f}"))
        parts.append(bar(y + BAR + 3, floor, "#9aa0a6", f"{floor:.2f} bare asyncio"))
        at = LEFT + LIMITS[f"peer.{name}_ratio"] / MOST * WIDTH
        parts.append(f'<path d="M{at:.0f} {y - 4}v{2 * BAR + 11}" stroke="{WANTED}" stroke-width="2"/>')
    one, height = LEFT + WIDTH / MOST, 40 + ROW * len(ROWS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 120}" height="{height}" '
        'font-family="sans-serif" font-size="12" fill="#808080">\n'
        f'<path d="M{one:.0f} 20V{height - 10}" stroke="#808080" stroke-dasharray="3 3"/>\n'
        f'<text x="{one:.0f}" y="14" text-anchor="middle">Node: express and the TypeScript SDK = 1</text>\n'
        f'<text x="{LEFT}" y="14" fill="{WANTED}">wanted</text>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def table(figures: Mapping[str, float]) -> str:
    """The figures as Markdown."""
    lines = [
        "| sessions | | median, as a multiple of Node's | bare asyncio | wanted | 99th percentile (wanted: 1) |",
        "|---|---|---|---|---|---|",
    ]
    for sessions in (1, 10, 100):
        mark = "peer" if sessions == 1 else f"peer.{sessions}_sessions"
        for name, label in ROWS.items():
            found = [figures[f"{mark}.{name}_{what}"] for what in ("ratio", "floor_ratio", "p99_ratio")]
            ours, floor, late = (f"{each:.2f}" for each in found)
            lines.append(f"| {sessions} | {label} | {ours} | {floor} | {LIMITS[f'peer.{name}_ratio']:g} | {late} |")
    memory = f"The memory that the companion adds is {figures['peer.memory_ratio']:.2f} of Node's (wanted: 0.7)."
    load = f"The load of the machine before the run was {figures['peer.load']:.1f}."
    return "\n".join([*lines, "", f"{memory} {load}", ""])


def written(page: str, figures: Mapping[str, float]) -> str:
    """The page with these figures. Raises ValueError if it has no place for them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} must have the lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{BEGIN}\n{table(figures)}\n{END}{after}"


def main() -> None:
    """Draw and write them from a file with figures."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    figures = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    PICTURE.write_text(chart(figures), encoding="utf-8")
    PAGE.write_text(written(PAGE.read_text("utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
