"""Requests that are read without h11, because they have exactly the form that the CLIs' HTTP clients give them.

h11 takes most of the time of a small request (docs/performance.md). It still reads whatever isn't exactly in this form:
bodies that haven't come whole, requests behind one another, other methods and paths, anything unusual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

Answer = tuple[list[tuple[bytes, bytes]], bytes]
"""The headers and the body of an answer with the status 200."""
Answering = Callable[[Callable[[Answer], None]], Coroutine[Any, Any, None]]
"""Gives its answer to the function that it gets."""
MOST = 4096
"""Bytes of a request. A longer one takes so long that h11 doesn't matter."""
_HEAD = re.compile(rb"POST /mcp HTTP/1\.1\r\n((?:[-!#$%&'*+.^_`|~0-9A-Za-z]++: ?+[!-~][ -~]*+\r\n)++)\r\n")
_LENGTH = re.compile("[0-9]{1,4}")
_UNUSUAL = {"transfer-encoding", "expect", "upgrade", "te", "trailer"}


def read(data: bytes) -> tuple[dict[str, str], bytes] | None:
    """The headers, with lower-case names, and the body of a POST to /mcp; None if h11 has to read it."""
    if len(data) > MOST or (found := _HEAD.match(data)) is None:
        return None
    lines = found[1].decode("ascii").split("\r\n")
    lines.pop()
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip(" ")
    body = data[found.end() :]
    length = headers.get("content-length", "")
    is_usual = (
        len(headers) == len(lines)
        and _UNUSUAL.isdisjoint(headers)
        and headers.get("connection", "keep-alive").lower() == "keep-alive"
        and _LENGTH.fullmatch(length) is not None
        and int(length) == len(body)
    )
    return (headers, body) if is_usual else None
