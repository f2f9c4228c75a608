"""The lines that connect a CLI on another machine, in a container or in WSL to a window of this editor.

What a CLI needs there: docs/protocols/qwen-ide.md#discovery and docs/protocols/gemini-ide.md#discovery. `PathMaps` has
what the folders of a window are called there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..visible import visible_name
from .discovery import content
from .families import FAMILIES, TERMINAL_VARIABLES, CliFamily

Place = Literal["ssh", "container", "wsl"]
PLACES: dict[Place, str] = {"ssh": "Over SSH", "container": "In a container", "wsl": "In WSL"}
_DELIMITER = ":"
"""What is between paths on the other side, whatever it is here."""

ABLE = tuple(each for each in FAMILIES if each.connects_elsewhere)
"""The families that connect from there. Of OpenCode nobody has seen it; Copilot CLI knows no port."""
*_UNABLE, _LAST = (each.name for each in FAMILIES if each not in ABLE)
ONLY_HERE = f"{', '.join(_UNABLE)} and {_LAST} connect from this computer only."
STARTS = ", ".join(" ".join([each.launch.key, *each.launch.ask]) for each in ABLE)
"""How they are started so that they ask."""


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Where a CLI is to run."""

    place: Place
    host: str = ""
    """As `ssh` takes it: only for SSH."""

    @property
    def words(self) -> str:
        """A phrase to put after the name of a CLI."""
        host = self.host.rpartition("@")[2]
        return {"ssh": f"on {host}", "container": "in a container", "wsl": "in WSL"}[self.place]


class Instruction(NamedTuple):
    """What to do on one side."""

    title: str
    lines: list[str]


def steps(where: Elsewhere, port: int, tokens: Mapping[str, str], folders: Mapping[str, str]) -> list[Instruction]:
    """What to paste, in order.

    Args:
        where: where the CLI is to run.
        port: the window's.
        tokens: for that place, by the name of the family.
        folders: each folder of the window, and what it is called there.
    """
    folders = {visible_name(here): visible_name(name) for here, name in folders.items()}
    there = Instruction(
        _THERE[where.place], [*_lines_there(where, port, tokens, list(folders.values())), _check(where, port)]
    )
    match where.place:
        case "ssh":
            return [
                Instruction("Here, in a terminal:", [f"ssh -R {port}:127.0.0.1:{port} {_word_here(where.host)}"]),
                there,
            ]
        case "container":
            # Docker Desktop leads host.docker.internal to this computer; elsewhere the container shares its network.
            network = "--network host " if sys.platform.startswith("linux") else ""
            mounts = "".join(f"-v {_word_here(f'{here}:{name}')} " for here, name in folders.items())
            return [Instruction("Here, with your image:", [f"docker run -it {network}{mounts}IMAGE"]), there]
        case "wsl":
            network = ["[wsl2]", "networkingMode=mirrored"]
            return [
                Instruction("Once, in the file .wslconfig of your home folder; then run: wsl --shutdown", network),
                there,
            ]


def _word_here(text: str) -> str:
    """One word of a line for a shell here; on Windows for PowerShell and `cmd.exe`, which knows double quotes alone."""
    if sys.platform != "win32":
        return shlex.quote(text)
    return text if re.fullmatch(r"\w[\w@.:\\/-]*", text) else '"' + text.replace('"', "") + '"'


_THERE: dict[Place, str] = {
    "ssh": "There, in the shell that it opens:",
    "container": "In the container:",
    "wsl": "In the shell of WSL:",
}


def _lines_there(where: Elsewhere, port: int, tokens: Mapping[str, str], folders: Sequence[str]) -> list[str]:
    """Lines for a shell such as sh: the files with a token that only the person can read, and the variables."""
    lines: list[str] = []
    variables: dict[str, str] = {}
    for family in ABLE:
        token = tokens[family.name]
        variables |= family.variables(folders, port, token, os.getppid(), _DELIMITER)
        if family.host_variable and where.place == "container" and not sys.platform.startswith("linux"):
            variables[family.host_variable] = "host.docker.internal"
        if family.token_variable is None:
            lines.append(_write_lock(family, port, folders, token))
    variables |= TERMINAL_VARIABLES
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return lines + [f"cd {shlex.quote(folder)}" for folder in folders[:1]]


def _write_lock(family: CliFamily, port: int, folders: Sequence[str], token: str) -> str:
    """Without a process id: the CLI removes the files of those that it can't see."""
    told = content(family, port, token, folders, delimiter=_DELIMITER)
    told = {name: value for name, value in told.items() if name not in {"pid", "ppid"}}
    folder = f'"${{{family.habits.home_variable}:-$HOME/{family.habits.folder}}}/ide"'
    return (
        f"(umask 077; mkdir -p {folder} && "
        f"printf '%s\\n' {shlex.quote(json.dumps(told, ensure_ascii=False))} > {folder}/{port}.lock)"
    )


def _check(where: Elsewhere, port: int) -> str:
    """A line that says whether the port leads here. Every CLI comes with Node."""
    hosts = ["127.0.0.1", "host.docker.internal"] if where.place == "container" else ["127.0.0.1"]
    script = (
        f"const n=require('net');let left={len(hosts)};for(const h of {json.dumps(hosts)})"
        f"n.connect({port},h).on('connect',()=>{{console.log('The editor answers.');process.exit(0)}})"
        f".on('error',e=>{{if(!--left){{console.log('The editor does not answer: '+e.message);process.exit(1)}}}})"
    )
    return f"node -e {shlex.quote(script)}"


_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
"""How an absolute path of Windows begins."""


@dataclass(frozen=True, slots=True)
class PathMaps:
    """Pairs of a folder here and the same folder there, both absolute, each in the spelling of its system."""

    pairs: tuple[tuple[str, str], ...] = ()

    def here(self, path: str) -> str:
        """The path here of a file that the other side names; the path itself if no folder of the pairs holds it."""
        return _moved(path, [(there, here) for here, there in self.pairs])

    def there(self, path: str) -> str:
        """The path there of a file that is named here; the path itself if no folder of the pairs holds it."""
        # Most disks of macOS know no upper and lower case, and none of them how a character is composed.
        return _moved(path, self.pairs, is_loose=sys.platform == "darwin")


def _moved(path: str, pairs: Iterable[tuple[str, str]], *, is_loose: bool = False) -> str:
    """The innermost folder decides."""
    found = max(_inside(path, pairs, is_loose=is_loose), key=lambda one: len(one[0]), default=None)
    if found is None:
        return path
    _, rest, target = found
    if not rest:
        return target
    separator = "\\" if _DRIVE.match(target) else "/"
    return target.rstrip("/\\") + separator + (rest.replace("/", separator) if separator == "\\" else rest)


def _inside(path: str, pairs: Iterable[tuple[str, str]], *, is_loose: bool) -> Iterator[tuple[str, str, str]]:
    """The folder, what of the path is below it, with slashes if the folder is one of Windows, and the other folder."""
    for folder, other in pairs:
        is_windows = bool(_DRIVE.match(folder))
        named, root = (each.replace("\\", "/") if is_windows else each for each in (path, folder))
        names, above = named.split("/"), root.rstrip("/").split("/")
        key = _loose if is_windows or is_loose else str
        if list(map(key, names[: len(above)])) == list(map(key, above)):
            yield folder, "/".join(names[len(above) :]), other


def _loose(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
