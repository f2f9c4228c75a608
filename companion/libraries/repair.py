"""Makes Package Control reinstall libraries by removing their `.dist-info` folders."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from .installed import NATIVE, Library, installed


def in_use(library: Library) -> bool:
    """Return whether a file of the library can't be replaced, as on Windows while it is loaded."""
    try:
        natives = [name for name in library.files() if name.endswith(NATIVE)]
    except OSError:
        return False
    for name in natives:
        try:
            with open(os.path.join(library.root, name), "r+b"):
                pass
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False


def forget(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """Remove the `.dist-info` of each library, so that Package Control finds it missing.

    Returns the names of the libraries whose files are in use, and of those whose folder can't be removed.
    """
    busy: list[str] = []
    kept: list[str] = []
    for name, libraries in installed(names).items():
        for library in libraries:
            if in_use(library):
                busy.append(name)
            try:
                shutil.rmtree(library.folder)
            except OSError:
                kept.append(name)
    return busy, kept
