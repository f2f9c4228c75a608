"""The page on the daemon: where it runs and with what; nothing of this machine is implied, no secret shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from companion.backends.daemon import locality as here
from companion.backends.daemon.address import Address, Token
from companion.backends.daemon.client import DaemonAgent
from companion.backends.daemon.decoder import Capabilities
from companion.backends.daemon.locality import NOT_TOLD, ROUTES, text, where
from companion.conversation.snapshot import Locality

from ....parts import closing
from ...fake_daemon import TOKEN, FakeDaemon, Request

KEY = "sk-a-key-that-nobody-sees"
TOLD: dict[str, dict[str, Any]] = {
    "/workspace/mcp": {"servers": [{"name": "files", "status": "connected"}, {"name": "web", "error": "no\nway"}]},
    "/workspace/skills": {
        "skills": [{"name": "batch", "level": "bundled", "status": "ok"}, {"name": "mine", "status": "error"}]
    },
    "/workspace/providers": {
        "current": {"apiKey": KEY},
        "providers": [
            {
                "authType": "openai",
                "status": "ok",
                "apiKey": KEY,
                "models": [{"name": "One", "isCurrent": True, "apiKey": KEY}, {"modelId": "two"}],
            }
        ],
    },
    "/workspace/env": {
        "cells": [
            {"kind": "runtime", "name": "node", "status": "ok", "value": "22.1.0"},
            {"kind": "env_var", "name": "OPENAI_API_KEY", "status": "ok", "present": True, "value": KEY},
            {"kind": "env_var", "name": "TZ", "status": "disabled", "present": False},
            {"kind": "proxy", "name": "HTTPS_PROXY", "status": "ok", "value": f"http://me:{KEY}@proxy:1"},
            {"kind": "sandbox", "status": "warning"},
        ]
    },
    "/workspace/preflight": {
        "cells": [
            {"kind": "node_version", "status": "ok", "detail": {"version": "22.1.0", "required": ">=22"}},
            {"kind": "auth", "status": "error", "error": "no key", "hint": "Set one.", "detail": {"token": KEY}},
            {"kind": "egress"},
        ]
    },
}


def test_the_page_tells_what_the_daemon_tells():
    place = where(
        Address("http://127.0.0.1:4170", Token(KEY)),
        Capabilities.model_validate({"qwenCodeVersion": "0.24.4", "features": [], "workspaceCwd": "/w"}),
        "/w",
        is_here=True,
        is_private=True,
    )
    assert place == Locality("this computer", "/w", "0.24.4", is_local=True, is_private=True, agent="Qwen Code")
    shown = text(place, "http://127.0.0.1:4170", TOLD)
    for line in (
        "- Host: this computer",
        "- Folder: /w",
        "- Qwen Code: 0.24.4",
        "- Daemon: a private one of this window, which ends with it",
        "- files: connected",
        "- web: no way",
        "- batch: bundled",
        "- mine: error",
        "- openai: One (current), two",
        "- node: 22.1.0",
        "- OPENAI_API_KEY: set",
        "- TZ: not set",
        "- HTTPS_PROXY: http://…@proxy:1",
        "- sandbox: warning",
        "- node version: ok, 22.1.0",
        "- auth: error, no key, Set one.",
        "- egress",
    ):
        assert line in shown.splitlines()
    assert KEY not in shown


def test_a_daemon_on_loopback_is_perhaps_elsewhere_unless_it_is_shown_to_be_here():
    """It may be behind a tunnel, in a container or in WSL."""
    place = where(Address("http://127.0.0.1:4170", Token("t")), None, "/w", is_here=False)
    assert (place.host, place.is_local, place.is_known) == ("127.0.0.1:4170, perhaps elsewhere", False, False)
    shown = text(place, "http://127.0.0.1:4170", {})
    assert "those of the machine on which it runs" in shown
    assert "this computer." not in shown.replace("are this computer's.", "")


@pytest.mark.parametrize("sees", [True, False])
async def test_it_is_here_if_it_sees_a_file_that_was_just_written_here(tmp_path: Path, sees: bool):
    project = tmp_path / "project"
    project.mkdir()
    asked: list[str] = []
    async with FakeDaemon().serving() as daemon:

        def stat(request: Request) -> Any:
            name = parse_qs(urlsplit(request.route).query)["path"][0]
            asked.append(name)
            is_there = sees and (project / name).is_file()
            return (200, {"type": "file"}) if is_there else (404, {"error": "no such file"})

        daemon.routes["GET /stat"] = stat
        async with closing(DaemonAgent(daemon.address)) as client:
            assert await client.is_here(str(project)) == sees
            assert not await client.is_here(str(project / "missing"))
    assert list(project.iterdir()) == []
    [name] = asked
    assert re.fullmatch(r"\.qwen-companion-[0-9a-f]{32}", name)


def test_it_is_here_if_a_process_of_ours_listens(monkeypatch: pytest.MonkeyPatch):
    program = (
        "import socket, sys, time; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True)\n"
        "time.sleep(60)"
    )
    # A tunnel's arguments may be the command of the other machine.
    commands = {
        ("/usr/bin/node", "cli.js", "serve"): True,
        ("C:\\nodejs\\Node.exe" if os.name == "nt" else "qwen", "serve", "--port", "4170"): True,
        ("node", "tunnel.js"): False,
        ("ssh", "-L", "4170:localhost:4170", "box", "qwen", "serve"): False,
        (): False,
    }
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            address = Address(f"http://127.0.0.1:{int(process.stdout.readline())}")
            for command, expected in commands.items():
                monkeypatch.setattr(psutil.Process, "cmdline", lambda _, command=command: list(command))
                assert here.listens_here(address) == expected
        finally:
            process.kill()


@pytest.mark.parametrize(("listening", "expected"), [(["ours"], True), (["ours", "another's"], False), ([], False)])
def test_it_is_not_shown_to_be_here_while_somebody_else_listens_there_too(
    monkeypatch: pytest.MonkeyPatch, listening: list[str], expected: bool
):
    """At another address with the same port: nobody says which one answers."""

    def connections(_kind: str) -> list[Any]:
        place = SimpleNamespace(ip="127.0.0.1", port=4170)
        pids = {"ours": os.getpid(), "another's": None}
        return [SimpleNamespace(status=psutil.CONN_LISTEN, laddr=place, pid=pids[whose]) for whose in listening]

    monkeypatch.setattr(psutil, "net_connections", connections)
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: ["node", "cli.js", "serve"])
    assert here.listens_here(Address("http://127.0.0.1:4170")) == expected


def test_another_machine_is_named_and_nothing_of_this_one_is_promised():
    place = where(Address("http://far.example:4170", Token("t")), None, "/there", is_here=False)
    assert (place.host, place.is_local, place.version) == ("far.example", False, "")
    shown = text(place, "http://far.example:4170", {})
    assert "Files, commands, MCP servers, skills and keys are those of far.example" in shown
    assert "Nothing of this computer is available to it." in shown
    assert "Without https, everyone in between can read the token." in shown
    assert "- Daemon: one that was there before" in shown
    assert shown.count(NOT_TOLD) == len(ROUTES) + 1


@pytest.mark.parametrize("answer", [{}, {"servers": "x"}, {"servers": [1, {}]}])
def test_what_is_odd_in_an_answer_is_left_out(answer: dict[str, Any]):
    assert text(Locality(), "http://x", {"/workspace/mcp": answer})


async def test_the_daemon_is_asked_and_what_it_doesnt_have_is_said_so(daemon: FakeDaemon):
    daemon.routes["GET /workspace/mcp"] = 200, {"servers": []}
    async with closing(DaemonAgent(daemon.address)) as client:
        shown = await client.describe(Locality("this computer", "/w"))
    assert shown.count(NOT_TOLD) == len(ROUTES)  # the version is not told either
    assert "## MCP servers\n\nNone.\n" in shown
    assert TOKEN not in shown


TRUST = {"folderTrustEnabled": True, "effective": {"state": "untrusted", "source": "file"}}
RULES = {
    "user": {"rules": {"allow": ["Bash(git *)", "Read\nall"], "ask": [], "deny": ["Bash(rm *)"]}},
    "workspace": {"rules": {"ask": ["Edit"], "allow": 7}},
    "isTrusted": False,
}


def test_trust_and_permission_rules_are_on_the_page_with_whose_they_are():
    shown = text(Locality(), "http://x", {"/workspace/trust": TRUST, "/workspace/permissions": RULES})
    assert "## Trust\n\n- This folder: untrusted, file\n" in shown
    assert shown.endswith(
        "## Permission rules\n\n"
        "- Denied: Bash(rm *), in your settings\n"
        "- Asked about: Edit, in this folder's settings\n"
        "- Allowed: Bash(git *), in your settings\n"
        "- Allowed: Read all, in your settings\n"
        "- This folder's own rules don't count, since it isn't trusted.\n"
    )


def test_a_setting_that_is_off_and_no_rules_are_said():
    off = {"folderTrustEnabled": False, "effective": {"state": "trusted", "source": "disabled"}}
    shown = text(Locality(), "http://x", {"/workspace/trust": off, "/workspace/permissions": {"v": 1}})
    assert "- This folder: trusted, Qwen Code's setting for trusting folders is off\n" in shown
    assert shown.endswith("## Permission rules\n\nNone.\n")
    assert "- This folder: not told, " in text(Locality(), "http://x", {"/workspace/trust": {"effective": 7}})
