"""Downloads from the registry and from where its agents come from: https alone, bounded in size and time. It blocks."""

from __future__ import annotations

import hashlib
import http.client
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from .entries import is_address
from .failures import ArchiveError, DownloadError

QUIET = 30.0
"""Seconds without a byte after which a download is given up."""
_PIECE = 256 * 1024
_AGENT = "QwenCompanion"

Progress = Callable[[int, int], object]
"""Gets the bytes that have come and those that are to come, which is 0 if that isn't known. From any thread."""


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to an address that could have been in the registry."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The request to follow."""
        if not is_address(newurl) or (req.full_url.startswith("https:") and not newurl.startswith("https:")):
            raise urllib.error.URLError("it redirects to an address that isn't safe")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, limit: int, seconds: float, to: BinaryIO, progress: Progress | None = None) -> str:
    """Write what is at an address into a file, at most `limit` bytes within `seconds`. Returns its SHA-256 in hex.

    Raises:
        DownloadError: it can't be had, or is too large.
    """
    host, end = urlsplit(url).hostname or "", time.monotonic() + seconds
    digest, size = hashlib.sha256(), 0
    if not is_address(url):
        raise DownloadError(host, "the address doesn't begin with https://")
    try:
        with _open(url) as answer:
            whole = int(answer.headers.get("Content-Length") or 0)
            while piece := answer.read1(_PIECE):
                size += len(piece)
                if size > limit:
                    raise DownloadError(host, f"it sends more than {limit // 1024**2} MB")
                if time.monotonic() > end:
                    raise DownloadError(host, f"it wasn't finished after {seconds:.0f} s")
                digest.update(piece)
                to.write(piece)
                if progress:
                    progress(size, whole)
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(host, f"it answers {error.code}") from None
    except urllib.error.URLError as error:
        raise DownloadError(host, _plain(error.reason)) from None
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise DownloadError(host, _plain(error)) from None
    if size < whole:
        raise DownloadError(host, "the connection was closed before the end")
    return digest.hexdigest()


def check(sha256: str, found: str) -> None:
    """Raise ArchiveError if a checksum is not the one that the registry has; an empty one matches everything."""
    if sha256 and sha256 != found:
        raise ArchiveError(f"its SHA-256 is {found}, and the registry has {sha256}")


def _open(url: str) -> Any:
    import truststore  # noqa: PLC0415 - a companion that installs nothing does without this library

    opener = urllib.request.build_opener(
        _SafeRedirects, urllib.request.HTTPSHandler(context=truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    )
    request = urllib.request.Request(url, headers={"User-Agent": _AGENT})  # noqa: S310 - `is_address` was asked
    return opener.open(request, timeout=QUIET)


def _plain(why: object) -> str:
    """A reason without numbers of errors."""
    words = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
    return words.rstrip(".") or type(why).__name__
