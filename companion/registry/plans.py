"""What installing an agent would do on this computer, so that the person can say yes to exactly that."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..platforms import paths
from ..platforms.files import make_private_folders, rename
from ..visible import at_most
from .entries import ArchiveSource, PackageSource, RegistryEntry, Runner

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
