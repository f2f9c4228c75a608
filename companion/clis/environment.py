"""The environment of a person's login shell, which has the PATH that they know from their terminal."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping

from .families import FAMILIES
from .shell import usual_shell

logger = logging.getLogger(__name__)

LIMIT = 10.0
"""Seconds for the shell's start-up files."""
_NOT_THEIRS = {"_", "SHLVL", "PWD", "OLDPWD"}
"""Variables of the shell itself."""


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
        if self._asking is None or self._asking.cancelled():
            self._asking = asyncio.create_task(asyncio.to_thread(_login, dict(os.environ)))
        return without_editors(await asyncio.shield(self._asking))


def without_editors(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables by which a CLI finds an editor."""
    of_editors: set[str] = set()
    for family in FAMILIES:
        of_editors |= family.variables([], 0, "", 0).keys()
    return {name: value for name, value in environment.items() if name not in of_editors}


def _login(environment: dict[str, str]) -> dict[str, str]:
    if sys.platform == "win32":
        return environment
    # The shell's start-up files may print anything before the mark.
    mark = secrets.token_hex(8)
    line = f"printf %s {mark}; command env -0"
    try:
        done = subprocess.run(  # noqa: S603 - it is the person's own shell
            [usual_shell(environment), "-i", "-l", "-c", line],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT,
            check=False,
            start_new_session=True,  # no shell takes the terminal that the editor was started from
        )
    except (OSError, subprocess.SubprocessError) as error:
        logger.debug("The login shell doesn't tell its environment: %s", error)
        return environment
    _, found, printed = done.stdout.partition(mark.encode())
    pairs = [entry.partition(b"=") for entry in printed.split(b"\0") if b"=" in entry]
    login = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
    if not found or "PATH" not in login:
        return environment
    return {name: value for name, value in login.items() if name not in _NOT_THEIRS}
