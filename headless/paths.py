"""The operating system, and where Sublime Text keeps its data on it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Literal


def platform() -> Literal["osx", "linux", "windows"]:
    """The operating system, by the editor's name for it."""
    if sys.platform == "win32":
        return "windows"
    return "osx" if sys.platform == "darwin" else "linux"


def platform_title() -> str:
    """The operating system as names of resources spell it: `OSX`, `Linux` or `Windows`."""
    return {"osx": "OSX", "linux": "Linux", "windows": "Windows"}[platform()]


def home() -> str:
    """The person's home folder; HOME counts on every platform, so that tests can move it."""
    return os.environ.get("HOME") or os.path.expanduser("~")


def default_data_folder() -> str:
    """The data folder as documented for the platform."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or os.path.join(home(), "AppData", "Roaming")
        return os.path.join(base, "Sublime Text")
    if sys.platform == "darwin":
        return os.path.join(home(), "Library", "Application Support", "Sublime Text")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home(), ".config")
    return os.path.join(base, "sublime-text")


def default_cache_folder() -> str:
    """The cache folder as documented for the platform."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home(), "AppData", "Local")
        return os.path.join(base, "Sublime Text", "Cache")
    if sys.platform == "darwin":
        return os.path.join(home(), "Library", "Caches", "Sublime Text", "Cache")
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home(), ".cache")
    return os.path.join(base, "sublime-text", "Cache")


@dataclass(frozen=True)
class Paths:
    """The folders of one editor."""

    data: str
    cache: str

    @classmethod
    def default(cls) -> Paths:
        """The folders of the person who runs this."""
        return cls(default_data_folder(), default_cache_folder())

    @property
    def packages(self) -> str:
        """Where loose packages and the user's settings are."""
        return os.path.join(self.data, "Packages")

    @property
    def installed_packages(self) -> str:
        """Where packages in zip files are."""
        return os.path.join(self.data, "Installed Packages")

    @property
    def lib(self) -> str:
        """Where libraries of packages are."""
        return os.path.join(self.data, "Lib")

    @property
    def user(self) -> str:
        """The user's own package."""
        return os.path.join(self.packages, "User")

    @property
    def session(self) -> str:
        """The file that keeps the windows' settings."""
        return os.path.join(self.data, "Local", "Session.sublime_session")

    def create(self) -> None:
        """Make the folders that do not exist yet."""
        for folder in (self.user, self.installed_packages, self.lib, self.cache):
            os.makedirs(folder, exist_ok=True)


def move_home(folder: str) -> None:
    """Move the person's folders to `folder`: tests must not touch the real ones."""
    old_home = os.path.realpath(os.path.expanduser("~"))
    for name, value in list(os.environ.items()):
        if name.endswith("_HOME") and os.path.realpath(value).startswith(old_home + os.sep):
            del os.environ[name]
    os.environ["HOME"] = os.environ["USERPROFILE"] = folder
    for name, part in {
        "XDG_CONFIG_HOME": ".config",
        "XDG_CACHE_HOME": ".cache",
        "XDG_DATA_HOME": ".local/share",
        "XDG_STATE_HOME": ".local/state",
        "XDG_RUNTIME_DIR": ".run",
        "APPDATA": "AppData/Roaming",
        "LOCALAPPDATA": "AppData/Local",
    }.items():
        os.environ[name] = os.path.join(folder, *part.split("/"))
        os.makedirs(os.environ[name], mode=0o700, exist_ok=True)
