"""Checks whether the installed libraries fit each other and this package, and says in one sentence what is wrong.

Package Control upgrades each library separately, and other packages install libraries too. A pydantic beside a
pydantic-core of another version can't be imported. If two libraries share a folder, removing one of them removes it.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Literal, TypeVar

from .. import log
from .bounds import BOUNDS, PAIR
from .installed import Library, installed

logger = logging.getLogger(__name__)

SDK = "mcp"
"""The library of which this package loads a copy of its own (`sdk`)."""
COPY = log.SDK
"""The name of that copy in `sys.modules`."""
HOLDER = "_qwen_companion_libraries"
"""The name in `sys.modules` of what is kept over a reload of this package."""
REPAIR = "run “Qwen: Repair Libraries”"
UPDATE = "update QwenCompanion, or report it if there is no update"


Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Trouble:
    """A problem with the libraries."""

    kind: Literal["missing", "mismatch", "damaged", "loaded", "newer"]
    libraries: tuple[str, ...]
    """The libraries to reinstall."""
    what: str
    """A sentence without its full stop."""
    stops: bool = True
    """Whether the companion can't run with it."""

    def sentence(self, remedy: str = REPAIR) -> str:
        """Return the sentence to show: the problem and its remedy."""
        if self.kind == "loaded":
            return f"Restart Sublime Text: {self.what}."
        if self.kind == "newer":
            return f"{self.what}; {UPDATE}."
        return f"{self.what}; {remedy}."


class LibraryError(Exception):
    """The libraries don't fit, so none was imported."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.sentence())
        self.trouble = trouble


def look(paths: Sequence[str] | None = None) -> list[Trouble]:
    """Return all problems, the most important first, in a few milliseconds. `paths` replaces `sys.path`."""
    found = installed(BOUNDS, paths)
    whole = {name: ones[0] for name, ones in found.items() if len(ones) == 1}
    troubles: list[Trouble] = []
    if missing := tuple(name for name in BOUNDS if name not in found):
        troubles.append(_missing(missing))
    troubles += _mismatches({name: one.version for name, one in whole.items()}, whole)
    doubled = [name for name, ones in found.items() if len(ones) > 1]
    damaged = [name for name, one in whole.items() if not one.is_whole()]
    if names := tuple(sorted(doubled + damaged)):
        verb = "is" if len(names) == 1 else "are"
        troubles.append(Trouble("damaged", names, f"{_several(names)} {verb} not installed completely"))
    return troubles + _loaded(whole)


def untried(paths: Sequence[str] | None = None) -> dict[str, str]:
    """The libraries that are newer than any that was tried, and their versions.

    Some belong to Package Control's channel, which updates them for everybody. They most likely fit; the start will
    tell.
    """
    versions = {name: ones[0].version for name, ones in installed(BOUNDS, paths).items() if len(ones) == 1}
    return {name: version for name, version in versions.items() if _key(version) >= _key(BOUNDS[name][1])}


def check() -> Trouble | None:
    """Look for problems before any library is imported.

    Returns the first problem that the companion can run with, or None. Raises LibraryError for one that it can't run
    with. Libraries that nobody has tried are named in the log.
    """
    for name, version in untried().items():
        logger.warning("%s %s is newer than any that was tried (before %s)", name, version, BOUNDS[name][1])
    troubles = look()
    for trouble in troubles:
        if trouble.stops:
            raise LibraryError(trouble)
    return troubles[0] if troubles else None


def remember(paths: Sequence[str] | None = None) -> None:
    """Record which versions are loaded now. Call it after libraries have been imported."""
    versions = kept("versions", dict[str, str])
    for name, ones in installed(BOUNDS, paths).items():
        if len(ones) == 1 and name not in versions and _modules(ones[0]):
            versions[name] = ones[0].version


def _missing(names: tuple[str, ...]) -> Trouble:
    verb = "is" if len(names) == 1 else "are"
    return Trouble("missing", names, f"QwenCompanion needs {_several(names)}, which {verb} not installed")


def _mismatches(versions: Mapping[str, str], libraries: Mapping[str, Library]) -> list[Trouble]:
    """Return the problems of libraries with these versions."""
    troubles = _pair(versions, libraries)
    for name, version in versions.items():
        least, _ = BOUNDS[name]
        if _key(version) < _key(least):
            what = f"QwenCompanion needs {name} {least} or later, but {version} is installed"
            troubles.append(Trouble("mismatch", (name,), what))
    return troubles


def _pair(versions: Mapping[str, str], libraries: Mapping[str, Library]) -> list[Trouble]:
    """Each pydantic accepts one version of pydantic-core, and can't be imported with another.

    Package Control installs the newest of each (docs/protocols/sublime.md#libraries).
    """
    pydantic, core = versions.get("pydantic"), versions.get("pydantic-core")
    if not pydantic or not core:
        return []
    needs = PAIR[1] if pydantic == PAIR[0] else libraries["pydantic"].needs("pydantic-core")
    if needs in (None, core):
        return []
    what = f"pydantic {pydantic} needs pydantic-core {needs}, but {core} is installed"
    return [Trouble("mismatch", ("pydantic", "pydantic-core"), what)]


def _loaded(libraries: Mapping[str, Library]) -> list[Trouble]:
    """Return a problem if libraries were upgraded while loaded: modules imported later would have another version."""
    remembered = kept("versions", dict[str, str])
    versions = {name: one.version for name, one in libraries.items()}
    other: dict[str, str] = {}
    for name, one in libraries.items():
        modules = _modules(one)
        version = remembered.get(name) or _own_version(modules)
        if modules and version and _key(version) != _key(one.version):
            other[name] = version
    if not other:
        return []
    name, version = next(iter(other.items()))
    # A pydantic that is loaded has found its core.
    stops = "pydantic" not in other and bool(_pair(versions | other, libraries))
    what = f"{name} {version} is loaded, but {versions[name]} is installed"
    return [Trouble("loaded", tuple(other), what, stops=stops)]


def _modules(library: Library) -> list[ModuleType]:
    """Return the library's top-level modules that are loaded."""
    names = [COPY if name == SDK else name for name in library.modules()]
    loaded: list[object] = [sys.modules.get(name) for name in names]
    return [module for module in loaded if isinstance(module, ModuleType)]


def _own_version(modules: list[ModuleType]) -> str | None:
    """Return the version that the loaded modules define. Some modules warn on attribute access, so `vars` is used."""
    versions: list[object] = [vars(module).get("__version__") for module in modules]
    return next((version for version in versions if isinstance(version, str)), None)


def kept(name: str, make: Callable[[], Kept]) -> Kept:
    """Return a value that all instances of this package in the process share; the first one makes it."""
    holder = sys.modules.setdefault(HOLDER, ModuleType(HOLDER))
    return vars(holder).setdefault(name, make())


def _key(version: str) -> tuple[list[int], bool]:
    """Return a key that sorts versions; a pre-release comes before its release."""
    match = re.match(r"(?:\d+!)?(\d+(?:\.\d+)*)(.*)", version)
    numbers = [int(part) for part in match[1].split(".")] if match else [0]
    while numbers and not numbers[-1]:
        numbers.pop()
    rest = match[2] if match else ""
    return numbers, not re.match(r"[-_.]?(a|b|c|rc|alpha|beta|pre|preview|dev)", rest)


def _several(names: Sequence[str]) -> str:
    """Join names for a sentence."""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more libraries"
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
