"""Three contents of a file merged by `git merge-file`. Blocks."""

from __future__ import annotations

import os
import tempfile

from .git import Git, program


def merge(ours: bytes, base: bytes, theirs: bytes) -> bytes | None:
    """Two descendants of a content merged; None if they conflict, are binary, or there is no git program."""
    if ours == base:
        return theirs
    if theirs in (base, ours):
        return ours
    with tempfile.TemporaryDirectory(prefix="qwen-companion-") as folder:
        names = [os.path.join(folder, name) for name in ("ours", "base", "theirs")]
        try:
            for name, data in zip(names, (ours, base, theirs), strict=True):
                with open(name, "wb") as file:
                    file.write(data)
            return Git(program(), folder, folder).run("merge-file", "-p", "--", *names)
        except OSError:
            return None  # git ends with the number of conflicts, or with 255 for a binary file
