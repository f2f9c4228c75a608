"""Whether a daemon at a loopback address is on this computer: it may be behind a tunnel, in a container or in WSL."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import sys
from urllib.parse import urlsplit

import psutil

from ...conversation.failures import ChatError
from ...platforms.files import entry
from .address import Address
from .client import Client

_PROGRAMS = {"bun", "node", "nodejs", "qwen"}
"""What runs Qwen Code."""


async def is_here(client: Client, folder: str) -> bool:
    """Whether it is shown that the daemon's files are ours: a process of ours listens, or it sees a file of ours.

    `folder` is the chat's, as the editor calls it. A file with a random name is there for a moment, if need be.
    """
    if not client.address.is_loopback:
        return False
    return await asyncio.to_thread(_listens_here, client.address) or await _sees_ours(client, folder)


def _listens_here(address: Address) -> bool:
    """Whether every process that may be meant is a `qwen serve` of this user that sees the same files."""
    port = urlsplit(address.url).port or 80
    with contextlib.suppress(psutil.Error, OSError):
        listening = {
            each.pid
            for each in psutil.net_connections("tcp")
            if each.status == psutil.CONN_LISTEN and each.laddr and each.laddr.port == port
        }
        return bool(listening) and all(pid and _is_ours(psutil.Process(pid)) for pid in listening)
    return False


def _is_ours(process: psutil.Process) -> bool:
    program, *arguments = process.cmdline() or [""]
    # A tunnel may have the command of the other machine among its arguments: ssh -L 4170:localhost:4170 box qwen serve
    is_it = os.path.basename(program).lower().removesuffix(".exe") in _PROGRAMS and "serve" in arguments
    if not is_it or process.username() != psutil.Process().username():
        return False
    # In a container the same paths are other files.
    return sys.platform != "linux" or os.path.samefile(f"/proc/{process.pid}/root", "/")


async def _sees_ours(client: Client, folder: str) -> bool:
    path = os.path.join(folder, f".qwen-companion-{secrets.token_hex(16)}")
    try:
        await asyncio.to_thread(_touch, folder, os.path.basename(path))
        try:
            return await client.files.is_file(os.path.basename(path))
        finally:
            await asyncio.to_thread(os.unlink, path)
    except (OSError, ChatError):
        return False


def _touch(folder: str, name: str) -> None:
    with entry(name, below=folder) as at:
        os.close(at.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL))
