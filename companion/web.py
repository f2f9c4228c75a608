"""Addresses of the web, as a person is asked about them. Standard library alone: the UI thread imports it."""

from __future__ import annotations

import os
import re
import threading
from urllib.parse import urlsplit

from .platforms import programs

_HOST = re.compile(r"[a-z0-9_.-]+|[0-9a-f:.]+")
_AMBIGUOUS = frozenset("\u00df\u1e9e\u03c2\u200c\u200d")
"""Letters of names that IDNA 2003, which Python has, takes for others, and IDNA 2008, which browsers have, does not."""


def host_of(address: str) -> str:
    """The host of a page as a browser looks it up, other alphabets in Punycode.

    It is empty for what is no page, and for an address that a browser may read in another way than this or any person
    does: with a backslash, which a browser takes for a slash, with a user's name, with what can't be seen.
    """
    if not address.isprintable() or " " in address or "\\" in address:
        return ""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname or "", parts.port
        if parts.scheme not in {"http", "https"} or "@" in parts.netloc or not _AMBIGUOUS.isdisjoint(host):
            return ""
        host = host if host.isascii() else host.encode("idna").decode().lower()
    except ValueError:
        return ""
    return host if _HOST.fullmatch(host) else ""


def is_safe(address: str) -> bool:
    """Whether what goes to an address can be read by nobody on the way: https, or this computer."""
    host = host_of(address)
    return bool(host) and (address[:6].lower() == "https:" or host in {"127.0.0.1", "::1", "localhost"})


def browse(address: str) -> None:
    """Open a page in the person's browser, from a thread of its own: to find the browser may take seconds."""
    arguments = address, dict(os.environ)
    threading.Thread(target=programs.open_page, args=arguments, name="qwen-companion-page", daemon=True).start()
