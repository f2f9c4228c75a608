"""The parts of a prompt (qwen-serve.md §4.3): the agent protocol's content blocks."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A selection or an unsaved buffer that goes with a prompt."""

    uri: str
    name: str
    """What the person sees, for example "app.py:10-20"."""
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """What the person has written, and what goes with it."""

    text: str
    """With mentions of files as `@path`, blanks in them escaped by a backslash."""
    excerpts: tuple[Excerpt, ...] = ()
    pictures: tuple[str, ...] = ()
    """Paths of files on this machine."""
    unsaved: Mapping[str, str] = field(default_factory=dict[str, str])
    """The texts of unsaved buffers by their paths; of those that are mentioned, they go in place of the files."""


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
