"""The content blocks of a draft: its text, the files that it mentions, and what is attached to it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from ..backends.backend import Backend, Block
from ..background import answered
from ..conversation.failures import StreamLostError, UnsendableError
from ..platforms.files import FileRefusedError, MissingError, OversizeError, UnreadableError, read
from . import prompt
from .mentions import Mention, mentions
from .prompt import ChatFolder, Draft
from .uris import path_of

MAX_PICTURE = 8 * 1024 * 1024
"""Bytes."""
LOOK_UP_LIMIT = 10.0
"""Seconds to look up all files that a prompt mentions."""

_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


async def blocks(draft: Draft, client: Backend, folder: ChatFolder) -> list[Block]:
    """The blocks of a draft.

    Raises:
        UnsendableError: a file is excluded, a picture can't be read, or there is nothing to send.
        ChatError: the daemon can't be asked for the files that are mentioned.
    """
    unsaved = {folder.path_here(path): text for path, text in draft.unsaved.items()}
    named = mentions(draft.text)
    try:
        async with asyncio.timeout(LOOK_UP_LIMIT):
            files = await asyncio.gather(*(_file(mention, unsaved, client, folder) for mention in named))
    except TimeoutError:
        raise StreamLostError("The daemon doesn't say which files it has.") from None
    named_files = [path for _, path in filter(None, files)]
    if why := await asyncio.to_thread(
        folder.refusal, [*named_files, *(path_of(each.uri) for each in draft.excerpts), *draft.pictures]
    ):
        raise UnsendableError(why)
    found: list[Block] = []
    at = 0
    for mention, file in zip(named, files, strict=True):
        if file is None or mention.start < at:
            continue
        _add_text(found, draft.text[at : mention.start])
        at, path = file
        found.append(await _mentioned(path, unsaved, folder))
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
    mention: Mention, unsaved: Mapping[str, str], client: Backend, folder: ChatFolder
) -> tuple[int, str] | None:
    """Where the name of a file ends in the text, and that file as the person names it; None if there is none."""
    for end, path in mention.paths:
        if folder.path_here(path) in unsaved or (client.files and await client.files.is_file(path)):
            return end, path
    return None


async def _mentioned(path: str, unsaved: Mapping[str, str], folder: ChatFolder) -> Block:
    buffer = unsaved.get(folder.path_here(path))
    if buffer is not None:
        return prompt.excerpt(f"file://{folder.path_there(path)}", buffer)
    if _kind(path) and folder.is_local:
        return await _picture(os.path.join(folder.here, path))
    return prompt.mention(folder.path_there(path))


async def _picture(path: str) -> Block:
    name = os.path.basename(path)
    kind = _kind(path)
    if kind is None:
        raise UnsendableError(f"{name} is not a picture that can be sent.", "Take a PNG, JPEG, GIF or WebP file.")
    try:
        content = await answered(path, lambda: read(path, MAX_PICTURE, follows_links=True))
    except OversizeError:
        raise UnsendableError(f"{name} is larger than 8 MB.", "Take a smaller picture.") from None
    except (MissingError, UnreadableError) as error:
        raise UnsendableError(f"{name} can't be read: {error.strerror}.") from None
    except FileRefusedError as error:
        raise UnsendableError(f"{name} {error.why}.") from None
    return prompt.picture(content.data, kind)


def _kind(path: str) -> str | None:
    return _PICTURES.get(os.path.splitext(path)[1].lower())
