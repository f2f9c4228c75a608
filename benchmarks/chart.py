"""Draws docs/pictures/performance.svg: `scripts/bench peer --json >FILE`, then `python -m benchmarks.chart FILE`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from .limits import LIMITS

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "performance.svg"
ROWS = {"list": "tools/list", "diff": "openDiff, 2 KB", "large": "openDiff, 1 MB", "notification": "notification"}
LEFT, WIDTH, ROW, BAR = 130, 420, 54, 14
"""Pixels: the place of the labels, the width of a ratio of `MOST`, and the heights."""
MOST = 1.25


def bar(y: int, ratio: float, colour: str, text: str) -> str:
    """A bar and its number."""
    width = min(ratio, MOST) / MOST * WIDTH
    return (
        f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{BAR}" fill="{colour}"/>'
        f'<text x="{LEFT + width + 6:.0f}" y="{y + BAR - 3}">{text}</text>'
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
        parts.append(f'<path d="M{at:.0f} {y - 4}v{2 * BAR + 11}" stroke="#d8853b" stroke-width="2"/>')
    one, height = LEFT + WIDTH / MOST, 40 + ROW * len(ROWS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 120}" height="{height}" '
        'font-family="sans-serif" font-size="12" fill="#808080">\n'
        f'<path d="M{one:.0f} 20V{height - 10}" stroke="#808080" stroke-dasharray="3 3"/>\n'
        f'<text x="{one:.0f}" y="14" text-anchor="middle">Node: express and the TypeScript SDK = 1</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def main() -> None:
    """Draw it from a file with figures."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PICTURE.write_text(chart(json.loads(Path(sys.argv[1]).read_text("utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
