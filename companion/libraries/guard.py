"""Checks whether the installed libraries fit each other and this package, and says in one sentence what is wrong.

Package Control upgrades each library separately, and other packages install libraries too. A pydantic beside a
pydantic-core of another version can't be imported. If two libraries share a folder, removing one of them removes it.
"""

from __future__ import annotations

import csv
import importlib.util
import logging
import os
import re
import shutil
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any, Literal, TypeVar, cast

from .. import log
from ..platforms.local_sockets import SCARCE
from .bounds import BOUNDS, PAIR

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


def untried() -> dict[str, str]:
    """The libraries that are newer than any that was tried, and their versions.

    Some belong to Package Control's channel, which updates them for everybody. They most likely fit; the start will
    tell.
    """
    versions = {name: ones[0].version for name, ones in installed(BOUNDS).items() if len(ones) == 1}
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


# What is installed is read from the `.dist-info` folders, as Package Control does; it reinstalls a library without one.

_DIST_INFO = re.compile(r"([^-]+)-([^-]+)\.dist-info", re.IGNORECASE)
_NATIVE = (".pyd", ".so", ".dll", ".dylib")
"""The suffixes of files that the system loads and may lock."""


@dataclass(frozen=True, slots=True)
class Library:
    """An installed library."""

    name: str
    version: str
    folder: str
    """The path of its `.dist-info` folder."""

    @property
    def root(self) -> str:
        """The folder that contains its files."""
        return os.path.dirname(self.folder)

    def files(self) -> list[str]:
        """Return the paths of its files relative to `root`, with slashes, without compiled bytecode.

        Raises OSError if its RECORD can't be read.
        """
        with open(os.path.join(self.folder, "RECORD"), encoding="utf-8", newline="") as record:
            names = [row[0] for row in csv.reader(record) if row]
        return [name for name in names if not name.startswith(("..", "/")) and not name.endswith(".pyc")]

    def modules(self) -> set[str]:
        """Return the names of its top-level modules."""
        try:
            tops = {name.partition("/")[0] for name in self.files()}
        except OSError:
            return set()
        return {top.partition(".")[0] for top in tops if not top.endswith((".dist-info", ".data"))}

    def is_whole(self) -> bool:
        """Return whether all of its files exist."""
        wanted: dict[str, set[str]] = {}
        try:
            for name in self.files():
                folder, _, file = name.rpartition("/")
                wanted.setdefault(folder, set()).add(file)
            return all(files <= set(os.listdir(os.path.join(self.root, folder))) for folder, files in wanted.items())
        except OSError:
            return False

    def needs(self, name: str) -> str | None:
        """Return the only version of another library that it accepts, if it names one."""
        try:
            with open(os.path.join(self.folder, "METADATA"), encoding="utf-8") as metadata:
                text = metadata.read()
        except OSError:
            return None
        told = re.search(rf"^Requires-Dist: *{re.escape(name)} *\(?== *([^\s;)]+)", text, re.MULTILINE)
        return told[1] if told else None


def canonical(name: str) -> str:
    """Return a library's name in the form that dependencies.json uses."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed(names: Iterable[str], paths: Sequence[str] | None = None) -> dict[str, list[Library]]:
    """Return the libraries that are found on `sys.path`, or on other paths, by name.

    A name has several if an older `.dist-info` was left behind. Then it is unknown which version the files have.
    """
    wanted = set(names)
    found: dict[str, list[Library]] = {}
    for path in dict.fromkeys(sys.path if paths is None else paths):
        here: dict[str, list[Library]] = {}
        for library in _in(path or os.curdir):
            if library.name in wanted and library.name not in found:
                here.setdefault(library.name, []).append(library)
        found |= here
    return found


def _in(path: str) -> Iterator[Library]:
    try:
        entries = sorted(os.listdir(path))
    except OSError:
        return
    for entry in entries:
        if match := _DIST_INFO.fullmatch(entry):
            yield Library(canonical(match[1]), match[2], os.path.join(path, entry))


def _in_use(library: Library) -> bool:
    """Return whether a file of the library can't be replaced, as on Windows while it is loaded."""
    try:
        natives = [name for name in library.files() if name.endswith(_NATIVE)]
    except OSError:
        return False
    for name in natives:
        try:
            with open(os.path.join(library.root, name), "r+b"):
                pass
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False


def uninstall(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Remove the `.dist-info` of each library, so that Package Control finds it missing.

    Returns the names of the libraries whose files are in use, and of those whose folder can't be removed.
    """
    busy: list[str] = []
    kept: list[str] = []
    for name, libraries in installed(names).items():
        for library in libraries:
            if _in_use(library):
                busy.append(name)
            try:
                shutil.rmtree(library.folder)
            except OSError:
                kept.append(name)
    return busy, kept


# The library that made the start fail although the installed versions fit.

OURS = (__package__ or "").partition(".")[0]
LIBRARIES = frozenset(name.replace("-", "_") for name in BOUNDS)
"""The modules of the libraries. Each has the name of its library."""
ENDPOINT = f"{(__package__ or '').rpartition('.')[0]}.server.endpoint"
OPENERS = {(ENDPOINT, "listen"), (ENDPOINT, "place_of")}
"""The functions that open a port, or look at one that somebody else may have closed."""
UNKNOWN = "The companion can't start with the libraries that are installed"

Place = tuple[str, int, int]


def first(error: Exception) -> Exception:
    """Return the first error of a group: what a server raises while it starts comes in one. Else the error itself."""
    while isinstance(error, ExceptionGroup):
        error = cast("ExceptionGroup[Exception]", error).exceptions[0]
    return error


def trouble_of(error: BaseException) -> Trouble:
    """Return what to say about the error and which libraries to reinstall: all of them if the culprit is unknown."""
    if isinstance(error, LibraryError):
        return error.trouble
    module = culprit(error)
    owners = [name for name, ones in installed(BOUNDS).items() if module in ones[0].modules()] if module else []
    newer = untried()
    if suspects := {name: newer[name] for name in owners if name in newer} or ({} if module else newer):
        named = " and ".join(f"{name} {version}" for name, version in suspects.items())
        verb = "is" if len(suspects) == 1 else "are"
        what = f"QwenCompanion does not run with {named}, which {verb} newer than it knows"
        return Trouble("newer", tuple(suspects), what)
    if not module:
        return Trouble("damaged", tuple(BOUNDS), UNKNOWN)
    what = f"The library “{module}” is {'broken' if _place(module) else 'missing'}"
    return Trouble("damaged", tuple(owners) or (canonical(module),), what)


def is_of_machine(error: BaseException) -> bool:
    """Return whether the machine lacks something at the moment, such as file descriptors, memory or a port."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in SCARCE):
        return True
    frames = traceback.walk_tb(error.__traceback__) if isinstance(error, OSError) else ()
    return any((frame.f_globals.get("__name__"), frame.f_code.co_name) in OPENERS for frame, _ in frames)


def places(error: BaseException) -> dict[str, Place | None]:
    """Return where each library is and when it was changed. If this differs later, the error may be repaired."""
    importlib.invalidate_caches()
    return {module: _place(module) for module in {*LIBRARIES, culprit(error)} if module}


def _place(module: str) -> Place | None:
    """Return a module's folder and when the folder and the module's file were changed, or None if it is missing."""
    importlib.invalidate_caches()
    try:
        # Of the SDK we use what is installed, whatever another package has loaded under its name.
        spec = PathFinder.find_spec(module) if module == SDK else importlib.util.find_spec(module)
        origin = spec.origin if spec and spec.origin else ""
        folder = os.path.dirname(origin)
        return (folder, os.stat(folder).st_mtime_ns, os.stat(origin).st_mtime_ns) if folder else None
    except (ImportError, ValueError, OSError):
        return None


def culprit(error: BaseException) -> str:
    """Return the top-level module that made an import or the start fail, or an empty string if it is unknown."""
    if isinstance(error, SyntaxError) and error.filename:
        inside = [
            os.path.relpath(error.filename, path) for path in sys.path if error.filename.startswith(path + os.sep)
        ]
        return min(inside, key=len, default=error.filename).partition(os.sep)[0].removesuffix(".py")
    if isinstance(error, ImportError) and error.name:
        return _library(error.name)
    trace = error.__traceback__
    namespace: dict[str, Any] = {}
    while trace:
        namespace = trace.tb_frame.f_globals
        trace = trace.tb_next
    library = _library(namespace.get("__name__", ""))
    return _called(error, namespace) if library == OURS else library


def _called(error: BaseException, namespace: dict[str, Any]) -> str:
    """Return the library whose object our own code could not use. The message begins with the object's name."""
    used = error.obj if isinstance(error, AttributeError) else None
    if isinstance(error, TypeError) and (name := re.match(r"\w+", str(error))):
        modules = (value for value in namespace.values() if isinstance(value, ModuleType))
        used = namespace.get(name[0]) or next((module for module in modules if hasattr(module, name[0])), None)
    module = used.__name__ if isinstance(used, ModuleType) else getattr(used, "__module__", None)
    library = _library(module or "")
    return "" if library in (OURS, "builtins") else library


def _library(module: object) -> str:
    """Return the top-level name of a module; that of the library for a module of our copy."""
    top = str(module).partition(".")[0]
    return SDK if top == COPY else top


def forget(names: set[str], error: BaseException) -> None:
    """Remove modules of this package and of the library that made the start fail, so that they are imported again.

    All others stay: another package may have imported them meanwhile. Libraries with compiled modules stay too, since
    those can't be imported twice.
    """
    wanted = {name for name in names if name.partition(".")[0] in {OURS, COPY, culprit(error)}}
    files = {name: getattr(sys.modules.get(name), "__file__", None) or "" for name in wanted}
    compiled = {name.partition(".")[0] for name, file in files.items() if file.endswith((".so", ".pyd"))}
    for name in wanted:
        module = sys.modules.get(name)
        if module is None or name.partition(".")[0] in compiled:
            continue
        del sys.modules[name]
        parent, _, last = name.rpartition(".")
        if getattr(sys.modules.get(parent), last, None) is module:
            delattr(sys.modules[parent], last)
