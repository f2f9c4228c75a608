"""The folders of what is unpacked: one for each agent, in it one for each version. It blocks.

A name in the folder of an agent that begins with a dot is no version: it is on its way in or out, or was left there by
a crash.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection

from ..platforms.files import rename

ASIDE = ".before"
"""The end of the name of a version that a new copy of it takes the place of."""


def put_in_place(new: str, folder: str) -> None:
    """Give a folder the name of another, which is removed; that one stays as it is if it can't be done.

    Raises OSError.
    """
    aside = _aside(folder)
    had = os.path.lexists(folder)
    if had:
        remove(aside)
        rename(folder, aside)
    try:
        rename(new, folder)
    except OSError:
        if had:
            # Or else `restore` does it.
            with contextlib.suppress(OSError):
                rename(aside, folder)
        raise
    remove(aside)


def restore(folder: str) -> None:
    """Put back a version that was moved aside for another, which then has not come. Raises OSError."""
    if not os.path.lexists(folder) and os.path.lexists(_aside(folder)):
        rename(_aside(folder), folder)


def restore_all(folder: str) -> None:
    """Put back all versions of an agent's folder that are missing, and remove what a crash has left. Raises OSError."""
    for name in os.listdir(folder):
        if name.startswith(".") and name.endswith(ASIDE):
            restore(os.path.join(folder, name[1 : -len(ASIDE)]))
    remove_others(folder, [name for name in os.listdir(folder) if not name.startswith(".")])


def remove_others(folder: str, kept: Collection[str]) -> None:
    """Remove what else is in a folder, if there is one, as far as that is possible. Names count in any case.

    Raises OSError if it can't be read.
    """
    if not os.path.isdir(folder) or os.path.islink(folder):
        return
    names = {name.casefold() for name in kept}
    for name in os.listdir(folder):
        if name.casefold() not in names:
            remove(os.path.join(folder, name))


def remove(path: str) -> None:
    """Remove a file, or a folder as far as that is possible; a link is removed itself."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _aside(folder: str) -> str:
    above, name = os.path.split(folder)
    return os.path.join(above, f".{name}{ASIDE}")
