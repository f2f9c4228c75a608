"""The requests about the tools are answered without the SDK, exactly as the SDK would."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from companion.server.http import app

from ..conftest import Running
from ..wire import Cli

DIFF = {"filePath": "/nowhere/a.txt", "newContent": "a€\u2028\U0001f600\n"}
PARAMS: list[Any] = [
    {"name": "openDiff", "arguments": DIFF},
    {"name": "openDiff", "arguments": DIFF | {"other": 1}},
    {"name": "openDiff", "arguments": DIFF, "_meta": {"progressToken": 1}},
    {"name": "closeDiff", "arguments": {"filePath": "/nowhere/a.txt"}},
    {"name": "closeDiff", "arguments": {"filePath": "/nowhere/a.txt", "suppressNotification": True}},
    {"name": "closeDiff", "arguments": {"filePath": "/nowhere/b.txt", "suppressNotification": "yes"}},
    {"name": "openDiff", "arguments": {"filePath": "relative", "newContent": 5}},
    {"name": "openDiff", "arguments": {"filePath": "/", "newContent": ""}},
    {"name": "openDiff", "arguments": {"filePath": "/nowhere/\0", "newContent": ""}},
    {"name": "openDiff", "arguments": {}},
    {"name": "openDiff"},
    {"name": "openDiff", "arguments": None},
    {"name": "openDiff", "arguments": []},
    {"name": "OpenDiff", "arguments": DIFF},
    {"name": 5, "arguments": DIFF},
    {"arguments": DIFF},
    {},
    [],
    None,
]
MESSAGES: list[Any] = [
    *({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params} for params in PARAMS),
    *({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params} for params in ({}, {"cursor": "x"}, 5)),
    *({"jsonrpc": "2.0", "id": one, "method": "tools/list"} for one in (1, 0, -1, 2**53, "x", "€", "", "1")),
    *({"jsonrpc": "2.0", "id": one, "method": "tools/list"} for one in (True, None, 1.5, [], {})),
    *({"jsonrpc": "2.0", "id": one, "method": "tools/call", "params": PARAMS[3]} for one in ("x", True, None, 1.5)),
    {"jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": PARAMS[3]},
    {"jsonrpc": "2.0", "method": "tools/list"},
    {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
    {"id": 1, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "other": 1},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/other"},
    [{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}],
    b'{"jsonrpc":"2.0","id":1,"method":"tools/list"',
    b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"openDiff","arguments":{"filePath":"\\ud800"}}}',
    b"\xff",
    b"",
]


def answers(cli: Cli) -> list[tuple[int, dict[str, str], Any]]:
    """The status, the headers and the JSON of each answer."""
    found: list[tuple[int, dict[str, str], Any]] = []
    for message in MESSAGES:
        answer = cli.send(body=message)
        headers = {name: value for name, value in answer.headers.items() if name not in ("date", "mcp-session-id")}
        assert answer.headers.get("mcp-session-id", cli.session) == cli.session
        headers["session"] = "yes" if "mcp-session-id" in answer.headers else "no"
        found.append((answer.status_code, headers, json.loads(answer.text) if answer.text else None))
    return found


@pytest.mark.parametrize("version", HANDSHAKE_PROTOCOL_VERSIONS)
def test_each_answer_is_that_of_the_sdk(running: Running, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    direct = answers(running.cli(version=version).connect())
    with monkeypatch.context() as patch:
        patch.setattr(app, "_is_plain", lambda *_: False)
        through_the_sdk = answers(running.cli(version=version).connect())
    for message, mine, theirs in zip(MESSAGES, direct, through_the_sdk, strict=True):
        assert mine == theirs, message


@pytest.mark.parametrize(
    "headers", [{"content_type": "text/plain"}, {"accept": "text/html"}, {"content_type": None}, {"accept": "*/*"}]
)
def test_other_headers_are_answered_by_the_sdk(
    running: Running, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str | None]
) -> None:
    cli = running.cli().connect()
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    direct = cli.send("POST", "/mcp", request, **headers)
    monkeypatch.setattr(app, "_is_plain", lambda *_: False)
    through_the_sdk = cli.send("POST", "/mcp", request, **headers)
    assert direct.status_code == through_the_sdk.status_code
    assert direct.text == through_the_sdk.text


def test_a_diff_opens_whoever_answers(running: Running, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    paths = [str(project / "a.txt"), str(project / "b.txt")]
    cli = running.cli().connect()
    cli.open_diff(paths[0], "new\n")
    monkeypatch.setattr(app, "_is_plain", lambda *_: False)
    cli.open_diff(paths[1], "new\n")
    for path in paths:
        assert running.diff(path).text == "new\n"


@pytest.mark.parametrize("size", [99, 100, 101, 1000])
def test_a_body_that_was_read_in_vain_goes_to_the_sdk_as_a_whole(
    running: Running, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """The SDK reads it again from its beginning."""
    cli = running.cli().connect()
    monkeypatch.setattr(app, "MAX_BODY", 100)
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'.ljust(size)
    assert cli.send(body=body).status_code == 200
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'.ljust(size)
    assert cli.send(body=body).json()["result"] == {}


def test_a_call_over_the_limit_is_413(start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MAX_BODY", 2000)
    cli = start().cli().connect()
    arguments = {"filePath": "/nowhere/a.txt", "newContent": "x" * 3000}
    assert cli.ask("tools/call", {"name": "openDiff", "arguments": arguments}).status_code == 413


def test_a_call_of_millions_of_parts_is_413_and_not_parsed(start: Callable[[], Running]) -> None:
    cli = start().cli().connect()
    arguments = {"filePath": "/a.py", "newContent": "x", "more": [[]] * 600_000}
    assert cli.ask("tools/call", {"name": "openDiff", "arguments": arguments}).status_code == 413


def test_a_first_request_of_millions_of_parts_is_413_and_not_parsed(start: Callable[[], Running]) -> None:
    """It has no session yet, and would go to the SDK."""
    cli = start().cli()
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    assert cli.ask("initialize", about | {"more": [[]] * 600_000}).status_code == 413


def test_a_call_over_the_limit_that_comes_in_chunks_is_413(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has said how long it will be."""
    monkeypatch.setattr(app, "MAX_BODY", 2000)
    cli = start().cli().connect()
    arguments = {"filePath": "/nowhere/a.txt", "newContent": "x" * 3000}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "openDiff", "arguments": arguments}}
    body = json.dumps(call).encode()
    chunks = (body[at : at + 500] for at in range(0, len(body), 500))
    assert cli.http.post("/mcp", content=chunks, headers=cli.headers()).status_code == 413
