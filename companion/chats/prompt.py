"""What a person writes into a chat, what it mentions, and the content blocks that a prompt is made of.

Facts: docs/protocols/qwen-serve.md#prompts. Standard library alone: the UI thread imports it.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal
from urllib.parse import unquote

from ..conversation.snapshot import Command
from ..exclusion import Sharing

MAX_MENTIONS = 50
"""Paths behind an @ that are looked up; those after them stay text."""
MAX_ENDS = 8
"""How many of the nearest possible ends of a path are tried."""
MAX_PATH = 1000
"""Characters of a path that is looked up."""

_INSIDE = r"[A-Za-z0-9_./\\@]"
"""Before an @ that begins no mention, as in e-mail addresses and in paths."""
_MENTION = re.compile(rf"(?<!{_INSIDE})@(?=((?:\\.|[^\s\\]){{1,{MAX_PATH}}}))")
_OPEN = re.compile(rf"(?<!{_INSIDE})@((?:\\.|(?<={_INSIDE})@|[^\s\\@])*)$")
_PUNCTUATION = ",:;!?)]}'\"。，、；：！？）」』】》〉”’…"  # noqa: RUF001 - they are meant
_END = re.compile(rf"(?<!\\)(?:(?=\.*(?:[{re.escape(_PUNCTUATION)}]|\Z))|(?<=[!-~])(?=[^ -~]))")
"""Punctuation, or a change of script, as in "@a.py吧"."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An @ and what may be the path behind it."""

    start: int
    """Where the @ is."""
    paths: Sequence[tuple[int, str]]
    """Where the path may end in the text, and the path up to there; the longest first."""


def mentions(text: str) -> list[Mention]:
    """Possible mentions in a text, in order. They may overlap."""
    return [_possible_mention(found[1], found.start()) for found in islice(_MENTION.finditer(text), MAX_MENTIONS)]


def open_mention(before: str) -> tuple[int, str] | None:
    """Where an incomplete mention at the end of a text begins, and its path so far."""
    found = _OPEN.search(before)
    return (found.start(), _unescaped(found[1])) if found else None


def mention(path: str) -> str:
    """A file as a prompt names it."""
    return "@" + re.sub(r"([\s\\])", r"\\\1", path)


def _possible_mention(raw: str, start: int) -> Mention:
    nearest = [found.start() for found in islice(_END.finditer(raw, 1), MAX_ENDS)]
    ends = {len(raw), len(raw.rstrip(f"{_PUNCTUATION}.")) or len(raw), *nearest}
    return Mention(start, [(start + 1 + end, _unescaped(raw[:end])) for end in sorted(ends, reverse=True)])


def _unescaped(path: str) -> str:
    return re.sub(r"\\(.)", r"\1", path)


SCHEME = "file://"
_LINES = re.compile(r"#L(\d+)(?:-L?\d+)?\Z")
_DRIVE = re.compile(r"/?([A-Za-z]:[\\/])")
_ESCAPED = re.compile(r"[!-~]*\Z")
"""An address with blanks or other alphabets has not been escaped."""


def file_of(uri: str) -> tuple[str, int | None]:
    """The path of a file's address, and the first of the lines that it names, from 1; no path if it names no file."""
    if not uri.startswith(SCHEME):
        return "", None
    rest = uri.removeprefix(SCHEME)
    lines = _LINES.search(rest)
    path = rest[: lines.start()] if lines else rest
    if _ESCAPED.match(path):
        path = unquote(path)
    path = path.removeprefix("localhost") if path.startswith("localhost/") else path
    if drive := _DRIVE.match(path):
        path = path[drive.start(1) :]
    elif path and path[0] not in "/\\":
        # The computer that shares it.
        path = f"//{path}"
    return path, int(lines[1]) if lines else None


def path_of(uri: str) -> str:
    """The path of a file; for a tab without one its name."""
    path, _ = file_of(uri)
    return path or unquote(uri.partition(":")[2].partition("#")[0])


_BEGINNING = {"clear", "new", "reset"}
"""They replace the agent's session behind the daemon's back, which then answers no request of it (0.24.4)."""
Instead = Literal["new", "model", "mode", "effort", "rewind", "fork"]
"""What the chat does instead of sending a command."""
_PICKERS: dict[str, Instead] = {
    "model": "model",
    "approval-mode": "mode",
    "effort": "effort",
    "rewind": "rewind",
    "rollback": "rewind",
    "branch": "fork",
}
"""Without an argument they open a dialog, and a session of the daemon has no dialogs."""
_USELESS = {"auth", "branch", "bug", "connect", "delete", "docs", "exit", "login", "quit", "resume", "update"}
"""They open a dialog or a browser on the daemon's machine, or replace the program that runs."""
_COMMAND = re.compile(r"/[\s\ufeff]*([^\s\ufeff]+)[\s\ufeff]*(.*)", re.DOTALL)
"""Qwen Code skips blanks behind the slash, and a byte order mark is one for it."""


def translated(text: str) -> tuple[Instead, str] | None:
    """What the chat does instead of sending a prompt, for example begin a new chat; None to send it.

    With it comes the text that is left to be sent, which was written behind the command.
    """
    if not (found := _COMMAND.fullmatch(text.strip())):
        return None
    name, argument = found[1], found[2]
    if name in _BEGINNING:
        return "new", argument
    return (_PICKERS[name], "") if name in _PICKERS and not argument else None


def offered(commands: tuple[Command, ...]) -> list[Command]:
    """The commands to complete."""
    return [command for command in commands if command.name not in _USELESS]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A selection or an unsaved buffer that goes with a prompt."""

    uri: str
    name: str
    """What the person sees, for example "app.py:10-20"."""
    text: str
    is_automatic: bool = False
    """Whether it goes without having been added."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What the person has written, and what goes with it."""

    text: str
    """With mentions of files as `@path`, blanks in them escaped by a backslash."""
    excerpts: tuple[Excerpt, ...] = ()
    pictures: tuple[str, ...] = ()
    """Paths of files on this machine."""
    unsaved: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts of unsaved buffers by their paths; for mentioned files they are sent instead of the files."""

    @property
    def as_text(self) -> str:
        """The words with what the person has added, as a text that can be sent: pictures are mentioned as files."""
        excerpts = [f"{each.name}\n{each.text}" for each in self.excerpts if not each.is_automatic]
        return "\n\n".join(filter(None, (self.text, *excerpts, " ".join(map(mention, self.pictures)))))


@dataclass(frozen=True, slots=True)
class Returned:
    """A draft that goes back to the person."""

    draft: Draft
    may_have_arrived: bool = False
    """Whether it was on its way to the agent."""


@dataclass(frozen=True, slots=True)
class ChatFolder:
    """The chat's folder."""

    here: str
    """As the editor calls it."""
    there: str
    """As the daemon calls it."""
    is_local: bool
    """Whether the daemon's files are this machine's."""
    sharing: Sharing = field(default_factory=Sharing)
    """What may be told of the files of the chat's window."""

    def path_here(self, mentioned: str) -> str:
        """What a mention would be on this machine, spelled so that it can be compared."""
        return os.path.normcase(os.path.normpath(os.path.join(self.here, mentioned)))

    def path_there(self, mentioned: str) -> str:
        """The absolute path of a mention on the daemon's machine, whatever system that has."""
        if mentioned.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", mentioned):
            return mentioned
        separator = "\\" if "\\" in self.there and "/" not in self.there else "/"
        return self.there.rstrip("/\\") + separator + mentioned

    def refusal(self, paths: Sequence[str]) -> str | None:
        """A sentence about the first path that may not be named; None if all may. Not for an event loop."""
        spelled = [self.path_there(path) for path in paths]
        spelled += [os.path.join(self.here, path) for path in paths if self.is_local]
        return self.sharing.refusal(spelled, [folder for folder in (self.here, self.there) if folder])


def text_block(words: str) -> dict[str, Any]:
    """What the person writes. A path behind an @ in it is just text: see `link_block`."""
    return {"type": "text", "text": words}


def link_block(path: str) -> dict[str, Any]:
    """A file on the daemon's machine, which reads it. `path` is absolute; the daemon wants it as it is, not escaped."""
    return {"type": "resource_link", "uri": f"file://{path}", "name": os.path.basename(path)}


def resource_block(uri: str, content: str, mime_type: str = "text/plain") -> dict[str, Any]:
    """A text that comes with the prompt, for example a selection or an unsaved buffer."""
    return {"type": "resource", "resource": {"uri": uri, "text": content, "mimeType": mime_type}}


def image_block(content: bytes, mime_type: str) -> dict[str, Any]:
    """A picture; the daemon takes no SVG."""
    return {"type": "image", "mimeType": mime_type, "data": base64.b64encode(content).decode("ascii")}


UNDONE = "I have undone:"


def undone_text(lines: Sequence[str]) -> str:
    """The lines as they follow the words of a prompt; nothing if there is none."""
    return "\n\n" + "\n".join([UNDONE, *(f"- {line}" for line in lines)]) if lines else ""
