"""A registry on loopback: the list, the archives, and what goes wrong on the way."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import tarfile
import threading
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from companion.agents import AgentCommand
from companion.editor import WindowId
from companion.registry.entries import InstallPlan, system
from companion.registry.registry import AgentListing, AgentRegistry

PROGRAM = b"#!/bin/sh\necho it runs\n"


@dataclass
class Served:
    """What a server has, by path, and what was asked of it."""

    pages: dict[str, bytes] = field(default_factory=dict[str, bytes])
    redirects: dict[str, str] = field(default_factory=dict[str, str])
    short: set[str] = field(default_factory=set[str])
    """The paths whose answer ends too early."""
    endless: set[str] = field(default_factory=set[str])
    asked: list[str] = field(default_factory=list[str])
    address: str = ""

    def put(self, path: str, content: bytes) -> str:
        """Serve something. Returns its address."""
        self.pages[path] = content
        return f"{self.address}{path}"


class Serving:
    """A server for the time of a test."""

    def __init__(self) -> None:
        served = self.served = Served()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                served.asked.append(self.path)
                _answer(self, served)

            def log_message(self, *_: Any) -> None:  # type: ignore[override]
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        served.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _answer(handler: http.server.BaseHTTPRequestHandler, served: Served) -> None:
    path = handler.path
    if path in served.redirects:
        handler.send_response(302)
        handler.send_header("Location", served.redirects[path])
        handler.end_headers()
        return
    content = served.pages.get(path)
    if content is None:
        handler.send_error(404)
        return
    handler.send_response(200)
    if path not in served.endless:
        handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    try:
        handler.wfile.write(content[: len(content) // 2] if path in served.short else content)
        while path in served.endless:
            handler.wfile.write(content)
            time.sleep(0.001)
    except OSError:
        pass  # the client has had enough


def tar(members: Mapping[str, bytes | tarfile.TarInfo], form: str = "gz") -> bytes:
    """A tar archive; a TarInfo is a member without content."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=f"w:{form}") as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.name = name
            data = content if isinstance(content, bytes) else b""
            if isinstance(content, bytes):
                info.size = len(data)
                info.mode = 0o755 if data.startswith(b"#!") else 0o644
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A member of a tar archive that is no file."""
    info = tarfile.TarInfo()
    info.type, info.linkname = kind, target
    return info


def zipped(members: Mapping[str, bytes], modes: Mapping[str, int] | None = None) -> bytes:
    """A zip archive."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (modes or {}).get(name, 0o100644) << 16
            archive.writestr(info, content)
    return made.getvalue()


def entry(identifier: str = "mine", **fields: Any) -> dict[str, Any]:
    """An agent of the list, from npm unless it is said otherwise."""
    return {
        "id": identifier,
        "name": identifier.title(),
        "version": "1.2.3",
        "description": "An agent",
        "repository": "https://example.com/agent",
        "authors": ["Somebody"],
        "license": "MIT",
        "distribution": {"npx": {"package": f"@some/{identifier}@1.2.3", "args": ["--acp"]}},
        **fields,
    }


def from_archive(url: str, data: bytes | None = None, **fields: Any) -> dict[str, Any]:
    """An agent whose archive is at an address, for this computer."""
    checked = {"sha256": hashlib.sha256(data).hexdigest()} if data is not None else {}
    target = {"archive": url, "cmd": "./bin/agent", "args": ["acp"], "env": {"MODE": "acp"}, **checked}
    return entry(distribution={"binary": {system(): target}}, **fields)


def listed(*entries: Mapping[str, Any]) -> bytes:
    return json.dumps({"version": "1.0.0", "agents": list(entries), "extensions": []}).encode()


class Place:
    """A registry whose folders are a test's own."""

    def __init__(self, served: Served, home: Path) -> None:
        self.served = served
        self.home = home
        self.mentioned: list[str] = []
        self.environment: dict[str, str] = {}
        self.at_work: list[str] = []
        """The programs of the agents that run."""
        self.registry = AgentRegistry(
            lambda words, _: self.mentioned.append(words),
            self._environment,
            lambda: self.at_work,
            f"{served.address}/registry.json",
        )

    async def _environment(self) -> Mapping[str, str]:
        return self.environment

    def serve(self, *entries: Mapping[str, Any]) -> None:
        self.served.put("/registry.json", listed(*entries))

    async def look(self, copy: bytes = b"{}", *, anew: bool = False) -> AgentListing:
        return await self.registry.look(copy, anew=anew)

    async def plan(self, identifier: str = "mine") -> InstallPlan:
        return (await self.look()).plans[identifier]

    async def install(self, identifier: str = "mine", keep: str = "") -> AgentCommand:
        plan = await self.plan(identifier)
        await self.registry.install(plan, WindowId(1), keep)
        return AgentCommand(plan.entry.name, plan.command, dict(plan.source.environment))
