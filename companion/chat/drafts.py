"""What the person has written, as the content blocks of a prompt (qwen-serve.md §4.3)."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..daemon.client import Block, Client
from ..daemon.errors import StreamLostError, UnsendableError
from . import prompt
from .mentions import Mention, mentions
from .prompt import Draft

MAX_PICTURE = 8 * 1024 * 1024
"""Bytes."""
LOOK_UP_LIMIT = 10.0
"""Seconds to ask the daemon for all of them."""

_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


@dataclass(frozen=True, slots=True)
class ChatFolder:
    """The chat's folder."""

    here: str
    """As the editor calls it."""
    there: str
    """As the daemon calls it."""
    is_local: bool
    """Whether the daemon's files are this machine's."""

    def path_here(self, mentioned: str) -> str:
        """What a mention would be on this machine, spelled so that it can be compared."""
        return os.path.normcase(os.path.normpath(os.path.join(self.here, mentioned)))

    def path_there(self, mentioned: str) -> str:
        """The absolute path of a mention on the daemon's machine, whatever system that has."""
        if mentioned.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", mentioned):
            return mentioned
        separator = "\\" if "\\" in self.there and "/" not in self.there else "/"
        return self.there.rstrip("/\\") + separator + mentioned


async def blocks(draft: Draft, client: Client, place: ChatFolder) -> list[Block]:
    """The blocks of a draft.

    Raises:
        UnsendableError: a picture can't be read, or there is nothing to send.
        DaemonError: the daemon can't be asked for the files that are mentioned.
    """
    unsaved = {place.path_here(path): text for path, text in draft.unsaved.items()}
    named = mentions(draft.text)
    try:
        async with asyncio.timeout(LOOK_UP_LIMIT):
            files = await asyncio.gather(*(_file(mention, unsaved, client, place) for mention in named))
    except TimeoutError:
        raise StreamLostError("The daemon doesn't say which files it has.") from None
    found: list[Block] = []
    at = 0
    for mention, file in zip(named, files, strict=True):
        if file is None or mention.start < at:
            continue
        _add_text(found, draft.text[at : mention.start])
        at, path = file
        found.append(await _mentioned(path, unsaved, place))
    _add_text(found, draft.text[at:])
    found += (prompt.excerpt(excerpt.uri, excerpt.text) for excerpt in draft.excerpts)
    for picture in draft.pictures:
        found.append(await _picture(picture))
    if not found:
        raise UnsendableError("There is nothing to send.")
    return found


def _add_text(found: list[Block], text: str) -> None:
    if text.strip() or (text and found):
        found.append(prompt.text(text))


async def _file(
    mention: Mention, unsaved: Mapping[str, str], client: Client, place: ChatFolder
) -> tuple[int, str] | None:
    """Where the name of a file ends in the text, and that file as the person names it; None if there is none."""
    for end, path in mention.paths:
        if place.path_here(path) in unsaved or await client.is_file(path):
            return end, path
    return None


async def _mentioned(path: str, unsaved: Mapping[str, str], place: ChatFolder) -> Block:
    buffer = unsaved.get(place.path_here(path))
    if buffer is not None:
        return prompt.excerpt(f"file://{place.path_there(path)}", buffer)
    if _kind(path) and place.is_local:
        return await _picture(os.path.join(place.here, path))
    return prompt.mention(place.path_there(path))


async def _picture(path: str) -> Block:
    name = os.path.basename(path)
    kind = _kind(path)
    if kind is None:
        raise UnsendableError(f"{name} is no picture that can be sent.", "Take a PNG, JPEG, GIF or WebP file.")
    try:
        content = await asyncio.to_thread(_read, path)
    except OSError as error:
        raise UnsendableError(f"{name} can't be read: {error.strerror or 'it is no file'}.") from None
    if len(content) > MAX_PICTURE:
        raise UnsendableError(f"{name} is larger than 8 MB.", "Take a smaller picture.")
    return prompt.picture(content, kind)


def _kind(path: str) -> str | None:
    return _PICTURES.get(os.path.splitext(path)[1].lower())


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MAX_PICTURE + 1)
