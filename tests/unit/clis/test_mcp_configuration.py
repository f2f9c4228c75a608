"""What is copied for a CLI names the script, wherever that is."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib

import pytest

from companion.clis.mcp_configuration import CLIENTS, configuration

CLIENT = {client.key: client for client in CLIENTS}
PATHS = ["/home/ada/bridge.mjs", '/home/😀 é/it\'s "so"/$HOME `id` \\x/br\x7fidge.mjs']


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cli", ["qwen", "gemini", "claude"])
def test_json_has_the_path_as_it_is(cli: str, path: str):
    [server] = json.loads(configuration(CLIENT[cli], path))["mcpServers"].values()
    assert server["args"] == [path, CLIENT[cli].name]


@pytest.mark.parametrize("path", PATHS)
def test_toml_has_the_path_as_it_is(path: str):
    [server] = tomllib.loads(configuration(CLIENT["codex"], path))["mcp_servers"].values()
    assert server == {"command": "node", "args": [path, "Codex"]}


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cli", ["qwen", "gemini"])
def test_a_shell_takes_the_path_of_a_hook_as_it_is(cli: str, path: str):
    command = _hook(cli, path)
    words = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {command}"], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert words.stdout.splitlines() == ["node", path, "--hook"]


def test_a_shell_of_windows_takes_the_path_of_a_hook_as_it_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "win32")
    path = r"C:\Users\Ada B\bridge.mjs"
    assert _hook("qwen", path) == rf'node "{path}" --hook'


def _hook(cli: str, path: str) -> str:
    [[entry]] = json.loads(configuration(CLIENT[cli], path, with_hook=True))["hooks"].values()
    return entry["hooks"][0]["command"]
