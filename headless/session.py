"""What the editor keeps of its windows from one run to the next.

A new window takes over the settings that the window of the same folders had when the editor last quit. Tabs and layouts
are not kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headless import jsonc
from headless.files import replace_file
from headless.loop import report_exception

if TYPE_CHECKING:
    from headless.app import Application
    from headless.window import WindowState


def save(app: Application) -> None:
    """Save the windows' settings when the editor quits."""
    windows = [{"folders": window.folders, "settings": window.settings.own} for window in app.windows]
    try:
        replace_file(app.paths.session, (jsonc.dumps({"windows": windows}, pretty=True) + "\n").encode())
    except OSError:
        report_exception()


def restore(app: Application, window: WindowState) -> None:
    """Give a window the settings that it had in the last run, if any."""
    for kept in _windows(app.paths.session):
        if kept["folders"] == window.folders:
            for key, value in kept["settings"].items():
                app.settings.set(window.settings, key, value)
            return


def _windows(path: str) -> list[dict[str, Any]]:
    try:
        with open(path, encoding="utf-8") as file:
            return list(jsonc.loads(file.read())["windows"])
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        report_exception()
        return []
