from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from companion.backends.agent import AgentSession
from companion.backends.daemon import client as client_module
from companion.backends.daemon import errors, transport
from companion.backends.daemon.address import DEFAULT_URL, Address, Token, resolve, starts_own
from companion.backends.daemon.client import DaemonAgent
from companion.conversation import failures

from ....parts import closing
from ...fake_daemon import FEATURES, TOKEN, FakeDaemon, Request, faked, run

SESSION = AgentSession(id="s", folder="/w").model_copy(update={"client_id": "c"})


# The address


@pytest.mark.parametrize(
    ("url", "environment", "found"),
    [
        (None, {}, Address(DEFAULT_URL)),
        (" ", {"QWEN_IDE_DAEMON_URL": " ", "QWEN_SERVER_TOKEN": ""}, Address(DEFAULT_URL)),
        (
            None,
            {"QWEN_IDE_DAEMON_URL": "http://h:1/", "QWEN_SERVER_TOKEN": "t"},
            Address("http://h:1", Token("t")),
        ),
        (
            "https://h",
            {"QWEN_IDE_DAEMON_URL": "x", "QWEN_SERVER_TOKEN": "t"},
            Address("https://h", Token("t")),
        ),
        ("http://[::1]:4170", {}, Address("http://[::1]:4170")),
    ],
)
def test_the_address_in_the_settings_comes_before_the_environment_which_alone_has_the_token(
    url: str | None, environment: dict[str, str], found: Address
):
    assert resolve(url=url, environment=environment) == found


@pytest.mark.parametrize(
    ("managed", "url", "environment", "own"),
    [
        (True, "", {}, True),
        (True, " ", {"QWEN_IDE_DAEMON_URL": " "}, True),
        (False, "", {}, False),
        (True, "http://h", {}, False),
        (True, "", {"QWEN_IDE_DAEMON_URL": "http://h"}, False),
    ],
)
def test_a_private_daemon_is_started_where_nothing_names_another(
    managed: bool, url: str, environment: dict[str, str], own: bool
):
    """The chat goes by this, and what the person is told before it is turned on."""
    assert starts_own(managed=managed, url=url, environment=environment) == own


@pytest.mark.parametrize(
    "url",
    ["4170", "ftp://h", "http://", "http://a:secret@h", "http://h:x", "http://h/path", "http://h?q", "http://[::1"],
)
def test_addresses_that_are_refused(url: str):
    with pytest.raises(errors.InvalidAddressError) as raised:
        resolve(url=url, environment={})
    assert "secret" not in str(raised.value)


def test_a_token_that_no_header_can_carry_is_refused():
    with pytest.raises(errors.InvalidAddressError):
        resolve(url=None, environment={"QWEN_SERVER_TOKEN": "a\nb"})


def test_an_address_on_another_machine_says_so():
    assert Address("http://127.0.0.1:1", Token("t")).warning is None
    assert Address("http://localhost:1").warning is None
    assert "read the token" in (Address("http://h:1", Token("t")).warning or "")
    assert "read the token" not in (Address("https://h:1", Token("t")).warning or "read the token")


def test_a_token_doesnt_show_itself():
    address = Address("http://h", Token("secret"))
    assert "secret" not in f"{address!r}{address}{address.token}"
    assert Token("a") == Token("a") != Token("b")
    assert len({Token("a"), Token("a")}) == 1


# The connection


async def test_a_folder_is_found_by_its_real_path(daemon: FakeDaemon, tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    daemon.capabilities("/other", str(tmp_path / "real"))
    async with closing(DaemonAgent(daemon.address)) as client:
        assert await client.connect(str(tmp_path / "link")) == str(tmp_path / "real")
        assert client.capabilities
        assert client.capabilities.version == "1.2.3"
    [request] = daemon.requests
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert "origin" not in request.headers


async def test_a_daemon_that_boots_is_given_time_to_name_its_workspaces(daemon: FakeDaemon):
    answers = iter([(), ({"cwd": "/w"},)])

    def capabilities(_: Request) -> Any:
        return 200, {"features": FEATURES, "workspaceCwd": "/other", "workspaces": next(answers)}

    daemon.routes["GET /capabilities"] = capabilities
    async with closing(DaemonAgent(daemon.address)) as client:
        assert await client.connect("/w") == "/w"


async def test_a_daemon_elsewhere_is_refused(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch):
    daemon.capabilities("/one", "/two")
    async with closing(DaemonAgent(daemon.address)) as client:
        with pytest.raises(errors.DaemonError, match="works in /one, /two, not in /w"):
            await client.connect("/w")
        monkeypatch.setattr(client_module, "BOOT_LIMIT", -1)
        daemon.capabilities("/one", workspaces=[])
        with pytest.raises(errors.DaemonError, match="works in /one, not in /w"):
            await client.connect("/w")


async def test_a_daemon_without_a_needed_feature_is_refused(daemon: FakeDaemon):
    daemon.capabilities("/w", features=["session_create"])
    async with closing(DaemonAgent(daemon.address)) as client:
        with pytest.raises(failures.MissingFeatureError, match="session_events"):
            await client.connect("/w")


@pytest.mark.parametrize("answer", [(404, b"<html>"), (200, b"<html>"), (200, {"hello": 1}), (200, [1]), (302, b"")])
async def test_what_is_no_daemon_is_refused(daemon: FakeDaemon, answer: Any):
    daemon.routes["GET /capabilities"] = answer
    async with closing(DaemonAgent(daemon.address)) as client:
        with pytest.raises(errors.DaemonError, match="is not `qwen serve`"):
            await client.connect("/w")


async def test_no_daemon():
    async with closing(DaemonAgent(Address("http://127.0.0.1:9"))) as client:
        with pytest.raises(errors.TemporaryError, match="No daemon answers") as raised:
            await client.connect("/w")
        assert not raised.value.final
        assert raised.value.__cause__ is None


async def test_a_daemon_that_hangs_or_hangs_up(monkeypatch: pytest.MonkeyPatch):
    async with FakeDaemon().serving() as daemon, closing(DaemonAgent(daemon.address)) as client:
        daemon.routes["GET /x"] = None
        with pytest.raises(failures.StreamLostError):
            await client.page("/x")
        daemon.routes["GET /x"] = 200, b"short", {"Content-Length": "9"}
        with pytest.raises(failures.StreamLostError):
            await client.transport.send("GET", "/x", limit=0.05)
        stream = client.transport.send("GET", "/session/s/events", limit=0.05)
        with pytest.raises(failures.StreamLostError):
            await stream


async def speaking(head: str, part: bytes, pause: float, act: Callable[[DaemonAgent], Awaitable[object]]) -> int:
    """Have something else than a daemon say the same again and again. Returns how many bytes it has got rid of."""
    said = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal said
        # Up to Python 3.11, asyncio logs a callback's task that was cancelled as an error.
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 {head}\r\n".encode())
            while True:
                writer.write(part)
                await writer.drain()
                said += len(part)
                await asyncio.sleep(pause)
        writer.transport.abort()

    server = await asyncio.start_server(speak, "127.0.0.1", 0)
    address = Address(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    async with server, closing(DaemonAgent(address, cursors={"s": None})) as client:
        await act(client)
    return said


@pytest.mark.parametrize("head", ["200 OK\r\n", "404 Not Found\r\n"])
def test_what_never_ends_is_no_daemon(head: str):
    """Nothing that answers fills the plugin host."""

    async def ask(client: DaemonAgent) -> None:
        with pytest.raises(errors.DaemonError, match="is not `qwen serve`"):
            await client.connect("/w")

    assert run(speaking(head, b"x" * 65536, 0, ask)) < 16 * 1024 * 1024


@pytest.mark.parametrize("head", ["200 OK\r\n", "404 Not Found\r\n", "200 OK"])
def test_what_comes_bit_by_bit_has_no_longer_than_what_comes_not_at_all(head: str):
    """The limit holds for the whole answer, its head, too."""

    async def ask(client: DaemonAgent) -> None:
        with pytest.raises(failures.StreamLostError):
            await client.transport.send("GET", "/x", limit=0.2)

    assert run(speaking(head, b"x", 0.02, ask)) < 100


@pytest.mark.parametrize("head", ["404 Not Found\r\n", "200 OK"])
def test_a_stream_that_never_begins(head: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport, "SILENCE_LIMIT", 0.2)
    monkeypatch.setattr(transport, "ANSWER_LIMIT", 0.2)

    async def ask(client: DaemonAgent) -> None:
        with pytest.raises(failures.StreamLostError):
            async with client.events(SESSION):
                pass

    assert run(speaking(head, b"x", 0.02, ask)) < 100


@pytest.mark.parametrize("turns", range(25))
def test_a_client_that_is_closed_while_it_connects_leaves_no_connection(turns: int):
    """`turns` of the loop after the request."""

    async def close(daemon: FakeDaemon) -> None:
        daemon.capabilities("/w")
        sending = transport.Transport(daemon.address)
        request = asyncio.create_task(sending.send("GET", "/capabilities"))
        for _ in range(turns):
            await asyncio.sleep(0)
        await sending.close()
        with contextlib.suppress(failures.StreamLostError):
            await request
        with pytest.raises(failures.StreamLostError):
            await sending.send("GET", "/capabilities")

    faked(close)
    gc.collect()  # once the loop has gone: a warning about what was left open is an error


async def test_an_answer_that_is_too_large_is_refused(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport, "MAX_ANSWER", 2 * 1024 * 1024)
    daemon.capabilities("/w")
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.connect("/w")
        daemon.routes["GET /x"] = 200, {"x": "x" * 2 * 1024 * 1024}
        with pytest.raises(errors.RefusedError, match="has more than 2 MB"):
            await client.page("/x")
        daemon.routes["GET /x"] = 200, {"x": "x" * 1024 * 1024}
        assert len((await client.page("/x"))["x"]) == 1024 * 1024
        daemon.routes["GET /x"] = 200, b"[" * 100_000
        with pytest.raises(errors.TemporaryError, match="doesn't answer as it should"):
            await client.page("/x")


# Refusals


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, {"error": "Unauthorized"}, errors.DaemonError, "refuses the token"),
        (403, {"error": "Invalid Host header"}, errors.DaemonError, "Invalid Host header"),
        (403, {"error": "x", "code": "untrusted_workspace"}, errors.DaemonError, "trust"),
        (
            400,
            {"error": "x", "code": "workspace_mismatch", "boundWorkspace": "/b", "requestedWorkspace": "/r"},
            errors.DaemonError,
            "works in /b, not in /r",
        ),
        (503, {"error": "x", "code": "prompt_queue_full", "limit": 5}, errors.TemporaryError, "takes 5"),
        (503, {"error": "x", "code": "prompt_queue_full"}, errors.TemporaryError, "queue is full"),
        (503, {"error": "session limit", "code": "session_limit_exceeded"}, errors.TemporaryError, "session limit"),
        (404, {"error": "x", "code": "session_not_found"}, failures.SessionGoneError, "doesn't run this session"),
        (404, {"error": "No session", "sessionId": "s"}, failures.SessionGoneError, "doesn't run this session"),
        (404, b"<html>Cannot POST</html>", failures.MissingFeatureError, "can't do that"),
        (409, {"error": "There.", "code": "conflict"}, errors.RefusedError, "409\\): There\\."),
        (500, {"error": "Internal", "code": -32603, "data": {"details": "no model"}}, errors.RefusedError, "no model"),
        (500, {}, errors.RefusedError, "doesn't say why"),
        (500, {"error": "x" * 999}, errors.RefusedError, "x…"),
        (500, {"error": f"bad {TOKEN}"}, errors.RefusedError, "bad …"),
        (500, b"oops", errors.TemporaryError, "\\(500\\)"),
        (502, b"<html>Bad Gateway</html>", errors.TemporaryError, "\\(502\\)"),
        (502, {"error": "upstream"}, errors.TemporaryError, "upstream"),
        (202, b"<html>Sign in</html>", errors.TemporaryError, "\\(200\\)"),
    ],
)
async def test_refusals_say_what_to_do(
    daemon: FakeDaemon, status: int, body: Any, kind: type[failures.ChatError], words: str
):
    daemon.capabilities("/w")
    daemon.routes["POST /session/s/prompt"] = status, body
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.connect("/w")
        with pytest.raises(kind, match=words) as raised:
            await client.prompt(SESSION, [])
        assert type(raised.value) is kind
        assert TOKEN not in f"{raised.value!r} {raised.value}"
        assert str(raised.value).endswith(".")


async def test_a_missing_token_is_asked_for(daemon: FakeDaemon):
    daemon.routes["GET /x"] = 401, b""
    async with closing(DaemonAgent(Address(daemon.address.url))) as client:
        with pytest.raises(errors.DaemonError, match="wants a token"):
            await client.page("/x")
    assert "authorization" not in daemon.requests[0].headers


async def test_how_long_to_wait(daemon: FakeDaemon):
    daemon.routes["GET /x"] = 429, {"error": "slow down"}, {"Retry-After": "5"}
    daemon.routes["GET /y"] = 429, b"", {"Retry-After": "soon"}
    async with closing(DaemonAgent(daemon.address)) as client:
        with pytest.raises(errors.TemporaryError) as raised:
            await client.page("/x")
        assert raised.value.retry_after == 5
        with pytest.raises(errors.TemporaryError) as raised:
            await client.page("/y")
        assert raised.value.retry_after is None
        for text, least, most in (
            (formatdate(time.time() + 20, usegmt=True), 17, 20),
            (formatdate(time.time() - 20, usegmt=True), 0, 0),
            ("-5", None, None),
            ("9" * 400, float("inf"), float("inf")),
        ):
            daemon.routes["GET /x"] = 429, {"error": "slow down"}, {"Retry-After": text}
            with pytest.raises(errors.TemporaryError) as raised:
                await client.page("/x")
            wait = raised.value.retry_after
            assert (wait is None) if least is None else (wait is not None and least <= wait <= (most or 0))
