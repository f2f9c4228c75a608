"""The headless editor as a process of its own, driven over the protocol of `scripts/headless`.

It is not an ancestor of the CLI's processes. So the CLI finds it only through the discovery files, as from a terminal
outside the editor.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .lines import LineProcess, LinesError
from .own import kind_of, value
from .qwen import PROJECT, Home

SETTLED = 1.1
"""Seconds after which a diff that has appeared takes an answer."""

#: A window or a view in the answer of `state`.
Told = dict[str, Any]


class Editor(LineProcess):
    """A running headless editor with this package loaded.

    Args:
        folders: the folders of its first window.
        package: a built package to load instead of the project's folder.
        also: further packages to load.
        variables: further environment variables.
    """

    def __init__(
        self,
        home: Home,
        folders: Sequence[Path],
        *,
        package: Path | None = None,
        also: Sequence[Path] = (),
        variables: Mapping[str, str] | None = None,
    ) -> None:
        command = [sys.executable, "-m", "headless", "--name", "QwenCompanion"]
        for folder in folders:
            command += ["--folder", str(folder)]
        if package is not None:
            command += ["--package", str(package)]
        for other in also:
            command += ["--also", str(other)]
        self.home = home
        log = home.root / f"editor-{time.monotonic_ns()}.log"
        environment = home.environment(**{"PYTHONPATH": str(PROJECT), **(variables or {})})
        super().__init__("editor", command, cwd=PROJECT, env=environment, log=log)

    def open_file(self, path: Path, **arguments: Any) -> int:
        """Open a file, give its view the focus, and return the view's id."""
        return self.do("open_file", path=str(path), **arguments)["view"]

    def state(self, *, text: bool = False) -> dict[str, Any]:
        return self.do("state", text=text)

    def views(self, *, text: bool = False) -> list[Told]:
        """All views of all windows."""
        return [view for window in self.state(text=text)["windows"] for view in window["views"]]

    def view(self, number: int) -> Told:
        """The view with this id, with its text."""
        found = [view for view in self.views(text=True) if view["id"] == number]
        if not found:
            raise LinesError(f"there is no view {number}")
        return found[0]

    def sides(self, side: str, *, text: bool = False) -> list[Told]:
        """The views on one side of all open diffs: "original" (left) or "proposal" (right)."""
        return [view for view in self.views(text=text) if kind_of(self.home, view) == side]

    def wait_diff(self, path: Path | str) -> Told:
        """Wait for a diff of the file, and return the proposal's view with its text."""

        def found() -> Told | None:
            return next(
                (
                    view
                    for view in self.sides("proposal", text=True)
                    if value(self.home, view, "file_path") == str(path)
                ),
                None,
            )

        proposal = self.wait(f"diff of {path}", found)
        assert proposal is not None
        return proposal

    def wait_next_diff(self, path: Path | str) -> Told:
        """Wait for a diff that opens when one goes there, since another one is open: go to it, and return its view."""
        here = len(self.sides("proposal"))

        def opened() -> bool:
            self.do("command", name="qwen_companion_go_to_diff")
            return len(self.sides("proposal")) > here

        self.wait(f"next diff, of {path}", opened)
        return self.wait_diff(path)

    def wait_no_diff(self) -> None:
        """Wait until no view of any diff is open."""
        self.wait("closed diffs", lambda: not self.sides("proposal") and not self.sides("original"))

    def accept(self, proposal: Told) -> None:
        self.do("command", name="qwen_companion_accept_diff", view=proposal["id"])

    def reject(self, proposal: Told) -> None:
        self.do("command", name="qwen_companion_reject_diff", view=proposal["id"])

    def click_answer(self, proposal: Told, href: str) -> None:
        """Click "accept" or "reject" in the header, once the diff has been on the screen long enough."""
        time.sleep(SETTLED)
        self.do("click", view=proposal["id"], href=href)

    def links_at_changes(self, proposal: Told) -> list[str]:
        """The links that revert a change, in the order of the changes."""
        view = self.view(proposal["id"])
        shown = [(note["region"][0], note["html"]) for note in view["annotations"]]
        shown += [(phantom["region"][0], phantom["html"]) for phantom in view["phantoms"]]
        found = (re.search(r'href="(revert:[^"]*)"', html) for _, html in sorted(shown))
        return [link[1] for link in found if link]

    def set_text(self, proposal: Told, text: str) -> None:
        """Replace the whole text of a view, as an edit by the person."""
        self.do("set_text", view=proposal["id"], text=text)

    def lock(self, folder: Path | None = None) -> dict[str, Any]:
        """Wait for the lock file for a folder (by default the project's), and return its content."""
        wanted = str(folder or self.home.workspace)

        def found() -> dict[str, Any] | None:
            for file in self.lock_files():
                with contextlib.suppress(OSError, ValueError):
                    lock = json.loads(file.read_text(encoding="utf-8"))
                    if lock["workspacePath"] == wanted:
                        return lock
            return None

        lock = self.wait(f"lock file for {wanted}", found)
        assert lock is not None
        return lock

    def lock_files(self) -> list[Path]:
        """All lock files in the home of the editor and the CLI."""
        return sorted((self.home.qwen_home / "ide").glob("*.lock"))

    def quit(self) -> None:
        """Quit as a person does, and wait until the process has ended."""
        self.do("quit")
        self.wait_end()
