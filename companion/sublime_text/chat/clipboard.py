"""A picture from the clipboard, which the editor's API doesn't give: a program of the system writes it to a file."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from ...chats.uris import path_of
from ...platforms import programs
from ...platforms.files import make_private_folders
from ...visits import why_unopened

LIMIT = 10.0
"""Seconds for the program."""
KEPT = 7 * 24 * 3600.0
"""Seconds until a picture from the clipboard is deleted."""
SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_MAC = (
    "on run argv",
    "set picture to the clipboard as «class PNGf»",
    "set target to open for access (POSIX file (item 1 of argv)) with write permission",
    "write picture to target",
    "close access target",
    "end run",
)
_WINDOWS = """
Add-Type -AssemblyName System.Windows.Forms
$picture = [Windows.Forms.Clipboard]::GetImage()
if ($picture -eq $null) { exit 1 }
$picture.Save($env:QWEN_COMPANION_PICTURE, [Drawing.Imaging.ImageFormat]::Png)
"""


def commands(system: str, path: str) -> list[list[str]]:
    """The commands that can write the clipboard's picture, each to try in turn: to a file, or to the output."""
    match system:
        case "osx":
            return [["osascript", *(part for line in _MAC for part in ("-e", line)), path]]
        case "windows":
            return [["powershell", "-NoProfile", "-NonInteractive", "-STA", "-Command", _WINDOWS]]
        case _:
            return [
                ["wl-paste", "--type", "image/png"],
                ["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
            ]


def named_picture(text: str) -> str | None:
    """The path of a picture that a text in the clipboard is; None if it is none. Nobody has looked for the file."""
    text = text.strip().strip("\"'")
    path = path_of(text) if text.startswith("file://") else os.path.expanduser(text)
    return path if path.lower().endswith(SUFFIXES) and "\n" not in path and os.path.isabs(path) else None


def find_picture(folder: Path, system: str, text: str) -> str | None:
    """The path of the clipboard's picture: a file that its text names, or one that is written into a folder. Blocks."""
    if (named := named_picture(text)) and not why_unopened(named):
        return named
    with suppress(OSError):
        return write_picture(folder, system)
    return None


def write_picture(folder: Path, system: str) -> str | None:
    """Write the clipboard's picture into a folder. Returns its path, None if there is none. It blocks."""
    make_private_folders(str(folder))
    for old in folder.iterdir():
        if time.time() - old.stat().st_mtime > KEPT:
            old.unlink()
    descriptor, path = tempfile.mkstemp(".png", time.strftime("clipboard-%H%M%S-"), folder)
    os.close(descriptor)
    for words in commands(system, path):
        program = programs.find(words[0], os.environ)
        if program is None:
            continue
        with suppress(OSError, subprocess.SubprocessError):
            done = programs.run([program, *words[1:]], {**os.environ, "QWEN_COMPANION_PICTURE": path}, LIMIT)
            if done.returncode == 0 and done.stdout and system == "linux":
                Path(path).write_bytes(done.stdout)
        if os.path.getsize(path):
            return path
    os.unlink(path)
    return None
