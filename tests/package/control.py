"""Package Control itself, in the headless editor on the Python that Sublime Text has: a data folder and its editor."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2

from ..e2e.lines import LineProcess
from ..e2e.qwen import Home
from ..unit.fake_daemon import TOKEN

VERSION = "4.2.8"
COMMIT = "76e57657f11ce83970325b9e4267091ceaa84a90"
"""That of the tag: git checks that what it fetches is just that."""
SOURCE = "https://github.com/sublimehq/package_control"
HERE = Path(__file__).resolve().parent
PROJECT = HERE.parents[1]
BESIDE = PROJECT.parent / "shared/recipes/package_control/Package Control.sublime-package"
LIBRARIES = frozenset(json.loads((PROJECT / "dependencies.json").read_text(encoding="utf-8"))["*"][">=4205"])
"""Those that the package declares."""
CUT = "… (Show Log)"
INSTALL_LIMIT = 120.0
"""Seconds for the libraries, on a busy machine."""
NAME = "QwenCompanion"


class UnavailableError(Exception):
    """Package Control can't be had here."""


def archive(cache: Path) -> Path:
    """Package Control as a .sublime-package: beside the checkout, from the cache, or fetched at its commit.

    Raises UnavailableError.
    """
    if BESIDE.exists():
        return BESIDE
    target = cache / f"Package Control {VERSION}.sublime-package"
    if not target.exists():
        repository = cache / "package_control.git"
        shutil.rmtree(repository, ignore_errors=True)
        cache.mkdir(parents=True, exist_ok=True)
        git = ["git", "-C", str(repository)]
        new = target.with_suffix(".new")
        try:
            for command in (
                ["git", "init", "--quiet", "--bare", str(repository)],
                [*git, "fetch", "--quiet", "--depth", "1", SOURCE, COMMIT],
                [*git, "archive", "--format=zip", "-o", str(new), COMMIT],
            ):
                subprocess.run(command, check=True, capture_output=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            raise UnavailableError(f"Package Control {VERSION} can't be fetched: {said}") from None
        os.replace(new, target)
    return target


def address(release: Path) -> str:
    """That of the repository in a release's folder."""
    return f"file://{release}/repository.json"


class Sublime:
    """One person's data folder, and the editors that run on it one after another.

    Args:
        control: Package Control's archive; without one it is not installed.
        repositories: those that it knows. There is no channel.
    """

    def __init__(self, control: Path | None, repositories: Sequence[str] = ()) -> None:
        self.home = Home.make()
        self.data = self.home.home / ".config/sublime-text"
        self.libraries = self.data / "Lib/python314"
        self.installed = self.data / "Installed Packages"
        self.user = self.data / "Packages/User"
        self._program = self.home.root / "app/plugin_host-3.14"
        for folder in (self.libraries, self.installed, self.user, self._program.parent / "Packages"):
            folder.mkdir(parents=True)
        self._program.symlink_to(Path(sys.executable).resolve())
        # Nothing of the project but the editor is on its path.
        (self.home.root / "editor").mkdir()
        (self.home.root / "editor/headless").symlink_to(PROJECT / "headless")
        default = self.home.root / "Default"
        default.mkdir()
        (default / "Preferences.sublime-settings").write_text("{}", encoding="utf-8")
        if control:
            shutil.copyfile(control, self.installed / "Package Control.sublime-package")
        self.configure(
            "Package Control",
            channels=[],
            repositories=list(repositories),
            submit_usage=False,
            auto_upgrade=False,
            bootstrapped=True,
            installed_packages=["Package Control"],
        )
        self.editor: Editor | None = None

    def configure(self, package: str, **settings: Any) -> None:
        """Set the person's own settings of a package."""
        file = self.user / f"{package}.sublime-settings"
        file.write_text(json.dumps({**self.settings(package), **settings}), encoding="utf-8")

    def settings(self, package: str) -> dict[str, Any]:
        """The person's own settings of a package."""
        file = self.user / f"{package}.sublime-settings"
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

    def start(self, **variables: str) -> Editor:
        """Start the editor. Only one runs at a time."""
        self.editor = Editor(self, variables)
        return self.editor

    def remove(self) -> None:
        """End the editor, and remove everything."""
        if self.editor:
            self.editor.kill()
        self.home.remove()

    def versions(self) -> dict[str, str]:
        """The libraries that are installed, by their `.dist-info`."""
        names = [path.name.removesuffix(".dist-info") for path in self.libraries.glob("*.dist-info")]
        return {name.replace("_", "-").lower(): version for name, _, version in (each.partition("-") for each in names)}

    def drop(self, release: Path) -> None:
        """Put the package of a release into place, without its libraries. A running editor never sees half of it."""
        new = self.data / f"{NAME}.new"
        shutil.copyfile(release / f"{NAME}.sublime-package", new)
        os.replace(new, self.installed / f"{NAME}.sublime-package")


Make = Callable[..., Sublime]
"""Makes a data folder that knows some repositories."""


def _whole(shown: str, console: Sequence[str]) -> str:
    """A message, from the line of the console that has its first words and the last ones before the cut."""
    if not shown.endswith(CUT):
        return shown
    words = shown.removesuffix(CUT).removeprefix("QwenCompanion: ")
    ends = words[:15], words[-15:]
    return next(
        (line for line in console if line.startswith("QwenCompanion") and all(end in line for end in ends)), shown
    )


class Editor(LineProcess):
    """A running editor."""

    def __init__(self, sublime: Sublime, variables: Mapping[str, str]) -> None:
        self.sublime = sublime
        home = sublime.home
        environment = home.environment(
            PYTHONPATH=os.pathsep.join([str(home.root / "editor"), str(sublime.libraries)]),
            DEFAULT_PACKAGE=str(home.root / "Default"),
            QWEN_SERVER_TOKEN=TOKEN,
            **variables,
        )
        # As in Sublime Text: no site-packages, no .pth file.
        command = [str(sublime._program), "-S", "-s", "-W", "ignore", "-m", "headless"]
        command += ["--folder", str(home.workspace), "--package", str(HERE / "watcher"), "--name", "Watcher"]
        log = home.root / f"editor-{time.monotonic_ns()}.log"
        super().__init__("editor", command, cwd=home.root, env=environment, log=log)

    def console(self) -> list[str]:
        """What was printed so far."""
        return [event["text"] for event in list(self.events) if event["event"] == "log"]

    def wait_console(self, text: str, timeout: float = INSTALL_LIMIT) -> str:
        """The first line of the console with a text."""
        return self.wait(text, lambda: next((line for line in self.console() if text in line), None), timeout) or ""

    def control(self, command: str, **arguments: Any) -> None:
        """Have Package Control do something, once its start is over: its clean-up installs libraries too."""
        self.wait_console("Package Control has cleaned up", 2 * INSTALL_LIMIT)
        self.do("command", name=command, args=arguments)

    def install(self) -> None:
        """Install the package as a person does, and wait for the end of it."""
        self.control("install_packages", packages=[NAME], unattended=True)
        self.wait_console(f"{NAME} successfully installed")

    def messages(self) -> list[str]:
        """What was shown in the status bar and in dialogs; what the status bar cut is whole, as the console has it."""
        shown = [message["text"] for message in self.do("state")["messages"]]
        console = self.console()
        return [_whole(text, console) for text in shown]

    def wait_message(self, text: str, timeout: float = INSTALL_LIMIT) -> str:
        """The first message with a text. One that is cut is waited for until the console has it whole."""

        def found() -> str | None:
            said = next((one for one in self.messages() if text in one), "")
            return None if said.endswith(CUT) else said or None

        return self.wait(text, found, timeout) or ""

    def question(self) -> dict[str, Any] | None:
        """The panel that is open in the window."""
        return self.do("state")["windows"][0]["question"]

    def wait_question(self) -> dict[str, Any]:
        """The panel, as soon as it is open."""
        return self.wait("question", self.question) or {}

    def views(self) -> list[dict[str, Any]]:
        return [view for window in self.do("state", text=True)["windows"] for view in window["views"]]

    def lock(self) -> dict[str, Any]:
        """The content of the window's lock file, as soon as there is one."""

        def found() -> dict[str, Any] | None:
            for file in self.lock_files():
                with contextlib.suppress(OSError, ValueError):
                    return json.loads(file.read_text(encoding="utf-8"))
            return None

        return self.wait("lock file", found) or {}

    def served(self) -> dict[str, Any]:
        """The window's lock file once its server answers; while libraries are missing, the file comes and goes."""

        def found() -> dict[str, Any] | None:
            lock = self.lock()
            with contextlib.suppress(httpx2.HTTPError):
                httpx2.get(f"http://127.0.0.1:{lock['port']}/mcp", timeout=INSTALL_LIMIT, trust_env=False)
                return lock
            return None

        return self.wait("server", found) or {}

    def lock_files(self) -> list[Path]:
        return sorted((self.sublime.home.qwen_home / "ide").glob("*.lock"))

    def environment(self) -> dict[str, str]:
        """The variables of its process."""
        path = self.sublime.home.root / "environment.json"
        path.unlink(missing_ok=True)
        self.do("command", name="watcher_environment", args={"path": str(path)})
        self.wait("environment", path.exists)
        return json.loads(path.read_text(encoding="utf-8"))

    def quit(self) -> None:
        self.do("quit")
        self.wait_end()
