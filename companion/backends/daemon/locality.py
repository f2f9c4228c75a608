"""Where a chat's files, commands and keys are, in words. Nothing here implies that they are this editor's."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import psutil

from ...agents import DAEMON_AGENT
from ...conversation.failures import ChatError
from ...conversation.snapshot import Locality
from ...json_text import as_list, as_object
from ...platforms.files import entry
from ..wire import objects
from .address import Address
from .decoder import Capabilities

NOT_TOLD = "Not told by this daemon."

_PROGRAMS = {"bun", "node", "nodejs", "qwen"}
"""What runs Qwen Code."""
_CREDENTIALS = re.compile(r"//[^/@\s]*@")


def where(
    address: Address, capabilities: Capabilities | None, folder: str, *, is_here: bool, is_private: bool = False
) -> Locality:
    """The daemon's locality; `folder` as the daemon calls it. `is_here`: whether it is shown to be on this computer."""
    parts = urlsplit(address.url)
    is_known = is_here or not address.is_loopback
    host = (parts.hostname or "") if is_known else f"{parts.netloc}, perhaps elsewhere"
    return Locality(
        host="this computer" if is_here else host,
        folder=folder,
        version=capabilities.version if capabilities else "",
        is_local=is_here,
        is_known=is_known,
        is_private=is_private,
        warning=address.warning or "",
        agent=DAEMON_AGENT,
    )


async def described(page: Callable[[str], Awaitable[Mapping[str, Any]]], url: str, locality: Locality) -> str:
    """The page on the daemon: see `text`. `page` asks it for a route of its workspace."""

    async def ask(route: str) -> Mapping[str, Any]:
        with contextlib.suppress(ChatError):
            return await page(route)
        return {}

    answers = await asyncio.gather(*(ask(route) for route in ROUTES))
    return text(locality, url, dict(zip(ROUTES, answers, strict=True)))


def text(locality: Locality, url: str, told: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, from each route's answer; an empty one stands for a route that the daemon doesn't have."""
    kind = "a private one of this window, which ends with it" if locality.is_private else "one that was there before"
    same = "" if locality.is_local else " Nothing of this computer is available to it."
    if not locality.is_known:
        same = " It is not shown that they are this computer's."
    owner = locality.host if locality.is_known else "the machine on which it runs"
    lines = [
        "# The chat's daemon",
        "",
        f"- Host: {locality.host}",
        f"- Folder: {locality.folder}",
        f"- Address: {url}",
        f"- Qwen Code: {locality.version or NOT_TOLD}",
        f"- Daemon: {kind}",
        "",
        f"Files, commands, MCP servers, skills and keys are those of {owner}, as the daemon sees them.{same}",
        "What you have open here and not saved goes to it only with a prompt that names it.",
    ]
    if locality.warning:
        lines += ["", f"**{locality.warning}**"]
    for title, route, read in _SECTIONS:
        answer = told.get(route, {})
        lines += ["", f"## {title}", "", *((read(answer) or ["None."]) if answer else [NOT_TOLD])]
    return "\n".join(lines) + "\n"


def _servers(answer: Mapping[str, Any]) -> list[str]:
    return [
        _item(_word(server, "name"), _word(server, "status") or _word(server, "mcpStatus"), _word(server, "error"))
        for server in objects(answer.get("servers"))
    ]


def _skills(answer: Mapping[str, Any]) -> list[str]:
    return [
        _item(_word(skill, "name"), _word(skill, "level"), _word(skill, "status", "ok"))
        for skill in objects(answer.get("skills"))
    ]


def _providers(answer: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for provider in objects(answer.get("providers")):
        models = [
            (_word(model, "name") or _word(model, "modelId")) + (" (current)" if model.get("isCurrent") is True else "")
            for model in objects(provider.get("models"))
        ]
        lines.append(_item(_word(provider, "authType"), ", ".join(models), _word(provider, "status", "ok")))
    return lines


def _environment(answer: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for cell in objects(answer.get("cells")):
        kind, name = _word(cell, "kind"), _word(cell, "name")
        # The value of a variable is never shown, even if the daemon sends it.
        value = "" if kind == "env_var" else _word(cell, "value")
        state = "set" if cell.get("present") is True else "not set" if cell.get("present") is False else ""
        lines.append(_item(name or kind, value or state, _word(cell, "status", "ok", "disabled")))
    return lines


def _checks(answer: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for cell in objects(answer.get("cells")):
        told = as_object(cell.get("detail"))
        shown = [str(told[name]) for name in ("version", "path", "count", "source") if name in told]
        about = ", ".join([*shown, *filter(None, (_word(cell, "error"), _word(cell, "hint")))])
        lines.append(_item(_word(cell, "kind").replace("_", " "), _word(cell, "status"), about))
    return lines


def _trust(answer: Mapping[str, Any]) -> list[str]:
    effective = as_object(answer.get("effective"))
    state, source = _word(effective, "state"), _word(effective, "source")
    why = source if answer.get("folderTrustEnabled") is True else "Qwen Code's setting for trusting folders is off"
    return [_item("This folder", state or "not told", why)]


def _rules(answer: Mapping[str, Any]) -> list[str]:
    """The rules by what they do, each with whose it is."""
    lines: list[str] = []
    for kind, words in (("deny", "Denied"), ("ask", "Asked about"), ("allow", "Allowed")):
        for owner, whose in (("user", "in your settings"), ("workspace", "in this folder's settings")):
            rules = as_object(as_object(answer.get(owner)).get("rules")).get(kind)
            lines += (_item(words, " ".join(str(rule).split()), whose) for rule in as_list(rules))
    if answer.get("isTrusted") is False:
        lines.append("- This folder's own rules don't count, since it isn't trusted.")
    return lines


_SECTIONS: tuple[tuple[str, str, Callable[[Mapping[str, Any]], list[str]]], ...] = (
    ("MCP servers", "/workspace/mcp", _servers),
    ("Skills", "/workspace/skills", _skills),
    ("Providers and models", "/workspace/providers", _providers),
    ("Environment", "/workspace/env", _environment),
    ("Checks", "/workspace/preflight", _checks),
    ("Trust", "/workspace/trust", _trust),
    ("Permission rules", "/workspace/permissions", _rules),
)
ROUTES = tuple(route for _, route, _ in _SECTIONS)


def _item(name: str, *about: str) -> str:
    said = ", ".join(_CREDENTIALS.sub("//…@", word) for word in about if word)
    return f"- {name}: {said}" if said else f"- {name}"


def _word(fields: Mapping[str, Any], name: str, *unless: str) -> str:
    value = fields.get(name)
    return " ".join(value.split()) if isinstance(value, str) and value not in unless else ""


# Whether it is on this computer: it may be behind a tunnel, in a container or in WSL


def listens_here(address: Address) -> bool:
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


async def sees(is_file: Callable[[str], Awaitable[bool]], folder: str) -> bool:
    """Whether whoever is asked by `is_file` sees a file that is put into a folder."""
    path = os.path.join(folder, f".qwen-companion-{secrets.token_hex(16)}")
    try:
        await asyncio.to_thread(_touch, folder, os.path.basename(path))
        try:
            return await is_file(os.path.basename(path))
        finally:
            await asyncio.to_thread(os.unlink, path)
    except (OSError, ChatError):
        return False


def _touch(folder: str, name: str) -> None:
    with entry(name, below=folder) as at:
        os.close(at.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL))
