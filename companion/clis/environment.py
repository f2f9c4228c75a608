"""The environment of a person's login shell, with the PATH that they know from their terminal and then the editor's."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

from ..platforms import programs
from .families import FAMILIES
from .shell import usual_shell

logger = logging.getLogger(__name__)

LIMIT = 10.0
"""Seconds for the shell's start-up files."""
_NOT_THEIRS = {"_", "SHLVL", "PWD", "OLDPWD"}
"""Variables of the shell itself."""
_BETWEEN = "QWEN_COMPANION_NEXT_VARIABLE"
"""Stands between two variables where no NUL character can."""


class LoginEnvironment:
    """Asks the login shell once, and remembers what it says."""

    def __init__(self) -> None:
        self._asking: asyncio.Task[dict[str, str]] | None = None

    def forget(self) -> None:
        """Ask again, because the person may have changed it."""
        if self._asking and self._asking.done():
            self._asking = None

    async def get(self) -> dict[str, str]:
        """The environment for an agent. Where no login shell answers, it is that of the editor.

        The variables by which a CLI finds an editor are left out: the chat itself shows the agent's changes.
        """
        if self._asking is None or (self._asking.done() and (self._asking.cancelled() or self._asking.exception())):
            self._asking = asyncio.create_task(asyncio.to_thread(read_login_environment))
        return without_editors(await asyncio.shield(self._asking))


def without_editors(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables by which a CLI finds an editor."""
    of_editors: set[str] = set()
    for family in FAMILIES:
        of_editors |= family.variables([], 0, "", 0).keys()
    return {name: value for name, value in environment.items() if name not in of_editors}


def read_login_environment() -> dict[str, str]:
    """The environment of the login shell; that of the editor where none answers. Blocks for up to `LIMIT`."""
    environment = dict(os.environ)
    if sys.platform == "win32":
        return environment
    # The shell's start-up files may print anything before the first mark, and what they have left behind after the
    # second. Where `env` has no -0, as on macOS 12, `awk` knows the variables.
    mark, end = secrets.token_hex(8).encode(), secrets.token_hex(8).encode()
    script = (
        f"printf %s {mark.decode()}; env -0 2>/dev/null || "
        'awk "BEGIN { for (name in ENVIRON) printf \\"%s=%s%s\\", name, ENVIRON[name], '
        f'\\"{_BETWEEN}\\" }}"; printf %s {end.decode()}'
    )
    words = [usual_shell(environment), "-i", "-l", "-c", f"exec /bin/sh -c '{script}'"]
    try:
        printed = _printed_until(end, words, environment)
    except OSError as error:
        logger.debug("The login shell doesn't tell its environment: %s", error)
        return environment
    _, found, printed = printed.partition(mark)
    separator = b"\0" if b"\0" in printed else _BETWEEN.encode()
    pairs = [entry.partition(b"=") for entry in printed.partition(end)[0].split(separator) if b"=" in entry]
    login = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    if not found or "PATH" not in login:
        return environment
    folders = dict.fromkeys([*login["PATH"].split(os.pathsep), *environment.get("PATH", "").split(os.pathsep)])
    login["PATH"] = os.pathsep.join(filter(None, folders))
    return {name: value for name, value in login.items() if name not in _NOT_THEIRS}


def _printed_until(end: bytes, words: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """What a program prints until it prints `end` or ends. What it leaves behind may keep its output open."""
    limit = time.monotonic() + LIMIT
    devnull = subprocess.DEVNULL
    process = programs.start(words, environment, stdin=devnull, stdout=subprocess.PIPE, stderr=devnull)
    printed = b""
    try:
        with process.stdout, selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            while end not in printed and (left := limit - time.monotonic()) > 0:
                if ready.select(left):
                    data = os.read(process.stdout.fileno(), 65536)
                    if not data:
                        break
                    printed += data
        process.wait(max(limit - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        programs.kill_group(process.pid)
        process.wait()
    return printed
