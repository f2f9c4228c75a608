"""Reads the list of agents (docs/protocols/acp.md#registry), and plans what installing one would do on this computer.

The person says yes to exactly that. An entry that doesn't fit is left out. Texts have no characters that can't be seen,
so that what the person reads is what is there.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from .. import json_text
from ..agents import decides, is_variable
from ..conversation.failures import ChatError
from ..json_text import as_object
from ..platforms import paths
from ..platforms.files import make_private_folders, rename
from ..visible import at_most, is_plain, is_safe


class RegistryError(ChatError):
    """A failure that has to do with the registry."""


class DamagedListError(RegistryError):
    """The list of agents can't be read."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The list of agents is damaged: {why}.")


class DownloadError(RegistryError):
    """Something could not be downloaded."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(f"{host or 'The address'} can't be reached: {why}.", "Try again later.")


class ArchiveError(RegistryError):
    """An archive is not what it should be, and nothing of it was installed."""

    remedy = "Nothing was installed."

    def __init__(self, why: str) -> None:
        super().__init__(f"The archive is refused: {why}.")


class InstallError(RegistryError):
    """An agent could not be installed or removed."""


logger = logging.getLogger(__name__)

MOST_AGENTS = 1000
MOST_WORDS = 100
"""Arguments, and variables, of one command."""
SHOWN = 300
"""Characters of a text that is only shown."""
_LONGEST = 4000
_LONGEST_NAME = 300
"""Characters of a package with its version; npm allows 214 for the name."""
_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
_VERSION = re.compile(r"[0-9](?:[0-9A-Za-z.+-]{0,62}[0-9A-Za-z])?")
"""The name of a folder, too: Windows makes one without the dots at its end."""
_PACKAGES: Mapping[str, re.Pattern[str]] = {
    "npx": re.compile(r"((?:@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][A-Za-z0-9._~-]*)(?:(@)([0-9A-Za-z][0-9A-Za-z.+-]*))?"),
    "uvx": re.compile(
        r"([A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._,-]+\])?)(?:([=>~]=|@)([0-9A-Za-z][0-9A-Za-z.!+-]*))?"
    ),
}
"""A package, and what stands before its version, by the runner."""
_PINNED: Mapping[str, re.Pattern[str]] = {
    # semver.org, with the “v” that npm allows
    "npx": re.compile(
        r"v?(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
        re.ASCII,
    ),
    # packaging.python.org, “Version specifiers”
    "uvx": re.compile(
        r"v?(?:\d+!)?\d+(?:\.\d+)*(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview)[-_.]?\d*)?"
        r"(?:-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?\d*)?(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?",
        re.ASCII | re.IGNORECASE,
    ),
}
"""A version, by the runner; else it is a tag, such as "latest", or a range."""
_FILE = re.compile(r".*\.(?:tgz|t[bxl]z2?|tar|gz|bz2|xz|zst|lz|lzma|zip|whl|egg|pyw?z?|git)", re.IGNORECASE)
"""What a runner takes for a file of the folder that it is started in, also as a version: npm-package-arg, uv."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SYSTEM = re.compile(r"(?:darwin|linux|windows)-(?:aarch64|x86_64)")

Runner = Literal["npx", "uvx"]


@dataclass(frozen=True, slots=True)
class PackageSource:
    """A package that another program fetches and starts."""

    runner: Runner
    package: str
    """With its version."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """An archive, or a program by itself, for one system."""

    url: str
    sha256: str
    """In lower case; empty if the registry has none."""
    program: str
    """Where the program is in the archive: names with slashes between them."""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """One agent of the list."""

    id: str
    name: str
    version: str
    description: str = ""
    repository: str = ""
    """An address, https; empty if there is none."""
    license: str = ""
    license_url: str = ""
    archives: Mapping[str, ArchiveSource] = field(default_factory=dict[str, ArchiveSource])
    """By system, such as "linux-x86_64"."""
    packages: tuple[PackageSource, ...] = ()

    @property
    def source(self) -> str:
        """Where its code is, or else the host of its archives, or its package; without a scheme."""
        if self.repository:
            return self.repository.partition("://")[2].rstrip("/")
        hosts = (urlsplit(each.url).netloc for each in self.archives.values())
        return next(hosts, "") or next((each.package for each in self.packages), "")


def read_entries(data: bytes) -> tuple[RegistryEntry, ...]:
    """The agents of a list, in the order of their names.

    Raises:
        DamagedListError: it is no list, or has no agent that can be read.
    """
    try:
        body = json_text.read(data)
    except (ValueError, RecursionError):
        raise DamagedListError("it is not JSON") from None
    agents = as_object(body).get("agents")
    if not isinstance(agents, list):
        raise DamagedListError("it has no agents")
    found: dict[str, RegistryEntry] = {}
    for value in cast("list[object]", agents)[:MOST_AGENTS]:
        try:
            entry = _entry(as_object(value))
        except ValueError as error:
            logger.info("An agent of the registry is left out: %s", error)
            continue
        found.setdefault(entry.id, entry)
    if agents and not found:
        raise DamagedListError("no agent in it can be read")
    return tuple(sorted(found.values(), key=lambda entry: (entry.name.casefold(), entry.id)))


def read_day(data: bytes) -> str:
    """Of which day a list is that can be read, such as "2026-11-22"; empty if it doesn't say."""
    return _shown(as_object(as_object(json_text.read(data)).get("origin")).get("on"))


def _entry(fields: Mapping[str, Any]) -> RegistryEntry:
    """An agent. Raises ValueError if its id, its name or its version can't be used, or nothing can be installed."""
    distribution = as_object(fields.get("distribution"))
    version = _matching(_VERSION, fields.get("version"), "version")
    archives = {
        system: archive
        for system, value in as_object(distribution.get("binary")).items()
        if _SYSTEM.fullmatch(system) and (archive := _archive(as_object(value)))
    }
    runners: tuple[Runner, ...] = ("npx", "uvx")
    sources = (_package(runner, as_object(distribution.get(runner)), version) for runner in runners)
    packages = tuple(source for source in sources if source)
    identifier = _matching(_ID, fields.get("id"), "id")
    if not archives and not packages:
        raise ValueError(f"{identifier} has nothing that can be installed")
    name = _shown(fields.get("name"))[:80]
    if not name:
        raise ValueError(f"{identifier} has no name")
    return RegistryEntry(
        identifier,
        name,
        version,
        _shown(fields.get("description")),
        _address(fields.get("repository")) or _address(fields.get("website")),
        _shown(fields.get("license"))[:80],
        _address(fields.get("license_url")),
        archives,
        packages,
    )


def _package(runner: Runner, fields: Mapping[str, Any], version: str) -> PackageSource | None:
    name, command = pinned(runner, fields.get("package"), version), _command(fields)
    return PackageSource(runner, name, *command) if name and command else None


def pinned(runner: Runner, package: object, version: str) -> str:
    """A package with one version, as its runner takes it: the package's own if it says one, else `version`.

    It is empty if that may mean anything but this version of a package of the index: a file, a folder, an address.
    """
    found = _PACKAGES[runner].fullmatch(package) if isinstance(package, str) and len(package) <= _LONGEST_NAME else None
    if not found:
        return ""
    name, sign, wanted = found.groups(default="")
    if any(map(_FILE.fullmatch, (name.partition("[")[0], wanted))):
        return ""
    if sign not in {"@", "=="} or not _PINNED[runner].fullmatch(wanted):
        sign, wanted = "==" if sign.endswith("=") else "@", version
    is_version = _PINNED[runner].fullmatch(wanted) and not _FILE.fullmatch(wanted)
    return f"{name}{sign}{wanted}" if is_version else ""


def _archive(fields: Mapping[str, Any]) -> ArchiveSource | None:
    url, sha256, command = fields.get("archive"), fields.get("sha256", ""), _command(fields)
    program = _program(fields.get("cmd"))
    if not isinstance(url, str) or not is_address(url) or program is None or command is None:
        return None
    if not isinstance(sha256, str) or not (sha256 == "" or _SHA256.fullmatch(sha256.lower())):
        return None
    return ArchiveSource(url, sha256.lower(), program, *command)


def _program(value: object) -> str | None:
    """The path of a program inside its archive."""
    if not isinstance(value, str) or not _is_seen(value) or len(value) > _LONGEST:
        return None
    names = [name for name in value.replace("\\", "/").split("/") if name != "."]
    if not names or any(name in {"", ".."} or ":" in name for name in names):
        return None
    return "/".join(names)


def _command(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], dict[str, str]] | None:
    """The arguments and the variables; None if one of them is none."""
    arguments: object = fields.get("args", [])
    environment: object = fields.get("env", {})
    if not isinstance(arguments, list) or not isinstance(environment, dict):
        return None
    words, variables = cast("list[object]", arguments), cast("dict[str, object]", environment)
    texts = [*words, *variables.values()]
    if max(len(words), len(variables)) > MOST_WORDS or not all(map(is_variable, variables)):
        return None
    if deciding := next(filter(decides, variables), None):
        logger.info("A command of the registry is left out: %s decides %s", deciding, decides(deciding))
        return None
    if not all(isinstance(text, str) and _is_seen(text) and len(text) <= _LONGEST for text in texts):
        return None
    return tuple(map(str, words)), {name: str(value) for name, value in variables.items()}


def is_address(url: str) -> bool:
    """Whether something may be fetched from an address: https, or this computer."""
    return len(url) <= _LONGEST and is_safe(url) and _is_seen(url)


def _address(value: object) -> str:
    return value if isinstance(value, str) and is_address(value) else ""


def _matching(pattern: re.Pattern[str], value: object, what: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"its {what} is {str(value)[:80]!r}")
    return value


def _shown(value: object) -> str:
    """A text to be read: one line, without characters that can't be seen."""
    text = value if isinstance(value, str) else ""
    return "".join(each for each in " ".join(text.split()) if _is_seen(each))[:SHOWN]


def _is_seen(text: str) -> bool:
    """Whether nothing in a text is hidden or acts."""
    return text.isprintable() and is_plain(text)


ASIDE = ".before"
"""The end of the name of a version that a new copy of it takes the place of."""


def put_in_place(new: str, folder: str) -> None:
    """Give a folder the name of another, which is removed; that one stays as it is if it can't be done.

    Raises OSError.
    """
    aside = _aside(folder)
    had = os.path.lexists(folder)
    if had:
        remove(aside)
        rename(folder, aside)
    try:
        rename(new, folder)
    except OSError:
        if had:
            # Or else `restore` does it.
            with contextlib.suppress(OSError):
                rename(aside, folder)
        raise
    remove(aside)


def restore(folder: str) -> None:
    """Put back a version that was moved aside for another, which then has not come. Raises OSError."""
    if not os.path.lexists(folder) and os.path.lexists(_aside(folder)):
        rename(_aside(folder), folder)


def restore_all(folder: str) -> None:
    """Put back all versions of an agent's folder that are missing, and remove what a crash has left. Raises OSError."""
    for name in os.listdir(folder):
        if name.startswith(".") and name.endswith(ASIDE):
            restore(os.path.join(folder, name[1 : -len(ASIDE)]))
    remove_others(folder, [name for name in os.listdir(folder) if not name.startswith(".")])


def remove_others(folder: str, kept: Collection[str]) -> None:
    """Remove what else is in a folder, if there is one, as far as that is possible. Names count in any case.

    Raises OSError if it can't be read.
    """
    if not os.path.isdir(folder) or os.path.islink(folder):
        return
    names = {name.casefold() for name in kept}
    for name in os.listdir(folder):
        if name.casefold() not in names:
            remove(os.path.join(folder, name))


def remove(path: str) -> None:
    """Remove a file, or a folder as far as that is possible; a link is removed itself."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _aside(folder: str) -> str:
    above, name = os.path.split(folder)
    return os.path.join(above, f".{name}{ASIDE}")


_MACHINES = {"arm64": "aarch64", "aarch64": "aarch64", "x86_64": "x86_64", "amd64": "x86_64", "x64": "x86_64"}
_SYSTEMS = {"win32": "windows", "darwin": "darwin", "linux": "linux"}
WHERE = {"npx": "Node.js", "uvx": "uv"}
"""What a person installs to have a runner."""


def system(name: str = sys.platform, machine: str = "") -> str:
    """This computer as the registry calls it, such as "linux-x86_64"; empty if it has no name for it."""
    kind = _SYSTEMS.get(name)
    processor = _MACHINES.get((machine or platform.machine()).lower())
    return f"{kind}-{processor}" if kind and processor else ""


def agents_folder() -> str:
    """The folder of what is installed: one for each agent, in it one for each version."""
    return os.path.join(paths.user_data(), "agents")


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """How one agent would be installed and started."""

    entry: RegistryEntry
    source: ArchiveSource | PackageSource
    folder: str
    """Where an archive is unpacked; for a package, the empty folder that its runner takes for the project's."""
    command: tuple[str, ...]

    @property
    def runner(self) -> Runner | None:
        """The program that fetches and starts it; None for an archive."""
        return self.source.runner if isinstance(self.source, PackageSource) else None

    @property
    def words(self) -> str:
        """All that is done, as lines for the person."""
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.source.environment.items())
        started = f"    {at_most(shlex.join(self.command))}"
        if variables:
            started += f"\n\nwith the variables\n\n    {at_most(variables)}"
        if isinstance(self.source, PackageSource):
            return f"Its command, which downloads it when it is first started:\n\n{started}"
        checked = f"SHA-256 {self.source.sha256}" if self.source.sha256 else "the registry has no checksum of it"
        return (
            f"It is downloaded from\n\n    {at_most(self.source.url)}\n    {checked}\n\n"
            f"unpacked into\n\n    {self.folder}\n\nand its command is\n\n{started}"
        )


def plan(entry: RegistryEntry, there: Collection[str] = ("npx", "uvx"), on: str = "") -> InstallPlan | None:
    """How an agent is installed here; None if the registry has nothing for this computer.

    Args:
        entry: the agent.
        there: the runners that are there. One that isn't is taken only if nothing else is left.
        on: the name of the system; this computer's if it is empty.
    """
    on = on or system()
    archive = entry.archives.get(on)
    if archive is None and on == "windows-aarch64":
        # Windows runs such programs there.
        archive = entry.archives.get("windows-x86_64")
    if archive:
        folder = os.path.join(agents_folder(), entry.id, entry.version)
        program = os.path.join(folder, *archive.program.split("/"))
        return InstallPlan(entry, archive, folder, (program, *archive.arguments))
    if not entry.packages:
        return None
    source = next((each for each in entry.packages if each.runner in there), entry.packages[0])
    folder = _no_project()
    return InstallPlan(entry, source, folder, (*_run(source, folder), source.package, *source.arguments))


def _run(source: PackageSource, folder: str) -> tuple[str, ...]:
    """The runner, told to look at nothing of the folder that it is started in.

    npx would run a package of that name in the project's `node_modules`, and fetch from where the project's `.npmrc`
    says. uvx reads no settings of a project.
    """
    return ("npx", "--prefix", folder, "--yes") if source.runner == "npx" else ("uvx",)


def prepare(command: Sequence[str]) -> None:
    """Make what a command needs and a person, or a crash, may have taken away. It blocks.

    That is the folder that npx takes for the project's, without which it fails, and a version that was moved aside.

    Raises OSError.
    """
    if _no_project() in command:
        make_private_folders(_no_project())
    above = os.path.join(agents_folder(), "")
    if command and command[0].startswith(above):
        names = command[0].removeprefix(above).split(os.sep)
        if len(names) > 2:
            restore(os.path.join(above, *names[:2]))


def _no_project() -> str:
    return os.path.join(agents_folder(), "no-project")


def is_newer(version: str, than: str) -> bool:
    """Whether a version comes after another, by the numbers in them."""
    return _numbers(version) > _numbers(than)


def _numbers(version: str) -> tuple[tuple[int, ...], bool]:
    release, _, rest = version.partition("+")[0].partition("-")
    return tuple(int(each) for each in release.split(".") if each.isdecimal()), not rest
