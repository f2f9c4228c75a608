"""The CLI families that look for an editor: where they look, and what their variables are called.

Facts: contract/qwen-ide.md §1 and companion-spec.md B2, B3, B5.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def temporary_folder() -> Path:
    """The folder that Node's `os.tmpdir()` names: Python's own choice skips folders that it can't write to."""
    if sys.platform == "win32":
        named = os.environ.get("TEMP") or os.environ.get("TMP")
        return Path(named or os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "temp"))
    return Path(os.environ.get("TMPDIR") or os.environ.get("TMP") or os.environ.get("TEMP") or "/tmp")  # noqa: S108 - Node's default


def qwen_home() -> Path:
    """`$QWEN_HOME`, else `~/.qwen`."""
    named = os.environ.get("QWEN_HOME")
    return Path(os.path.abspath(os.path.expanduser(named))) if named else Path.home() / ".qwen"


@dataclass(frozen=True, slots=True)
class DiscoveryFolder:
    """A folder that CLIs look into, below one that the person owns.

    Everything below `base` is ours to create and to check; `base` itself may well be a link (dotfiles often are).
    """

    base: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The folder's full path."""
        return self.base.joinpath(*self.parts)


@dataclass(frozen=True, slots=True)
class CliFamily:
    """How one family of CLIs finds an editor."""

    name: str
    port_variable: str
    workspace_variable: str
    locations: Callable[[int, int], list[tuple[DiscoveryFolder, str]]]
    """From the editor's pid and the server's port to the folders and the file names that this family reads."""
    file_patterns: Callable[[], list[tuple[DiscoveryFolder, str]]]
    """The folders, and the regular expressions of the file names, in which leftovers of this family may lie."""


def _qwen_folders() -> tuple[DiscoveryFolder, DiscoveryFolder]:
    return DiscoveryFolder(qwen_home(), ("ide",)), DiscoveryFolder(temporary_folder(), ("qwen", "ide"))


def _qwen_locations(editor_pid: int, port: int) -> list[tuple[DiscoveryFolder, str]]:
    lock_folder, published_folder = _qwen_folders()
    return [
        (lock_folder, f"{port}.lock"),
        (published_folder, f"qwen-code-ide-server-{editor_pid}-{port}.json"),
    ]


def _qwen_file_patterns() -> list[tuple[DiscoveryFolder, str]]:
    lock_folder, published_folder = _qwen_folders()
    return [(lock_folder, r"\d+\.lock"), (published_folder, r"qwen-code-ide-server-\d+-\d+\.json")]


QWEN_CODE = CliFamily(
    name="Qwen Code",
    port_variable="QWEN_CODE_IDE_SERVER_PORT",
    workspace_variable="QWEN_CODE_IDE_WORKSPACE_PATH",
    locations=_qwen_locations,
    file_patterns=_qwen_file_patterns,
)

FAMILIES = (QWEN_CODE,)
