from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from companion.backends.daemon import client as client_module
from companion.backends.daemon import errors, transport
from companion.backends.daemon.address import DEFAULT_URL, Address, Token, resolve, starts_own
from companion.backends.daemon.client import Client
from companion.backends.daemon.errors import DaemonError
from companion.backends.sessions import Session, SessionPage
from companion.chat import prompt
from companion.conversation.history import Cursor
from companion.conversation.snapshot import ContextWindow, Queued

from ..fake_daemon import FEATURES, TOKEN, FakeDaemon, Request, faked, run

SESSION = Session.known("s", "/w").model_copy(update={"client_id": "c"})


# The address


@pytest.mark.parametrize(
    ("url", "token", "environment", "found"),
    [
        (None, None, {}, Address(DEFAULT_URL)),
        (" ", "", {"QWEN_IDE_DAEMON_URL": " ", "QWEN_SERVER_TOKEN": ""}, Address(DEFAULT_URL)),
        (
            None,
            None,
            {"QWEN_IDE_DAEMON_URL": "http://h:1/", "QWEN_SERVER_TOKEN": "t"},
            Address("http://h:1", Token("t")),
        ),
        (
            "https://h",
            "mine",
            {"QWEN_IDE_DAEMON_URL": "x", "QWEN_SERVER_TOKEN": "t"},
            Address("https://h", Token("mine")),
        ),
        ("http://[::1]:4170", None, {}, Address("http://[::1]:4170")),
    ],
)
def test_settings_come_before_the_environment(
    url: str | None, token: str | None, environment: dict[str, str], found: Address
):
    assert resolve(url=url, token=token, environment=environment) == found


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
        resolve(url=url, token=None, environment={})
    assert "secret" not in str(raised.value)


def test_a_token_that_no_header_can_carry_is_refused():
    with pytest.raises(errors.InvalidAddressError):
        resolve(url=None, token="a\nb", environment={})


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


def test_a_folder_is_found_by_its_real_path(tmp_path: Path):
    async def test(daemon: FakeDaemon) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        daemon.capabilities("/other", str(tmp_path / "real"))
        async with Client(daemon.address) as client:
            assert await client.connect(str(tmp_path / "link")) == str(tmp_path / "real")
            assert client.capabilities
            assert client.capabilities.version == "1.2.3"
        [request] = daemon.requests
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert "origin" not in request.headers

    faked(test)


def test_a_daemon_that_boots_is_given_time_to_name_its_workspaces():
    async def test(daemon: FakeDaemon) -> None:
        answers = iter([(), ({"cwd": "/w"},)])

        def capabilities(_: Request) -> Any:
            return 200, {"features": FEATURES, "workspaceCwd": "/other", "workspaces": next(answers)}

        daemon.routes["GET /capabilities"] = capabilities
        async with Client(daemon.address) as client:
            assert await client.connect("/w") == "/w"

    faked(test)


def test_a_daemon_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch):
    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/one", "/two")
        async with Client(daemon.address) as client:
            with pytest.raises(errors.WorkspaceMismatchError, match="/one, /two") as raised:
                await client.connect("/w")
            assert raised.value.bound == ("/one", "/two")
            monkeypatch.setattr(client_module, "BOOT_LIMIT", -1)
            daemon.capabilities("/one", workspaces=[])
            with pytest.raises(errors.WorkspaceMismatchError):
                await client.connect("/w")

    faked(test)


def test_a_daemon_without_a_needed_feature_is_refused():
    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/w", features=["session_create"])
        async with Client(daemon.address) as client:
            with pytest.raises(errors.MissingFeatureError, match="session_events"):
                await client.connect("/w")

    faked(test)


@pytest.mark.parametrize("answer", [(404, b"<html>"), (200, b"<html>"), (200, {"hello": 1}), (200, [1]), (302, b"")])
def test_what_is_no_daemon_is_refused(answer: Any):
    async def test(daemon: FakeDaemon) -> None:
        daemon.routes["GET /capabilities"] = answer
        async with Client(daemon.address) as client:
            with pytest.raises(errors.NotADaemonError):
                await client.connect("/w")

    faked(test)


def test_no_daemon():
    async def test() -> None:
        async with Client(Address("http://127.0.0.1:9")) as client:
            with pytest.raises(errors.UnreachableError, match="No daemon answers") as raised:
                await client.connect("/w")
            assert not raised.value.final
            assert raised.value.__cause__ is None

    run(test())


def test_a_daemon_that_hangs_or_hangs_up(monkeypatch: pytest.MonkeyPatch):
    async def test(daemon: FakeDaemon) -> None:
        async with Client(daemon.address) as client:
            daemon.routes["GET /x"] = None
            with pytest.raises(errors.StreamLostError):
                await client.page("/x")
            daemon.routes["GET /x"] = 200, b"short", {"Content-Length": "9"}
            with pytest.raises(errors.StreamLostError):
                await client._routes.transport.send("GET", "/x", limit=0.05)
            stream = client._routes.transport.send("GET", "/session/s/events", limit=0.05)
            with pytest.raises(errors.StreamLostError):
                await stream

    faked(test)


async def speaking(head: str, part: bytes, pause: float, act: Callable[[Client], Awaitable[object]]) -> int:
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
    async with server, Client(Address(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")) as client:
        await act(client)
    return said


@pytest.mark.parametrize("head", ["200 OK\r\n", "404 Not Found\r\n"])
def test_what_never_ends_is_no_daemon(head: str):
    """Nothing that answers fills the plugin host."""

    async def ask(client: Client) -> None:
        with pytest.raises(errors.NotADaemonError):
            await client.connect("/w")

    assert run(speaking(head, b"x" * 65536, 0, ask)) < 16 * 1024 * 1024


@pytest.mark.parametrize("head", ["200 OK\r\n", "404 Not Found\r\n", "200 OK"])
def test_what_comes_bit_by_bit_has_no_longer_than_what_comes_not_at_all(head: str):
    """The limit holds for the whole answer, its head, too."""

    async def ask(client: Client) -> None:
        with pytest.raises(errors.StreamLostError):
            await client._routes.transport.send("GET", "/x", limit=0.2)

    assert run(speaking(head, b"x", 0.02, ask)) < 100


@pytest.mark.parametrize("head", ["404 Not Found\r\n", "200 OK"])
def test_a_stream_that_never_begins(head: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport, "SILENCE_LIMIT", 0.2)
    monkeypatch.setattr(transport, "ANSWER_LIMIT", 0.2)

    async def ask(client: Client) -> None:
        with pytest.raises(errors.StreamLostError):
            async with client.events(SESSION, None):
                pass

    assert run(speaking(head, b"x", 0.02, ask)) < 100


def test_an_answer_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(transport, "MAX_ANSWER", 2 * 1024 * 1024)

    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/w")
        async with Client(daemon.address) as client:
            await client.connect("/w")
            daemon.routes["GET /x"] = 200, {"x": "x" * 2 * 1024 * 1024}
            with pytest.raises(errors.RefusedError, match="has more than 2 MB"):
                await client.page("/x")
            daemon.routes["GET /x"] = 200, {"x": "x" * 1024 * 1024}
            assert len((await client.page("/x"))["x"]) == 1024 * 1024
            daemon.routes["GET /x"] = 200, b"[" * 100_000
            with pytest.raises(errors.TroubleError):
                await client.page("/x")

    faked(test)


# Refusals


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, {"error": "Unauthorized"}, errors.UnauthorizedError, "refuses the token"),
        (403, {"error": "Invalid Host header"}, errors.ForbiddenError, "Invalid Host header"),
        (403, {"error": "x", "code": "untrusted_workspace"}, errors.UntrustedWorkspaceError, "trust"),
        (
            400,
            {"error": "x", "code": "workspace_mismatch", "boundWorkspace": "/b", "requestedWorkspace": "/r"},
            errors.WorkspaceMismatchError,
            "works in /b, not in /r",
        ),
        (503, {"error": "x", "code": "prompt_queue_full", "limit": 5}, errors.QueueFullError, "takes 5"),
        (503, {"error": "x", "code": "prompt_queue_full"}, errors.QueueFullError, "queue is full"),
        (503, {"error": "session limit", "code": "session_limit_exceeded"}, errors.BusyError, "session limit"),
        (404, {"error": "x", "code": "session_not_found"}, errors.SessionGoneError, "doesn't run this session"),
        (404, {"error": "No session", "sessionId": "s"}, errors.SessionGoneError, "doesn't run this session"),
        (404, b"<html>Cannot POST</html>", errors.MissingFeatureError, "can't do that"),
        (409, {"error": "There.", "code": "conflict"}, errors.RefusedError, "409\\): There\\."),
        (500, {"error": "Internal", "code": -32603, "data": {"details": "no model"}}, errors.RefusedError, "no model"),
        (500, {}, errors.RefusedError, "doesn't say why"),
        (500, {"error": "x" * 999}, errors.RefusedError, "x…"),
        (500, {"error": f"bad {TOKEN}"}, errors.RefusedError, "bad …"),
        (500, b"oops", errors.TroubleError, "\\(500\\)"),
        (502, b"<html>Bad Gateway</html>", errors.TroubleError, "\\(502\\)"),
        (502, {"error": "upstream"}, errors.BusyError, "upstream"),
        (202, b"<html>Sign in</html>", errors.TroubleError, "\\(200\\)"),
    ],
)
def test_refusals_say_what_to_do(status: int, body: Any, kind: type[DaemonError], words: str):
    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/w")
        daemon.routes["POST /session/s/prompt"] = status, body
        async with Client(daemon.address) as client:
            await client.connect("/w")
            with pytest.raises(kind, match=words) as raised:
                await client.prompt(SESSION, [])
            assert type(raised.value) is kind
            assert TOKEN not in f"{raised.value!r} {raised.value}"
            assert str(raised.value).endswith(".")

    faked(test)


def test_a_missing_token_is_asked_for():
    async def test(daemon: FakeDaemon) -> None:
        daemon.routes["GET /x"] = 401, b""
        async with Client(Address(daemon.address.url)) as client:
            with pytest.raises(errors.UnauthorizedError, match="wants a token"):
                await client.page("/x")
        assert "authorization" not in daemon.requests[0].headers

    faked(test)


def test_how_long_to_wait():
    async def test(daemon: FakeDaemon) -> None:
        daemon.routes["GET /x"] = 429, {"error": "slow down"}, {"Retry-After": "5"}
        daemon.routes["GET /y"] = 429, b"", {"Retry-After": "soon"}
        async with Client(daemon.address) as client:
            with pytest.raises(errors.BusyError) as raised:
                await client.page("/x")
            assert raised.value.retry_after == 5
            with pytest.raises(errors.BusyError) as raised:
                await client.page("/y")
            assert raised.value.retry_after is None
            for text, least, most in (
                (formatdate(time.time() + 20, usegmt=True), 17, 20),
                (formatdate(time.time() - 20, usegmt=True), 0, 0),
                ("-5", None, None),
                ("9" * 400, float("inf"), float("inf")),
            ):
                daemon.routes["GET /x"] = 429, {"error": "slow down"}, {"Retry-After": text}
                with pytest.raises(errors.BusyError) as raised:
                    await client.page("/x")
                wait = raised.value.retry_after
                assert (wait is None) if least is None else (wait is not None and least <= wait <= (most or 0))

    faked(test)


# Routes


def test_what_the_routes_send():
    async def test(daemon: FakeDaemon) -> None:
        client_id = {"sessionId": "s", "workspaceCwd": "/w", "clientId": "c", "attached": True}
        daemon.routes |= {
            "POST /session": (200, client_id),
            "POST /session/s/prompt": (202, {"promptId": "p"}),
            "POST /session/s/cancel": (204, None),
            "POST /session/s/model": (200, {}),
            "POST /session/s/approval-mode": (200, {}),
            "POST /session/s/detach": (204, None),
            "POST /session/s/mid-turn-message": (200, {"accepted": False}),
            "POST /session/s/permission/r%2F1": (200, {}),
            "DELETE /session/s/pending-prompts/p": (200, {"removed": True}),
            "PATCH /session/s/metadata": (200, {}),
            "GET /session/s/export": (200, b"# text"),
            "GET /session/s/context-usage": (200, {"usage": {"totalTokens": 1, "contextWindowSize": 2}}),
        }
        async with Client(daemon.address) as client:
            assert (await client.create("/w", scope="thread", mode="plan")).client_id == "c"
            assert await client.prompt(SESSION, [prompt.text("\ud800")]) == "p"
            await client.cancel(SESSION)
            await client.options.switch_model(SESSION, "m")
            await client.options.switch_mode(SESSION, "plan")
            await client.detach(SESSION)
            assert not await client.steering.inject(SESSION, "left")
            await client.answer(SESSION, "r/1", "once", {"0": "A"})
            await client.answer(SESSION, "r/1", None)
            assert await client.steering.dequeue(SESSION, "p")
            await client.catalog.rename(SESSION, "T")
            assert await client.catalog.export(SESSION, "md") == "# text"
            assert await client.queries.window(SESSION) == ContextWindow(2, 1)
        bodies = {request.route: request.body for request in daemon.requests}
        assert bodies["/session"] == {
            "cwd": "/w",
            "sessionScope": "thread",
            "approvalMode": "plan",
            "sourceType": "sublime",
        }
        assert bodies["/session/s/model"] == {"modelId": "m"}
        votes = [request.body for request in daemon.asked("POST /session/s/permission")]
        assert votes == [
            {"outcome": {"outcome": "selected", "optionId": "once"}, "answers": {"0": "A"}},
            {"outcome": {"outcome": "cancelled"}},
        ]
        assert {request.headers.get("x-qwen-client-id") for request in daemon.requests[1:]} == {"c"}

    faked(test)


def test_votes_that_come_too_late_or_by_the_older_route():
    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/w", features=[each for each in FEATURES if each != "session_permission_vote"])
        async with Client(daemon.address) as client:
            await client.connect("/w")
            daemon.routes["POST /permission/r"] = 404, {"error": "No pending permission request"}
            with pytest.raises(errors.AlreadyAnsweredError):
                await client.answer(SESSION, "r", "once")
            daemon.routes["POST /permission/r"] = 404, {"error": "Not pending", "sessionId": "s", "requestId": "r"}
            with pytest.raises(errors.AlreadyAnsweredError):
                await client.answer(SESSION, "r", "once")
            daemon.routes["POST /permission/r"] = 400, {"error": "x", "code": "invalid_option_id"}
            with pytest.raises(errors.RefusedError) as raised:
                await client.answer(SESSION, "r", "once")
            assert raised.value.code == "invalid_option_id"
            assert await client.queries.window(SESSION) is None
            assert await client.options.choices(SESSION) is None

    faked(test)


def test_no_proxy_of_the_environment_comes_between_us_and_this_machine(monkeypatch: pytest.MonkeyPatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)

    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/w")
        async with Client(daemon.address) as client:
            assert await client.connect("/w") == "/w"

    faked(test)


def test_the_list_of_sessions_comes_in_pages():
    async def test(daemon: FakeDaemon) -> None:
        def sessions(request: Request) -> Any:
            if "cursor=a%2Fb" in request.route:
                return 200, {"sessions": [{"sessionId": "2"}], "nextCursor": "a/b"}
            return 200, {"sessions": [{"sessionId": "1", "displayName": None, "isPinned": True}], "nextCursor": "a/b"}

        daemon.capabilities("/w", features=[*FEATURES, "session_organization", "session_archive"])
        daemon.routes["GET /workspace/%2Fw/sessions"] = sessions
        async with Client(daemon.address) as client:
            await client.connect("/w")
            first = await client.sessions.list("/w")
            assert [(each.id, each.is_pinned) for each in first.sessions] == [("1", True)]
            last = await client.sessions.list("/w", first.cursor)
            assert ([each.id for each in last.sessions], last.cursor) == (["2"], "")
            await client.catalog.archived("/w")
        queries = [request.route.partition("?")[2] for request in daemon.asked("GET /workspace/%2Fw/sessions")]
        assert queries == [
            "size=50&view=organized",
            "size=50&cursor=a%2Fb&view=organized",
            "size=50&archiveState=archived&view=organized",
        ]

    faked(test)


def test_a_daemon_without_an_order_of_its_own_is_not_asked_for_one():
    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/w")
        daemon.routes["GET /workspace/%2Fw/sessions"] = 200, {}
        async with Client(daemon.address) as client:
            await client.connect("/w")
            assert await client.sessions.list("/w") == SessionPage(())
            assert daemon.asked("GET /workspace/%2Fw/sessions")[0].route.endswith("?size=50")
            for act in (
                lambda: client.catalog.archived("/w"),
                lambda: client.catalog.archive(SESSION, is_archived=True),
                lambda: client.catalog.pin(SESSION, is_pinned=True),
                lambda: client.catalog.export(SESSION, "md", is_archived=True),
                lambda: client.catalog.search("/w", "cats"),
            ):
                with pytest.raises(errors.MissingFeatureError, match="This Qwen Code can't do that"):
                    await act()

    faked(test)


def test_sessions_are_searched_archived_pinned_and_exported_from_the_archive():
    async def test(daemon: FakeDaemon) -> None:
        more = ["session_organization", "session_archive", "workspace_archived_session_export", *QUALIFIED]
        daemon.capabilities("/first", "/w", features=[*FEATURES, *more])
        found = {"results": [{"session": {"sessionId": "1"}, "snippet": "about cats"}, {"session": 7}, 8]}
        refused = {"errors": [{"error": "it is in use"}]}
        daemon.routes |= {
            "GET /workspace/%2Fw/sessions/search": (200, found),
            "POST /workspaces/%2Fw/sessions/archive": (200, {"archived": ["s"], "errors": []}),
            "POST /workspaces/%2Fw/sessions/unarchive": (200, refused),
            "PATCH /workspaces/%2Fw/session/s/organization": (200, {}),
            "GET /workspaces/%2Fw/session/s/archive/export": (200, b"archived"),
        }
        async with Client(daemon.address) as client:
            await client.connect("/w")
            assert [(each.session.id, each.snippet) for each in await client.catalog.search("/w", "cats " * 100)] == [
                ("1", "about cats")
            ]
            [request] = daemon.asked("GET /workspace/%2Fw/sessions/search")
            assert len(request.route.partition("q=")[2].partition("&")[0]) == 200
            await client.catalog.archive(SESSION, is_archived=True)
            assert daemon.requests[-1].body == {"sessionIds": ["s"]}
            with pytest.raises(errors.RefusedError, match="it is in use"):
                await client.catalog.archive(SESSION, is_archived=False)
            await client.catalog.pin(SESSION, is_pinned=True)
            assert daemon.requests[-1].body == {"isPinned": True}
            assert await client.catalog.export(SESSION, "md", is_archived=True) == "archived"

    faked(test)


QUALIFIED = ["workspace_qualified_rest_core", "workspace_session_export"]


@pytest.mark.parametrize("features", [QUALIFIED, []])
def test_a_folder_that_is_not_the_daemons_primary_one_is_named_in_the_routes(features: list[str]):
    """`@` files, checks and export are the session's own."""

    async def test(daemon: FakeDaemon) -> None:
        daemon.capabilities("/first", "/w", features=[*FEATURES, *features])
        daemon.routes |= {
            "GET /stat": (200, {"type": "file"}),
            "GET /glob": (200, {"matches": ["primary.py"]}),
            "GET /workspace/mcp": (200, {"servers": "primary"}),
            "GET /session/s/export": (200, b"primary"),
            "POST /sessions/delete": (200, {"removed": ["primary"]}),
            "DELETE /session/s": (404, {"error": "x", "code": "session_not_found"}),
            "GET /workspaces/%2Fw/stat": (200, {"type": "file"}),
            "GET /workspaces/%2Fw/glob": (200, {"matches": ["own.py"]}),
            "GET /workspaces/%2Fw/mcp": (200, {"servers": "own"}),
            "GET /workspaces/%2Fw/session/s/export": (200, b"own"),
            "POST /workspaces/%2Fw/sessions/delete": (200, {"removed": ["s"]}),
        }
        async with Client(daemon.address) as client:
            await client.connect("/w")
            assert await client.files.is_file("own.py") == bool(features)
            asks = (
                lambda: client.files.glob("*", 5),
                lambda: client.page("/workspace/mcp"),
                lambda: client.catalog.export(SESSION, "md"),
                lambda: client.sessions.delete(SESSION),
            )
            if features:
                assert [await ask() for ask in asks] == [["own.py"], {"servers": "own"}, "own", None]
                with pytest.raises(errors.DaemonError):
                    await client.page("/workspace/env")
            else:
                for ask in asks:
                    with pytest.raises(errors.MissingFeatureError):
                        await ask()
            unqualified = ("GET /stat", "GET /glob", "GET /workspace/", "GET /session/s/export", "POST /sessions")
            assert [route for route in unqualified if daemon.asked(route)] == []
            await client.connect("/first")
            assert await client.files.glob("*", 5) == ["primary.py"]

    faked(test)


def test_a_session_is_deleted_whether_it_runs_or_not():
    async def test(daemon: FakeDaemon) -> None:
        daemon.routes["DELETE /session/s"] = 404, {"error": "x", "code": "session_not_found"}
        daemon.routes["POST /sessions/delete"] = 200, {"removed": ["s"], "errors": []}
        async with Client(daemon.address) as client:
            await client.sessions.delete(SESSION)
            daemon.routes["POST /sessions/delete"] = 200, {"errors": [{"error": "in use"}]}
            with pytest.raises(errors.RefusedError, match="in use"):
                await client.sessions.delete(SESSION)

    faked(test)


def test_a_session_is_loaded_with_its_queue():
    async def test(daemon: FakeDaemon) -> None:
        loaded = {"sessionId": "s", "clientId": "new", "lastEventId": 3, "eventEpoch": "e", "hasActivePrompt": True}
        chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
        event = {"type": "session_update", "id": 3, "data": {"update": chunk}}
        daemon.routes["POST /session/s/load"] = 200, loaded | {"compactedReplay": [event], "liveJournal": None}
        pending = [
            {"promptId": "p", "text": "a", "state": "running"},
            {"promptId": "q", "text": "b", "state": "queued", "originatorClientId": "c"},
        ]
        daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": pending}
        async with Client(daemon.address) as client:
            session, history = await client.load(SESSION)
            assert session.client_id == "new"
            assert (history.cursor, history.is_running, len(history.envelopes)) == (Cursor("e", 3), True, 1)
            assert history.queue == (Queued("q", "b", "c"),)
            daemon.routes["POST /session/s/load"] = 200, {"sessionId": "s"}
            with pytest.raises(errors.RefusedError, match="can't be read"):
                await client.load(SESSION)

    faked(test)


def test_the_cursor_goes_with_its_epoch(caplog: pytest.LogCaptureFixture):
    async def test(daemon: FakeDaemon) -> None:
        async with Client(daemon.address) as client:
            for cursor in (None, Cursor("e", 7), Cursor("", 7)):
                async with client.events(SESSION, cursor) as stream:
                    (await daemon.streams.get()).send("replay_complete")
                    assert stream.epoch == "e"
                    assert await anext(stream.envelopes)
            daemon.routes["GET /events"] = 429, {"error": "too many"}
            with pytest.raises(errors.BusyError):
                async with client.events(SESSION, None):
                    pass
        sent = [(each.headers["last-event-id"], each.headers.get("x-qwen-event-epoch")) for each in daemon.requests]
        assert sent == [("0", None), ("7", "e"), ("7", None), ("0", None)]

    caplog.set_level(logging.DEBUG)
    faked(test)
    assert TOKEN not in caplog.text


def test_no_generator_of_a_stream_is_left_to_the_garbage_collector():
    """It would end those of one stream at the same time, and each waits for the next."""

    async def test(daemon: FakeDaemon) -> None:
        left: list[str] = []
        hooks = sys.get_asyncgen_hooks()
        end = hooks.finalizer
        assert end

        def collected(generator: Any) -> None:
            left.append(generator.__qualname__)
            end(generator)

        async def read_one(client: Client) -> None:
            async with client.events(SESSION, None) as stream:
                there = await daemon.streams.get()
                there.say(1, "one")
                there.say(2, "two")
                async for _ in stream.envelopes:
                    return

        sys.set_asyncgen_hooks(finalizer=collected)
        try:
            async with Client(daemon.address) as client:
                await read_one(client)
                gc.collect()
        finally:
            sys.set_asyncgen_hooks(*hooks)
        assert "_frames" not in left
        assert "Response.aiter_raw" not in left

    faked(test)


def test_a_message_for_a_turn_whose_answer_is_lost_is_looked_for_by_its_id():
    async def test(daemon: FakeDaemon) -> None:
        daemon.routes["POST /session/s/mid-turn-message"] = None
        async with Client(daemon.address) as client:
            for answer in (
                lambda own: {"messages": [{"messageId": own}], "settledMessageIds": [], "promotedMessageIds": []},
                lambda own: {"messages": [{}], "settledMessageIds": ["x", own]},
                lambda own: {"promotedMessageIds": [own], "settledMessageIds": None},
            ):

                def found(_: Request, answer: Any = answer) -> Any:
                    return 200, answer(daemon.asked("POST")[-1].body["messageId"])

                daemon.routes["GET /session/s/mid-turn-messages"] = found
                assert await client.steering.inject(SESSION, "wait") == daemon.asked("POST")[-1].body["messageId"]
            for other in ((200, {"settledMessageIds": ["x", 7]}), (404, b"<html>"), None):
                daemon.routes["GET /session/s/mid-turn-messages"] = other
                with pytest.raises(errors.StreamLostError):
                    await client.steering.inject(SESSION, "wait")

    faked(test)


def test_a_silent_an_endless_and_a_broken_stream(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.backends.daemon.sse.MAX_EVENT", 100)

    async def test(daemon: FakeDaemon) -> None:
        async with Client(daemon.address) as client:
            for act, words, limit in (
                # To open the stream takes its time, too, on a busy machine.
                (lambda stream: None, "silent", 3),
                (lambda stream: stream.raw("data: " + "x" * 200), "too large", 60),
                (lambda stream: stream.cut(), "has gone", 60),
            ):
                monkeypatch.setattr(transport, "SILENCE_LIMIT", limit)
                async with client.events(SESSION, None) as stream:
                    act(await daemon.streams.get())
                    with pytest.raises(errors.StreamLostError, match=words):
                        await anext(stream.envelopes)

    faked(test)


def test_the_parts_of_a_prompt():
    assert prompt.text("a") == {"type": "text", "text": "a"}
    assert prompt.mention("/w/a b.py") == {"type": "resource_link", "uri": "file:///w/a b.py", "name": "a b.py"}
    assert prompt.excerpt("file:///x", "y")["resource"] == {"uri": "file:///x", "text": "y", "mimeType": "text/plain"}
    assert prompt.picture(b"\0", "image/png") == {"type": "image", "mimeType": "image/png", "data": "AA=="}
