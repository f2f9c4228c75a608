"""What is known of a CLI before it is started: its version, the person's own mode, what it could resume. Blocks."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..json_text import read_settings, setting
from ..platforms import programs
from .families import CliFamily
from .mcp_configuration import install_for
from .shell import Command, chooses_mode, words_of

logger = logging.getLogger(__name__)


def settings_folder(family: CliFamily, variables: Mapping[str, str], cwd: str = "") -> Path:
    """A family's folder in the person's home, by the variables of a process that runs in the folder `cwd`."""
    habits = family.habits
    named = variables.get(habits.home_variable)
    if named and habits.home_is_folder:
        return Path(cwd, os.path.expanduser(named))
    above, _, own = habits.folder.rpartition("/")
    if above == ".config" and (config := variables.get("XDG_CONFIG_HOME")):
        return Path(cwd, config, own)
    home = variables.get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(named or home or Path.home(), habits.folder)


UNKNOWN = "unknown"
"""The approval mode of settings that say it by more than a word."""


def settings_of(family: CliFamily, home: Path, project: str = "") -> list[tuple[Path, dict[str, Any]]]:
    """The files of a CLI's settings, each with what is in it; those of its folder first, then those of a project."""
    habits = family.habits
    found = [(path, read_settings(path)) for path in (home / name for name in habits.settings)]
    if project:
        names = habits.project_settings or [os.path.join(habits.folder, name) for name in habits.settings]
        above = list(_work_tree(Path(project))) if habits.reads_above else [Path(project)]
        # The nearest folder wins, but not where its settings are in a folder of their own: there the outermost does.
        places = [(folder, name) for folder in reversed(above) for name in names if not os.path.dirname(name)]
        places += [(folder, name) for folder in above for name in names if os.path.dirname(name)]
        found += [(path, read_settings(path, below=str(folder))) for folder, name in places for path in [folder / name]]
    return found


def _work_tree(folder: Path) -> Iterator[Path]:
    """A folder and those above it, up to the root of its work tree; all of them if it is in none."""
    for one in (folder, *folder.parents):
        yield one
        if os.path.lexists(one / ".git"):
            return


_OFF = frozenset({"", "false", "0", "no", "off", "n"})
"""What a variable says that sets nothing."""


def approval_mode(family: CliFamily, settings: Sequence[Mapping[str, Any]], variables: Mapping[str, str]) -> str | None:
    """The approval mode by variables, or by some settings, the last of which win; None if they say none."""
    habits = family.habits
    for name, mode in habits.mode_variables.items():
        if variables.get(name, "").strip().lower() not in _OFF:
            return mode
    if habits.approval:
        modes = [habits.approval(settings)]
    else:
        modes = [setting(one, habits.approval_setting, setting(one, "tools.approvalMode")) for one in settings]
    mode = next((one for one in reversed(modes) if one is not None), None)
    return mode if mode is None or isinstance(mode, str) else UNKNOWN


@dataclass(frozen=True, slots=True)
class Start:
    """What decides how a CLI is started in a folder."""

    approval: str | None = None
    """The approval mode in the person's own settings; None if they set none."""
    mode: str | None = None
    """The one by all settings, with those of the folder; None if they set none, or if the command sets one."""
    can_resume: bool = False
    """Whether it has a conversation of the folder to go on with."""
    mcp: str = ""
    """A file that gives it the editor's tools; empty if it isn't offered them."""


def look(
    family: CliFamily, command: Command, folder: str, environment: Mapping[str, str], script: bytes = b""
) -> Start:
    """Look at the CLI that a command of the settings runs in a folder.

    With the `script` of the editor's MCP server, a version that is known to take it is offered that.
    """
    home = settings_folder(family, environment)
    own = approval_mode(family, [values for _, values in settings_of(family, home)], environment)
    mode = approval_mode(family, [values for _, values in settings_of(family, home, folder)], environment)
    if chooses_mode(family.launch, words_of(command)):
        mode = None
    program = programs.find(_program(family, command), environment)
    version = package_version(program, family.launch.npm_package) if program else None
    is_able = version is None or version >= family.launch.resume_since
    takes_servers = version is not None and family.launch.mcp and version >= family.launch.mcp_since
    mcp = _offered(family, script, environment) if script and takes_servers else ""
    can_resume = is_able and any(map(_has_files, _chats(family, folder, environment)))
    return Start(None if own == UNKNOWN else own, mode, can_resume, mcp)


def _offered(family: CliFamily, script: bytes, environment: Mapping[str, str]) -> str:
    # The CLI would look a bare name up on a PATH that may have a folder of the project.
    if (node := programs.find("node", environment)) is None:
        return ""
    try:
        return install_for(family.launch.key, script, node)
    except OSError as error:
        logger.warning("%s runs without the editor's tools: %s", family.name, error)
        return ""


def package_version(program: str | Path, npm_package: str) -> tuple[int, ...] | None:
    """The version of the npm package that a program belongs to; None if it can't be told."""
    for folder in list(Path(os.path.realpath(program)).parents)[:4]:
        body = read_settings(folder / "package.json")
        if body.get("name") == npm_package:
            numbers = re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", str(body.get("version")))
            return tuple(map(int, numbers.groups())) if numbers else None
    return None


def _program(family: CliFamily, command: Command) -> str:
    words = words_of(command)
    return words[0] if words else family.launch.key


def _chats(family: CliFamily, folder: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """The folders where a family may keep the conversations of a folder."""
    home, real = settings_folder(family, environment), os.path.realpath(folder)
    if family.habits.home_is_folder:
        named = real.lower() if sys.platform == "win32" else real
        yield home / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", named) / "chats"
        return
    yield home / "tmp" / hashlib.sha256(os.fsencode(real)).hexdigest() / "chats"
    projects: object = read_settings(home / "projects.json").get("projects")
    name = cast("dict[str, object]", projects).get(real) if isinstance(projects, dict) else None
    if isinstance(name, str):
        yield home / "tmp" / os.path.basename(name) / "chats"


def _has_files(folder: Path) -> bool:
    try:
        return any(path.suffix in {".json", ".jsonl"} for path in folder.iterdir())
    except (OSError, ValueError):  # it has a name that no folder has
        return False
