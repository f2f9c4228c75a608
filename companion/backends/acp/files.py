"""An agent's files: `fs/read_text_file` and `fs/write_text_file`, through the editor.

An unsaved text is what the agent reads. What it writes goes into an open file as one step of undo, else to the disk,
with the line endings, the byte order mark and the encoding that the file has. A file outside the chat's folder is
touched only after a question. A proposal that the person has edited is written as they have made it, and the file is
looked at when the tool call is over: some agents write by themselves, before or after they have the editor write
(docs/protocols/acp.md#edits).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...background import answered
from ...platforms.files import FolderEntry, HangingError, MissingError, place, resolved
from ...review.disk import BOM, DiskFile, Encodings, SourceText, encode_like, read_bytes, read_file
from ...review.review_screen import UnsavedTextError
from . import extensions
from .errors import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND, RequestError
from .tool_calls import is_same

if TYPE_CHECKING:
    from .client import AcpAgent

MAX_LOOKED_AT = 200_000
"""Files and folders."""
LIMIT = 1.5
"""Seconds."""
_LEFT_OUT = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}


def find(folder: str, words: str, limit: int, given_up: threading.Event) -> list[str]:
    """The files and folders below a folder whose paths have some words, relative to it, the nearest first.

    What is between slashes is in one name, each in a later name than the one before, and the last one in the last
    name; case doesn't matter. Folders that nobody writes by hand are left out. It reads the disk until it is given up.
    """
    *above, last = [part for part in words.casefold().split("/") if part] or [""]
    found: list[str] = []
    looked_at, end = itertools.count(), time.monotonic() + LIMIT

    def is_over() -> bool:
        return given_up.is_set() or next(looked_at) >= MAX_LOOKED_AT or time.monotonic() > end

    level = [("", 0)]
    while level and len(found) < limit and not is_over():
        matching: list[str] = []
        following: list[tuple[str, int]] = []
        for inside, seen, entry in _entries(folder, level):
            if is_over():
                break
            path, name = f"{inside}/{entry.name}".lstrip("/"), entry.name.casefold()
            if seen == len(above) and last in name:
                matching.append(path)
            if entry.is_dir(follow_symlinks=False) and entry.name not in _LEFT_OUT:
                # The first name that has a part is as good as any: the following parts have the most names left.
                following.append((path, seen + (seen < len(above) and above[seen] in name)))
        found += sorted(matching)
        level = sorted(following)
    return found[:limit]


def _entries(folder: str, level: Iterable[tuple[str, int]]) -> Iterator[tuple[str, int, os.DirEntry[str]]]:
    """What is in some folders below a folder, each with what is told of its own folder."""
    for inside, seen in level:
        with contextlib.suppress(OSError), os.scandir(os.path.join(folder, inside)) as entries:
            for entry in entries:
                yield inside, seen, entry


_ENDING = re.compile(r"\r\n|\r|\n")
UNSAVED = (
    "The user has unsaved changes in {path} that this text doesn't have, so it was not written. "
    "Read the file through the editor, or ask the user to save it, and propose the change again."
)
"""What an agent is told whose text would overwrite unsaved text that it hasn't read."""
EDITED = (
    "(From the editor: the user has edited your change of {path} before allowing it. The file now holds the user's "
    "version, not yours. Read it again before you change or describe it.)"
)
NOT_WRITTEN = (
    "(From the editor: the user has edited your change of {path} before allowing it, but the file holds something "
    "else. Read it again before you change or describe it.)"
)
MAX_REFUSALS = 3
"""After so many refusals of files outside, no more questions are asked in a chat."""


class Edited(NamedTuple):
    """A proposal that the person has edited before they allowed it."""

    path: str
    proposed: str
    """What the agent is going to write."""
    content: str
    """What is written instead."""


class Files:
    """The files of one chat."""

    def __init__(self, agent: AcpAgent) -> None:
        self._agent = agent
        self._editor = agent.place.screen
        self._answers: dict[tuple[str, bool], bool] = {}
        """The person's answers by the folder of the file and whether it was to be written."""
        self._refusals = 0
        self._asking = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._edited: dict[str, Edited] = {}
        """By path: what is to stand in the file when the tool call is over."""
        self._written: list[Edited] = []
        """What stands there, until the turn is over."""
        self._read: dict[str, str] = {}
        """By path: the unsaved text that the agent was given last."""

    def hand_over(self) -> dict[str, Any]:
        """What the next instance needs to go on, whatever still ends here."""
        return {
            "edited": dict(self._edited),
            "written": list(self._written),
            "read": dict(self._read),
            "answers": dict(self._answers),
            "refusals": self._refusals,
        }

    def take_over(self, left: Mapping[str, Any]) -> None:
        """Go on with what `hand_over` has left."""
        self._read, self._answers, self._refusals = left["read"], left["answers"], left["refusals"]
        self._edited = {key: Edited(*edited) for key, edited in left["edited"].items()}
        self._written = [Edited(*written) for written in left["written"]]

    async def read(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Answer `fs/read_text_file`.

        Raises:
            RequestError: there is no such file, it can't be read, it is excluded, or the person refuses.
        """
        path = await self._allowed(params, writes=False)
        named, folders = [path, str(params.get("path"))], [self._agent.folder]
        try:
            why = await answered(path, partial(self._agent.place.sharing().refusal, named, folders))
        except OSError as error:
            why = _why(error, path)
        if why:
            raise RequestError(INTERNAL_ERROR, why)
        text = await self._editor.files.buffer(path)
        if text is not None:
            self._read[os.path.normcase(path)] = text
        else:
            encodings = await self._editor.files.encodings(path)
            try:
                found = await answered(path, partial(_from_disk, path, encodings))
            except OSError as error:
                raise RequestError(INTERNAL_ERROR, _why(error, path)) from None
            if not found.exists:
                raise RequestError(NOT_FOUND, f"there is no file {path}")
            if not found.is_text:
                raise RequestError(INTERNAL_ERROR, f"{path} is no text")
            text = found.source.source.removeprefix(BOM)
        return {"content": _part(text, _number(params, "line"), _number(params, "limit"))}

    async def write(self, params: Mapping[str, Any]) -> None:
        """Answer `fs/write_text_file`.

        Raises:
            RequestError: it can't be written, or the person refuses.
        """
        content = params.get("content")
        if not isinstance(content, str):
            raise RequestError(INVALID_PARAMS, "there is no content")
        path = await self._allowed(params, writes=True)
        async with self._writing:
            edited = self._edited.get(os.path.normcase(path))
            if edited and is_same(edited.proposed, content):
                content = edited.content
            known = await self._known(path, content)
            await self._write(path, content, params, known)

    async def texts(self, path: str) -> list[str]:
        """The texts that a path of the agent's may mean: the file on the disk, then an unsaved text of it."""
        if not _is_name(path) or not os.path.isabs(path):
            return []
        found: list[str] = []
        try:
            real = await answered(path, partial(resolved, path))
            encodings = await self._editor.files.encodings(real)
            on_disk = await answered(real, partial(_from_disk, real, encodings))
            if on_disk.exists and on_disk.is_text:
                found.append(on_disk.source.source)
        except OSError:
            return []
        if (unsaved := await self._editor.files.buffer(real)) is not None:
            found.append(unsaved)
        return found

    async def allowed(self, edited: Edited) -> None:
        """The person has allowed a proposal as they have made it, which is to stand in the file afterwards."""
        [real] = (await _reals([edited.path])).values()
        self._edited[os.path.normcase(real)] = edited

    async def settle(self, paths: Collection[str]) -> None:
        """A tool call with these paths is over. See to it that the edited proposals stand in the files.

        Where the agent has written what it proposed, the person's text is written now. Where the file is neither, that
        can't be done, and the text is kept for the person.
        """
        if not self._edited:
            return
        named = set(map(os.path.normcase, (await _reals(paths)).values()))
        for key in named & self._edited.keys():
            async with self._writing:
                if (edited := self._edited.get(key)) is None:
                    continue
                is_written = await self._is_written(edited)
                # Not before: if a reload comes first, the next instance writes it.
                if self._edited.get(key) is edited:
                    del self._edited[key]
                if is_written:
                    self._written.append(edited)
                    self._agent.prompts.note(EDITED.format(path=edited.path))
                else:
                    self._keep(edited)

    async def settle_all(self) -> None:
        """A turn is over: as `settle` for all that is left, and an agent may have written again after its tool call."""
        await self.settle(list(self._edited))
        for edited in list(self._written):
            async with self._writing:
                found = await self.texts(edited.path)
                # What is neither text is what the agent has changed later in the turn.
                if any(is_same(text, edited.proposed) for text in found) and not await self._is_written(edited):
                    self._keep(edited)
                self._written.remove(edited)

    def _keep(self, lost: Edited) -> None:
        """Keep what the person has accepted and the agent hasn't written."""
        name = os.path.basename(lost.path)
        why = f"{self._agent.name} has not written {name} as it proposed. The text that you accepted is kept here."
        self._editor.messenger.keep_text(self._agent.place.id, name, lost.content, why)
        self._agent.prompts.note(NOT_WRITTEN.format(path=lost.path))

    async def _is_written(self, edited: Edited) -> bool:
        """Whether a file holds the person's text, which is written if it holds the agent's."""
        found = await self.texts(edited.path)
        if any(is_same(text, edited.content) for text in found):
            return True
        if not any(is_same(text, edited.proposed) for text in found):
            return False
        try:
            real = await answered(edited.path, partial(resolved, edited.path))
            await self._write(real, edited.content, {}, await self._known(real, edited.content))
        except (OSError, RequestError):
            return False
        return any(is_same(text, edited.content) for text in await self.texts(edited.path))

    async def _known(self, path: str, content: str) -> str | None:
        """The unsaved text of a file that the agent knows, or None if it has none.

        Raises a RequestError if a write would take away text that the agent doesn't know.
        """
        unsaved = await self._editor.files.buffer(path)
        if unsaved is None or is_same(unsaved, content) or self._read.get(os.path.normcase(path)) == unsaved:
            return unsaved
        raise RequestError(INTERNAL_ERROR, UNSAVED.format(path=path))

    async def _allowed(self, params: Mapping[str, Any], *, writes: bool) -> str:
        """The real path of a file that may be touched.

        Raises:
            RequestError: it may not, or it is not an absolute path.
        """
        path = params.get("path")
        if not isinstance(path, str) or not os.path.isabs(path) or not _is_name(path):
            raise RequestError(INVALID_PARAMS, "the path of a file must be absolute")
        try:
            real = await answered(path, partial(resolved, path))
            folder = await answered(self._agent.folder, partial(os.path.realpath, self._agent.folder))
        except OSError as error:
            raise RequestError(INTERNAL_ERROR, _why(error, path)) from None
        if _is_below(real, folder):
            return real
        async with self._asking:
            key = os.path.dirname(real), writes
            if key not in self._answers:
                if self._refusals >= MAX_REFUSALS:
                    raise RequestError(INTERNAL_ERROR, "the user doesn't allow files outside the chat's folder")
                self._answers[key] = await self._editor.questions.may_touch(self._agent.name, real, writes=writes)
                self._refusals += not self._answers[key]
        if not self._answers[key]:
            raise RequestError(INTERNAL_ERROR, f"the user doesn't allow {real}, which is outside the chat's folder")
        return real

    async def _write(self, path: str, content: str, params: Mapping[str, Any], known: str | None) -> None:
        text = SourceText(content)
        mark, windows = extensions.written(params)
        try:
            if await self._editor.files.replace_buffer(path, text.shown, known=known):
                return
            await asyncio.to_thread(_to_disk, path, text, await self._editor.files.encodings(path), mark, windows)
        except UnicodeEncodeError as error:
            lacking = error.object[error.start : error.start + 1]
            raise RequestError(INTERNAL_ERROR, f"the encoding of {path} has no {lacking!r}") from None
        except UnsavedTextError:  # it was typed since
            raise RequestError(INTERNAL_ERROR, UNSAVED.format(path=path)) from None
        except OSError as error:
            raise RequestError(INTERNAL_ERROR, _why(error, path)) from None


async def _reals(paths: Collection[str]) -> dict[str, str]:
    """What paths lead to. One that can't be told, or on a disk that hangs, is itself."""
    found = {path: path for path in paths}

    def look() -> None:
        for path in paths:
            with contextlib.suppress(OSError):
                found[path] = resolved(path)

    with contextlib.suppress(HangingError):
        await answered(next(iter(paths), ""), look)
    return dict(found)


def _from_disk(path: str, encodings: Encodings) -> DiskFile:
    try:
        with place(path) as at:
            return read_file(path, encodings, at)
    except MissingError:
        return DiskFile()


def _to_disk(path: str, text: SourceText, encodings: Encodings, mark: bool, windows: bool) -> None:
    """Write a text to a real path, in the folder that the path led to when the person was asked."""
    with place(path, makes_folders=True) as at:
        at.replace(_content(at, text, encodings, mark, windows))


def _content(at: FolderEntry, text: SourceText, encodings: Encodings, mark: bool, windows: bool) -> bytes:
    before = read_file(at.path, encodings, at)
    if before.exists and not before.is_text:
        raise OSError(f"{at.path} is no text")
    if before.exists:
        data, _ = read_bytes(at.path, at)
        # A file that has one line has no endings of its own.
        content = before.source.adapt(text.shown, None if before.source.endings else text)
    else:
        data = b""
        content = text.source
        if windows and "\r" not in content:
            content = content.replace("\n", "\r\n")
        if mark and not text.has_mark:
            content = BOM + content
    return encode_like(content, data, encodings)


def _is_below(path: str, folder: str) -> bool:
    path, folder = os.path.normcase(path), os.path.normcase(folder)
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _part(text: str, line: int | None, limit: int | None) -> str:
    """Some lines of a text: `limit` of them, from a line that counts from 1. The ending of the last one is left out."""
    if line is None and limit is None:
        return text
    first = max((line or 1) - 1, 0)
    # No other separators than the editor's: a form feed begins no line.
    ends = [(-1, 0), *(found.span() for found in _ENDING.finditer(text)), (len(text), -1)]
    if limit == 0 or first >= len(ends) - 1:
        return ""
    last = len(ends) - 1 if limit is None else min(first + limit, len(ends) - 1)
    return text[ends[first][1] : ends[last][0]]


def _is_name(path: str) -> bool:
    """Whether a path can be one of the file system: it has no null character, and no half of a surrogate pair."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _number(params: Mapping[str, Any], name: str) -> int | None:
    value: object = params.get(name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None


def _why(error: OSError, path: str) -> str:
    return f"{path}: {error.strerror}" if error.strerror else str(error)
