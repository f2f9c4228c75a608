"""How the file system itself spells a path, and which spellings are one path."""

from __future__ import annotations

import ntpath
import os
import sys
import unicodedata

F_GETPATH = 50
"""From macOS' <sys/fcntl.h>. Python has it in `fcntl` on macOS alone."""
_EVENTS_ONLY = 0x8000
"""`O_EVTONLY` from there: what may not be read is opened, too."""
_MAX_PATH = 1024


def own_spelling(path: str) -> str:
    """A path as its disk has it; the same path if that can't be told. It blocks.

    On macOS, names may differ from the disk's in upper and lower case and in the composition of their characters
    (NFC or NFD), and still lead to the same file. Whoever compares paths as texts, as the CLIs do, takes it for
    another.
    """
    if sys.platform != "darwin":
        return path
    import fcntl  # noqa: PLC0415 - Windows has none

    try:
        descriptor = os.open(path, os.O_NONBLOCK | _EVENTS_ONLY)  # it waits for no pipe
        try:
            found = fcntl.fcntl(descriptor, F_GETPATH, bytes(_MAX_PATH))
        finally:
            os.close(descriptor)
    except OSError:
        return path
    return os.fsdecode(found.partition(b"\0")[0]) or path


def real_path(path: str) -> str:
    """The path without links, spelled as its disk has it: what is known of files is found by their names there.

    The file need not be there. It blocks.
    """
    found = os.path.realpath(path)
    own = own_spelling(found)
    is_same = unicodedata.normalize("NFC", own).casefold() == unicodedata.normalize("NFC", found).casefold()
    return own if is_same else found  # a file may have other names, too


def path_key(path: str) -> str:
    """A text that is the same for the spellings of a path that are one on every disk of this system. It doesn't block.

    Whether upper and lower case differ depends on the disk on macOS; there they count.
    """
    if sys.platform == "win32":
        return ntpath.normcase(path)
    return unicodedata.normalize("NFC", path) if sys.platform == "darwin" else path
