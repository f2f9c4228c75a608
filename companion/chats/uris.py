"""The addresses of files that go with a prompt. Pure.

They come in two spellings: escaped with the lines as a fragment, as RFC 8089 has it, and as a path that is only
preceded by "file://", as the daemon wants a file that is mentioned (`docs/protocols/qwen-serve.md`).
"""

from __future__ import annotations

import re
from urllib.parse import unquote

SCHEME = "file://"
_LINES = re.compile(r"#L(\d+)(?:-L?\d+)?\Z")
_DRIVE = re.compile(r"/?([A-Za-z]:[\\/])")
_ESCAPED = re.compile(r"[!-~]*\Z")
"""An address with blanks or other alphabets has not been escaped."""


def file_of(uri: str) -> tuple[str, int | None]:
    """The path of a file's address, and the first of the lines that it names, from 1; no path if it names no file."""
    if not uri.startswith(SCHEME):
        return "", None
    rest = uri.removeprefix(SCHEME)
    lines = _LINES.search(rest)
    path = rest[: lines.start()] if lines else rest
    if _ESCAPED.match(path):
        path = unquote(path)
    path = path.removeprefix("localhost") if path.startswith("localhost/") else path
    if drive := _DRIVE.match(path):
        path = path[drive.start(1) :]
    elif path and path[0] not in "/\\":
        # The computer that shares it.
        path = f"//{path}"
    return path, int(lines[1]) if lines else None


def path_of(uri: str) -> str:
    """The path of a file; for a tab without one its name."""
    path, _ = file_of(uri)
    return path or unquote(uri.partition(":")[2].partition("#")[0])
