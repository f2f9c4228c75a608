"""What a CLI and a chat may learn of the person's files: the settings `context` and `context_exclude`.

`context` limits what is told by itself. `context_exclude` also refuses what the person asks for: a file that it matches
is never named, and no text of it goes. Standard library only: the UI thread imports it.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from glob import escape
from typing import Literal, cast

Resolve = Callable[[str], str]
"""Gives a path without links."""
Level = Literal["all", "files", "off"]
LEVELS: tuple[Level, ...] = ("all", "files", "off")
"""From the one that tells most: names, cursor and selected text; names and cursor; nothing."""
DEFAULT_EXCLUDE = (".env*", "*.pem", "secrets/**")

SHOWN = 10
"""Globs in a summary."""
MOST_GLOBS = 1000
"""Of one source: the person's settings, or a project's."""
LONGEST_GLOB = 500
"""In characters."""
MOST_CHARACTERS = 50_000
"""Of all globs of one source."""
MOST_CLASSES = 200
"""Classes such as `[a-z]` in all globs of one source: a wide one takes 4 ms to compile."""
EVERYTHING = "**"
"""The glob that matches each path."""

_SEPARATOR = re.compile(r"[\\/]")
_SHORT = re.compile(r"(?=.{1,12}\Z)[^.]{1,6}~[0-9]{1,4}(\.[^.]{0,3})?")
"""A name in the short form that Windows gives long ones, such as `SECRET~1.PEM`."""
_WILD = re.compile(r"[*?]|\[.*", re.DOTALL)
"""What is no text in a glob, and all that follows a class of characters."""
_CLASS = re.compile(r"\[(?:!.|[^!])[^\]]*\]")


@dataclass(frozen=True, slots=True)
class Sharing:
    """What may be told of the files of one window."""

    level: Level = "all"
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    """Globs, as `read_globs` returns them."""
    folders: tuple[str, ...] = ()
    """Those of the window: a glob with a leading slash begins in each of them, whoever asks."""

    @property
    def has_files(self) -> bool:
        """Whether names and the cursor are told."""
        return self.level != "off"

    @property
    def has_text(self) -> bool:
        """Whether the selected text is told."""
        return self.level == "all"

    @property
    def summary(self) -> str:
        """What is told, in words."""
        what = {"all": "names, cursor and selected text", "files": "names and cursor, no text", "off": "nothing"}
        but = ", ".join(map(shortened, self.exclude[:SHOWN])) + (", …" if len(self.exclude) > SHOWN else "")
        return f"{what[self.level]}; never {but}" if but else what[self.level]

    def is_excluded(
        self,
        path: str,
        folders: Sequence[str] = (),
        *,
        real: Resolve | None = None,
        windows: bool = os.name == "nt",
    ) -> bool:
        """Whether a file or folder is never named, by its own path or by the one that its links lead to.

        `folders` are further ones that a glob with a leading slash begins in. Upper and lower case are the same, since
        they are on many disks. Reads links from the disk, so this is not for an event loop, unless `real` gives what
        each of these paths, made normal, leads to.
        """
        if not self.exclude:
            return False
        globs = _compiled(self.exclude)
        begins = (*self.folders, *folders) if globs.need_roots else ()
        roots = [_names(each) for folder in begins for each in _spellings(folder, real)]
        spelled = [_names(each) for each in _spellings(path, real)]
        paths = dict.fromkeys([*spelled, *map(_without_disguise, spelled)])
        if windows and any(_SHORT.fullmatch(name) for names in paths for name in names):
            return True  # nobody can tell which file it is: `realpath` gives the long name of one that exists
        return any(_Path(names, roots).matches_any(globs) for names in paths)

    def leaves_out(self, path: str, folders: Sequence[str] = ()) -> bool:
        """Whether a file is never named, by its own path alone. It reads nothing from the disk.

        `path` has no links in it, and `folders` are real paths as well.
        """
        globs = _compiled(self.exclude)
        if not globs.literals_in(path):
            return False
        roots = [_names(each) for each in (*self.folders, *folders)] if globs.need_roots else []
        return _Path(_names(path), roots).matches_any(globs)

    def suspects(self, folder: str, paths: Sequence[str]) -> Sequence[str]:
        """Those of some paths below a folder that a glob may match at all: of many files they are found at once."""
        globs = _compiled(self.exclude)
        if globs.literals_in(folder):
            return paths
        text = "\0".join(paths)
        if not (literals := globs.literals_in(text)):
            return []
        every = zip(paths, _spelled_alike(text).split("\0"), strict=True)
        return [path for path, spelled in every if any(literal in spelled for literal in literals)]

    def refusal(self, paths: Sequence[str], folders: Sequence[str] = (), *, real: Resolve | None = None) -> str | None:
        """A sentence about the first excluded one of these paths; None if all may go. `real`: as for `is_excluded`."""
        excluded = next((path for path in paths if self.is_excluded(path, folders, real=real)), None)
        if excluded is None:
            return None
        name = next((name for name in reversed(_names(excluded)) if name), excluded)
        return f"{name} stays here: the setting “context_exclude” excludes it."


def is_encodable(path: str) -> bool:
    """Whether a path fits into JSON. A file name that isn't UTF-8 holds lone surrogates, which don't."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(path: str) -> str:
    """A path as it can be shown, with a mark for each byte that isn't UTF-8."""
    return path.encode("utf-8", "replace").decode()


def stricter(one: Level, other: Level) -> Level:
    """The level that tells less."""
    return one if LEVELS.index(one) > LEVELS.index(other) else other


def read_globs(value: object) -> tuple[tuple[str, ...], list[str]]:
    """The globs in a setting, and a sentence on each that is wrong.

    If any is wrong, the default globs are added, and what can't be read of a glob stands for anything. Of more globs
    than can be used none is left out: they exclude everything.
    """
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    if why := _too_many(items):
        return (EVERYTHING,), [f"“context_exclude” has {why}. Until then, everything is excluded."]
    globs: list[str] = []
    wrong: list[str] = []
    for item in items:
        glob, why = _read_glob(item)
        globs += [glob] if glob else []
        wrong += [why] if why else []
        _spelled_out(glob or "")  # here the disk may be looked at
    if not isinstance(value, list):
        wrong = ["“context_exclude” must be a list of globs; the default globs are used as well."]
    return tuple(dict.fromkeys([*globs, *(DEFAULT_EXCLUDE if wrong else ())])), wrong


def _too_many(items: Sequence[object]) -> str:
    """What is too much, in words that follow “has”; empty if all can be used."""
    sizes = [len(item) for item in items if isinstance(item, str)]
    if len(items) > MOST_GLOBS:
        return f"{len(items):,} globs: use at most {MOST_GLOBS:,}"
    if max(sizes, default=0) > LONGEST_GLOB:
        return f"a glob of {max(sizes):,} characters: use at most {LONGEST_GLOB:,}"
    if sum(sizes) > MOST_CHARACTERS:
        return f"globs of {sum(sizes):,} characters: use at most {MOST_CHARACTERS:,}"
    classes = sum(item.count("[") for item in items if isinstance(item, str))
    return f"{classes:,} classes of characters: use at most {MOST_CLASSES:,}" if classes > MOST_CLASSES else ""


def _read_glob(item: object) -> tuple[str | None, str | None]:
    """The glob to use, and what is wrong with it."""
    if not isinstance(item, str) or not item.strip() or "\0" in item:
        shown = f"“{shortened(item)}”" if isinstance(item, str) else "something other than a string"
        return None, f"“context_exclude” holds {shown}, which is not a glob; the default globs are used as well."
    glob = item.strip()
    if glob.startswith("!"):
        why = "but no glob brings a file back; the default globs are used as well."
        return None, f"“context_exclude” holds “{shortened(glob)}”, {why}"
    widened = "/".join(map(_widened, _SEPARATOR.split(glob)))
    if widened == "/".join(_SEPARATOR.split(glob)):
        return glob, None
    return (
        widened,
        f"“context_exclude” holds “{shortened(glob)}”, which is not a glob; “{shortened(widened)}” is used instead.",
    )


def _widened(name: str) -> str:
    """A part of a glob between two slashes, with what can't be read replaced by `*`."""
    # A class that no character is in, such as [z-a], is left as it is.
    rest = _CLASS.sub(lambda found: found[0] if "(?!)" in translate(found[0]) else "x" * len(found[0]), name)
    unreadable = re.search(r"[\[{]", rest)
    if not unreadable:
        return name
    return f"{name[: unreadable.start()].rstrip('*')}*"


def shortened(text: str, most: int = 40) -> str:
    """At most so many characters of a text, for a message."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _spellings(path: str, real: Resolve | None) -> set[str]:
    """A path as it is given, and without symbolic links."""
    plain = os.path.normpath(path)
    try:
        return {plain, (real or os.path.realpath)(plain)}
    except (OSError, ValueError):  # a loop of links, a character that no path has
        return {plain}


def _spelled_alike(text: str) -> str:
    """A text of paths in which those that only differ in case, or in how a character is composed, are the same."""
    return unicodedata.normalize("NFC", text).casefold()


def _names(path: str) -> tuple[str, ...]:
    """The names that a path consists of; the first one is empty for an absolute path."""
    return tuple(_SEPARATOR.split(unicodedata.normalize("NFC", path)))


def _without_disguise(names: Sequence[str]) -> tuple[str, ...]:
    """The names without what Windows ignores in them: trailing dots and spaces, and a stream, as in `.env::$DATA`.

    They are looked at everywhere: the folder may be on a disk that a Windows machine shares.
    """
    drive, first = names[0][:2], names[0][2:]
    if not re.fullmatch("[A-Za-z]:", drive):
        drive, first = "", names[0]
    rest = (first, *names[1:]) if first else names[1:]
    return (drive, *(name.partition(":")[0].rstrip(". ") or name for name in rest))


@dataclass(frozen=True, slots=True)
class _Glob:
    is_anchored: bool
    names: tuple[int | None, ...]
    """The number of a pattern for each name; None for `**`, which is any number of names."""


@dataclass(frozen=True, slots=True)
class _Globs:
    all: tuple[_Glob, ...]
    patterns: tuple[re.Pattern[str], ...]
    """Each once, by its number."""
    need_roots: bool
    """Whether one of them begins with a slash."""
    literals: frozenset[str]
    """For each of them the longest text that is in all paths that it matches, empty if there is none."""

    def literals_in(self, text: str) -> list[str]:
        """Those of them that are in a text of one or many paths. Without one of them no glob matches any."""
        spelled = _spelled_alike(text)
        return [literal for literal in self.literals if literal in spelled]


@lru_cache(maxsize=32)
def _compiled(exclude: tuple[str, ...]) -> _Globs:
    """The globs of a window, compiled once for all paths."""
    numbers: dict[str, int] = {}
    globs = tuple(_parsed(spelled, numbers) for glob in exclude for spelled in _spelled_out(glob))
    # A pattern of the standard library takes no exponential time. To ignore the case in a class of characters `re` goes
    # through all of them, so the names are folded in place of that.
    spelled = (dict.fromkeys((name.casefold(), name)) for name in numbers)
    patterns = tuple(re.compile("|".join(map(translate, each))) for each in spelled)
    texts = list(numbers)
    parts = ([texts[number] for number in glob.names if number is not None] for glob in globs if glob.names)
    runs = ([run for text in each for run in _WILD.split(text)] for each in parts)
    literals = frozenset(max(each, key=len, default="").casefold() for each in runs)
    return _Globs(globs, patterns, any(glob.is_anchored for glob in globs), literals)


@lru_cache(maxsize=8)
def _homes(home: str) -> Sequence[str]:
    """The home folder by its own path, and by the one that links on the way lead to."""
    return sorted(_spellings(home, None))


def _spelled_out(glob: str) -> list[str]:
    """A glob, or those that have the home folder in place of a `~`."""
    if _SEPARATOR.split(glob)[0] != "~":
        return [glob]
    return [f"{escape(home)}{glob[1:]}" for home in _homes(os.path.expanduser("~"))]


def _parsed(glob: str, numbers: dict[str, int]) -> _Glob:
    names = _names(glob)
    is_anchored = not names[0]
    # `..` would be a name that no path has.
    parts = (name for name in names if name not in ("", ".", ".."))
    return _Glob(is_anchored, tuple(None if name == "**" else numbers.setdefault(name, len(numbers)) for name in parts))


class _Path:
    """A path that globs are tried on: each pattern once on each of its names, however often globs have it.

    Both a project and a path may be hostile: thousands of names each. Places in the path are bits of a number, in which
    bit n is the one before name n.
    """

    def __init__(self, names: Sequence[str], roots: Sequence[Sequence[str]]) -> None:
        """A glob with a leading slash begins at the beginning, and below each of the roots that the path is in."""
        self._at: dict[str, int] = {}
        for place, name in enumerate(names):
            self._at[name] = self._at.get(name, 0) | 1 << place
        self._everywhere = (1 << len(names)) - 1
        folded = _folded(names) if roots else []
        self._begins = 1 << 1
        for root in roots:
            if folded[: len(root)] == _folded(root):
                self._begins |= 1 << len(root)
        self._found: dict[int, int] = {}
        """The names that a pattern matches, by its number."""

    def matches_any(self, globs: _Globs) -> bool:
        """Whether a glob matches the path, or a folder that the path is in."""
        return any(self._matches(glob, globs.patterns) for glob in globs.all)

    def _matches(self, glob: _Glob, patterns: Sequence[re.Pattern[str]]) -> bool:
        at = self._begins if glob.is_anchored else self._everywhere
        for number in glob.names:
            if number is None:
                at = (self._everywhere << 1 | 1) & -(at & -at)  # from the first of these places on
            else:
                if number not in self._found:
                    found = patterns[number]
                    self._found[number] = sum(places for name, places in self._at.items() if _fits(found, name))
                at = (at & self._found[number]) << 1
            if not at:
                return False
        return bool(glob.names)


def _fits(pattern: re.Pattern[str], name: str) -> bool:
    """Whether a pattern matches a name, in any case."""
    return bool(pattern.match(name.casefold()) or pattern.match(name))


def _folded(names: Sequence[str]) -> list[str]:
    return [name.casefold() for name in names]
