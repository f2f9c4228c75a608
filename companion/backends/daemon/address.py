"""Where the daemon is and what opens it: the settings, and the environment where they say nothing."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from .errors import InvalidAddressError

DEFAULT_URL = "http://127.0.0.1:4170"
URL_VARIABLE = "QWEN_IDE_DAEMON_URL"
TOKEN_VARIABLE = "QWEN_SERVER_TOKEN"  # noqa: S105 - a name


@dataclass(frozen=True, slots=True)
class Token:
    """A bearer token. Only `reveal` gives its value, so no log, message or traceback has it."""

    _value: str = field(repr=False)

    def reveal(self) -> str:
        """The token itself, for a header or the environment of a process."""
        return self._value


@dataclass(frozen=True, slots=True)
class Address:
    """A daemon that can be asked."""

    url: str
    """Scheme, host and port, and no slash at the end."""
    token: Token | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether it is on this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    @property
    def warning(self) -> str | None:
        """What the person should know before using it, a sentence."""
        if self.is_loopback:
            return None
        where = "The daemon runs on another machine: files, commands and keys are that machine's."
        if self.token and self.url.startswith("http:"):
            return f"{where} Without https, everyone in between can read the token."
        return where


def starts_own(*, managed: bool, url: str | None, environment: Mapping[str, str]) -> bool:
    """Whether a private daemon is started: it may be, and nothing names the address of another."""
    return managed and not _named(url, environment)


def resolve(*, url: str | None, environment: Mapping[str, str]) -> Address:
    """The daemon to use where none is started. An empty text counts as none; the token is only in the environment.

    Raises:
        InvalidAddressError: the address can't be used.
    """
    url = _named(url, environment) or DEFAULT_URL
    token = environment.get(TOKEN_VARIABLE, "").strip()
    if not (token.isascii() and token.isprintable()):
        raise InvalidAddressError("The daemon's token holds characters that no header can carry.", "Set another one.")
    return Address(_checked(url), Token(token) if token else None)


def _named(url: str | None, environment: Mapping[str, str]) -> str:
    return (url or "").strip() or environment.get(URL_VARIABLE, "").strip()


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise InvalidAddressError("The daemon's address is not a URL.") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidAddressError("The daemon's address must begin with http:// or https:// and name a host.")
    if parts.username is not None or parts.password is not None:
        # It may be a secret, so it isn't repeated here.
        raise InvalidAddressError("The daemon's address must not hold a name or a password; there is a token for that.")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise InvalidAddressError("The daemon's address must end after the port.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port is not None else "")
