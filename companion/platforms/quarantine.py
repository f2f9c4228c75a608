"""macOS' mark on what was downloaded."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from .programs import run

_XATTR = "/usr/bin/xattr"
_LIMIT = 120.0


def release(folder: str) -> None:
    """Take the mark off all files of a folder, whose start macOS would otherwise refuse without a word to anybody.

    The person has said yes to what was downloaded. Nothing is done on other systems, and where there is no mark.
    """
    if sys.platform == "darwin":
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            run([_XATTR, "-dr", "com.apple.quarantine", folder], os.environ, _LIMIT)
