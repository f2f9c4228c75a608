"""What a person writes into a chat, and the content blocks that a prompt is made of.

Facts: docs/protocols/qwen-serve.md#prompts. Standard library alone: the UI thread imports it.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..exclusion import Told
from . import mentions


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
        return "\n\n".join(filter(None, (self.text, *excerpts, " ".join(map(mentions.mention, self.pictures)))))


@dataclass(frozen=True, slots=True)
class ChatFolder:
    """The chat's folder."""

    here: str
    """As the editor calls it."""
    there: str
    """As the daemon calls it."""
    is_local: bool
    """Whether the daemon's files are this machine's."""
    told: Told = field(default_factory=Told)
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
        return self.told.refusal(spelled, [folder for folder in (self.here, self.there) if folder])


def text(words: str) -> dict[str, Any]:
    """What the person writes. A path behind an @ in it is just text: see `mention`."""
    return {"type": "text", "text": words}


def mention(path: str) -> dict[str, Any]:
    """A file on the daemon's machine, which reads it. `path` is absolute; the daemon wants it as it is, not escaped."""
    return {"type": "resource_link", "uri": f"file://{path}", "name": os.path.basename(path)}


def excerpt(uri: str, content: str, mime_type: str = "text/plain") -> dict[str, Any]:
    """A text that comes with the prompt, for example a selection or an unsaved buffer."""
    return {"type": "resource", "resource": {"uri": uri, "text": content, "mimeType": mime_type}}


def picture(content: bytes, mime_type: str) -> dict[str, Any]:
    """A picture; the daemon takes no SVG."""
    return {"type": "image", "mimeType": mime_type, "data": base64.b64encode(content).decode("ascii")}
