"""Three contents of a file merged by `git merge-file`. Blocks."""

from __future__ import annotations

import codecs
import contextlib
import os
import tempfile

from .git import Git, GitError, program


def merge(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Two descendants of a content merged; None if they conflict, are binary, or there is no git program."""
    if (simple := without_conflict(ours, base, theirs)) is not None:
        return simple
    with tempfile.TemporaryDirectory(prefix="qwen-companion-") as folder:
        try:
            return merged_by(Git(program(), folder, folder), folder, ours, base, theirs)
        except OSError:
            return None


def without_conflict(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """The result where only one side has changed, or both in the same way; else None."""
    if ours == base:
        return theirs
    return ours if theirs in (base, ours) else None


def merged_by(git: Git, folder: str, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """The result of `git merge-file`, with the contents in a private folder for as long as it takes.

    Git takes UTF-16 for binary, so that is merged as UTF-8.
    """
    found = {codec_of(data) for data in (ours, base, theirs)}
    wide = next(iter(found), "latin-1")
    if len(found) == 1 and wide != "latin-1":
        narrow = [data.decode(wide).encode("utf-8") for data in (ours, base, theirs)]
        merged = _merged(git, folder, *narrow)
        return None if merged is None else merged.decode("utf-8").encode(wide)
    return _merged(git, folder, ours, base, theirs)


def _merged(git: Git, folder: str, ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    names = [os.path.join(folder, f"merge.{name}") for name in ("ours", "base", "theirs")]
    try:
        for name, data in zip(names, (ours, base, theirs), strict=True):
            with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
        return git.run("merge-file", "-p", "--", *names)
    except GitError:
        return None  # the number of conflicts, or 255 for a binary file
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name)


def codec_of(data: bytes) -> str:
    """The codec that makes characters of some bytes and the same bytes of those: UTF-16, or one byte each."""
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark) and len(data) % 2 == 0:
            try:
                if data.decode(codec).encode(codec) == data:
                    return codec
            except UnicodeError:
                return "latin-1"
    return "latin-1"
