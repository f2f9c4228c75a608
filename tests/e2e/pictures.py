"""What `scripts/pictures` makes: docs/pictures, from the headless editor through a headless browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .editor import Editor
from .mcp_client import connect
from .qwen import PROJECT, Home

PICTURES = PROJECT / "docs" / "pictures"
SIZE = (1400, 560)
SCALE = 2
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# A browser that is not told to calls home, again and again.
QUIET = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]

BEFORE = '''"""Prices of a small bookshop."""

PRICES = {"Emma": 9.5, "Walden": 12, "Dune": 14.9}


def total(order):
    amount = 0
    for title, copies in order.items():
        amount += PRICES[title] * copies
    return amount


def cheapest():
    return min(PRICES)
'''
AFTER = '''"""Prices of a small bookshop."""

PRICES = {"Emma": 9.5, "Walden": 12, "Dune": 14.9}


def total(order):
    amount = 0
    for title, copies in order.items():
        if title not in PRICES:
            raise ValueError(f"We do not sell {title!r}")
        amount += PRICES[title] * copies
    return round(amount, 2)


def cheapest():
    return min(PRICES, key=PRICES.get)
'''


def browser() -> str:
    """The path of a Chromium or a Chrome; ends with a sentence if there is none."""
    found = os.environ.get("BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        sys.exit("scripts/pictures needs Chromium or Chrome: put it on PATH, or its path into $BROWSER.")
    return found


def photograph(page: Path, picture: Path) -> None:
    """Make a PNG of a page."""
    with tempfile.TemporaryDirectory() as profile:
        command = [browser(), *QUIET, f"--user-data-dir={profile}", f"--window-size={SIZE[0]},{SIZE[1]}"]
        command += [f"--force-device-scale-factor={SCALE}", f"--screenshot={picture}", page.as_uri()]
        subprocess.run(command, check=True, timeout=120, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main() -> None:
    """Open one diff, and take its picture in both layouts and both schemes."""
    home = Home.make()
    file = home.workspace / "prices.py"
    file.write_text(BEFORE, encoding="utf-8")
    PICTURES.mkdir(parents=True, exist_ok=True)
    editor = Editor(home, [home.workspace])
    try:
        editor.open_file(file)
        with connect(editor.lock()) as client:
            client.call("openDiff", filePath=str(file), newContent=AFTER)
            proposal = editor.wait_diff(file)
            editor.wait("marks", lambda: editor.view(proposal["id"])["annotations"])
            window = editor.state()["windows"][0]["id"]
            for layout in ("side-by-side", "inline"):
                for scheme in ("dark", "light"):
                    page = home.root / f"{layout}-{scheme}.html"
                    size = {"width": SIZE[0], "height": SIZE[1]}
                    editor.do("render", window=window, path=str(page), scheme=scheme, **size)
                    picture = PICTURES / f"diff-{layout}-{scheme}.png"
                    photograph(page, picture)
                    print(picture.relative_to(PROJECT))
                editor.do("command", name="qwen_companion_toggle_diff_layout", view=proposal["id"])
    finally:
        editor.kill()
        home.remove()


main()
