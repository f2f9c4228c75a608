"""What the daemon's client asks, and what it makes of the answers."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from companion.backends.agent import SessionPage
from companion.backends.daemon import decoder, errors, transport
from companion.backends.daemon.address import Address
from companion.backends.daemon.client import DaemonAgent, pattern
from companion.backends.daemon.decoder import EventCursor, decode
from companion.chats import prompt
from companion.conversation import failures
from companion.conversation.events import Envelope
from companion.conversation.snapshot import ContextWindow, Queued

from ....parts import closing
from ...fake_daemon import FEATURES, TOKEN, FakeDaemon, Request, faked
from .test_daemon_client import SESSION
from .test_daemon_events import SESSION as RECORDED

# Routes


async def test_what_the_routes_send(daemon: FakeDaemon):
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
    async with closing(DaemonAgent(daemon.address)) as client:
        assert (await client.create("/w")).client_id == "c"
        assert await client.prompt(SESSION, [prompt.text_block("\ud800")]) == "p"
        await client.cancel(SESSION)
        await client.switch(SESSION, "model", "m")
        await client.switch(SESSION, "mode", "plan")
        await client.detach(SESSION)
        assert not await client.inject(SESSION, "left")
        await client.answer(SESSION, "r/1", "once", {"0": "A"})
        await client.answer(SESSION, "r/1", None)
        assert await client.dequeue(SESSION, "p")
        await client.rename_session(SESSION, "T")
        assert await client.export_session(SESSION, "md") == "# text"
        assert await client.context_window(SESSION) == ContextWindow(2, 1)
    bodies = {request.route: request.body for request in daemon.requests}
    assert bodies["/session"] == {"cwd": "/w", "sessionScope": "thread", "sourceType": "sublime"}
    assert bodies["/session/s/model"] == {"modelId": "m"}
    votes = [request.body for request in daemon.asked("POST /session/s/permission")]
    assert votes == [
        {"outcome": {"outcome": "selected", "optionId": "once"}, "answers": {"0": "A"}},
        {"outcome": {"outcome": "cancelled"}},
    ]
    assert {request.headers.get("x-qwen-client-id") for request in daemon.requests[1:]} == {"c"}


async def test_votes_that_come_too_late_or_by_the_older_route(daemon: FakeDaemon):
    daemon.capabilities("/w", features=[each for each in FEATURES if each != "session_permission_vote"])
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.connect("/w")
        daemon.routes["POST /permission/r"] = 404, {"error": "No pending permission request"}
        with pytest.raises(failures.AlreadyAnsweredError):
            await client.answer(SESSION, "r", "once")
        daemon.routes["POST /permission/r"] = 404, {"error": "Not pending", "sessionId": "s", "requestId": "r"}
        with pytest.raises(failures.AlreadyAnsweredError):
            await client.answer(SESSION, "r", "once")
        daemon.routes["POST /permission/r"] = 400, {"error": "x", "code": "invalid_option_id"}
        with pytest.raises(errors.RefusedError) as raised:
            await client.answer(SESSION, "r", "once")
        assert raised.value.status == 400
        assert await client.context_window(SESSION) is None
        assert await client.choices(SESSION) is None


async def test_no_proxy_of_the_environment_comes_between_us_and_this_machine(
    daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    daemon.capabilities("/w")
    async with closing(DaemonAgent(daemon.address)) as client:
        assert await client.connect("/w") == "/w"


async def test_the_list_of_sessions_comes_in_pages():
    async with FakeDaemon().serving() as daemon:

        def sessions(request: Request) -> Any:
            if "cursor=a%2Fb" in request.route:
                return 200, {"sessions": [{"sessionId": "2"}], "nextCursor": "a/b"}
            return 200, {"sessions": [{"sessionId": "1", "displayName": None, "isPinned": True}], "nextCursor": "a/b"}

        daemon.capabilities("/w", features=[*FEATURES, "session_organization", "session_archive"])
        daemon.routes["GET /workspace/%2Fw/sessions"] = sessions
        async with closing(DaemonAgent(daemon.address)) as client:
            await client.connect("/w")
            first = await client.list_sessions("/w")
            assert [(each.id, each.is_pinned) for each in first.sessions] == [("1", True)]
            last = await client.list_sessions("/w", first.cursor)
            assert ([each.id for each in last.sessions], last.cursor) == (["2"], "")
            await client.list_sessions("/w", is_archived=True)
        queries = [request.route.partition("?")[2] for request in daemon.asked("GET /workspace/%2Fw/sessions")]
        assert queries == [
            "size=50&view=organized",
            "size=50&cursor=a%2Fb&view=organized",
            "size=50&archiveState=archived&view=organized",
        ]


async def test_a_daemon_without_an_order_of_its_own_is_not_asked_for_one(daemon: FakeDaemon):
    daemon.capabilities("/w")
    daemon.routes["GET /workspace/%2Fw/sessions"] = 200, {}
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.connect("/w")
        assert await client.list_sessions("/w") == SessionPage()
        assert daemon.asked("GET /workspace/%2Fw/sessions")[0].route.endswith("?size=50")
        for act in (
            lambda: client.list_sessions("/w", is_archived=True),
            lambda: client.archive_session(SESSION, is_archived=True),
            lambda: client.pin_session(SESSION, is_pinned=True),
            lambda: client.export_session(SESSION, "md", is_archived=True),
            lambda: client.search_sessions("/w", "cats"),
        ):
            with pytest.raises(failures.MissingFeatureError, match="This Qwen Code can't do that"):
                await act()


async def test_sessions_are_searched_archived_pinned_and_exported_from_the_archive(daemon: FakeDaemon):
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
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.connect("/w")
        assert [(each.session.id, each.snippet) for each in await client.search_sessions("/w", "cats " * 100)] == [
            ("1", "about cats")
        ]
        [request] = daemon.asked("GET /workspace/%2Fw/sessions/search")
        assert len(request.route.partition("q=")[2].partition("&")[0]) == 200
        await client.archive_session(SESSION, is_archived=True)
        assert daemon.requests[-1].body == {"sessionIds": ["s"]}
        with pytest.raises(errors.RefusedError, match="it is in use"):
            await client.archive_session(SESSION, is_archived=False)
        await client.pin_session(SESSION, is_pinned=True)
        assert daemon.requests[-1].body == {"isPinned": True}
        assert await client.export_session(SESSION, "md", is_archived=True) == "archived"


QUALIFIED = ["workspace_qualified_rest_core", "workspace_session_export"]


@pytest.mark.parametrize("features", [QUALIFIED, []])
async def test_a_folder_that_is_not_the_daemons_primary_one_is_named_in_the_routes(
    daemon: FakeDaemon, features: list[str]
):
    """`@` files, checks and export are the session's own."""
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
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.connect("/w")
        assert await client.is_file("own.py") == bool(features)
        asks = (
            lambda: client.find_files("a", 5),
            lambda: client.page("/workspace/mcp"),
            lambda: client.export_session(SESSION, "md"),
            lambda: client.delete_session(SESSION),
        )
        if features:
            assert [await ask() for ask in asks] == [["own.py"], {"servers": "own"}, "own", None]
            with pytest.raises(failures.ChatError):
                await client.page("/workspace/env")
        else:
            for ask in asks:
                with pytest.raises(failures.MissingFeatureError):
                    await ask()
        unqualified = ("GET /stat", "GET /glob", "GET /workspace/", "GET /session/s/export", "POST /sessions")
        assert [route for route in unqualified if daemon.asked(route)] == []
        await client.connect("/first")
        assert await client.find_files("a", 5) == ["primary.py"]


async def test_a_session_is_deleted_whether_it_runs_or_not(daemon: FakeDaemon):
    daemon.routes["DELETE /session/s"] = 404, {"error": "x", "code": "session_not_found"}
    daemon.routes["POST /sessions/delete"] = 200, {"removed": ["s"], "errors": []}
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.delete_session(SESSION)
        daemon.routes["POST /sessions/delete"] = 200, {"errors": [{"error": "in use"}]}
        with pytest.raises(errors.RefusedError, match="in use"):
            await client.delete_session(SESSION)


async def test_a_session_is_loaded_with_its_queue(daemon: FakeDaemon):
    loaded = {"sessionId": "s", "clientId": "new", "lastEventId": 3, "eventEpoch": "e", "hasActivePrompt": True}
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}
    event = {"type": "session_update", "id": 3, "data": {"update": chunk}}
    daemon.routes["POST /session/s/load"] = 200, loaded | {"compactedReplay": [event], "liveJournal": None}
    pending = [
        {"promptId": "p", "text": "a", "state": "running"},
        {"promptId": "q", "text": "b", "state": "queued", "originatorClientId": "c"},
    ]
    daemon.routes["GET /session/s/pending-prompts"] = 200, {"pendingPrompts": pending}
    async with closing(DaemonAgent(daemon.address)) as client:
        session, history = await client.load(SESSION)
        assert session.client_id == "new"
        assert (history.is_running, len(history.envelopes)) == (True, 1)
        assert history.queue == (Queued("q", "b", "c"),)
        daemon.routes["POST /session/s/load"] = 200, {"sessionId": "s"}
        with pytest.raises(errors.RefusedError, match="can't be read"):
            await client.load(SESSION)


def test_the_cursor_goes_with_its_epoch(caplog: pytest.LogCaptureFixture):
    async def test(daemon: FakeDaemon) -> None:
        cursors: dict[str, EventCursor | None] = {}
        async with closing(DaemonAgent(daemon.address, cursors=cursors)) as client:
            for cursor in (None, EventCursor(id=7, epoch="e")):
                cursors["s"] = cursor
                async with client.events(SESSION) as envelopes:
                    (await daemon.streams.get()).send("replay_complete")
                    assert await anext(envelopes)
            cursors["s"] = EventCursor(id=7)
            with pytest.raises(failures.StaleError):
                await client.events(SESSION).__aenter__()
            cursors["s"] = None
            daemon.routes["GET /events"] = 429, {"error": "too many"}
            with pytest.raises(errors.TemporaryError):
                await client.events(SESSION).__aenter__()
        sent = [(each.headers["last-event-id"], each.headers.get("x-qwen-event-epoch")) for each in daemon.requests]
        assert sent == [("0", None), ("7", "e"), ("7", None), ("0", None)]

    caplog.set_level(logging.DEBUG)
    faked(test)
    assert TOKEN not in caplog.text


NUMBERED = [
    envelope for envelope in map(decode, RECORDED) if envelope.id and not getattr(envelope.event, "error", None)
]


async def _sent(cursors: dict[str, EventCursor | None], envelopes: list[Envelope]) -> list[Envelope]:
    async def sent() -> AsyncGenerator[Envelope]:
        for envelope in envelopes:
            yield envelope

    client = DaemonAgent(Address("http://127.0.0.1:9"), cursors=cursors)
    return [envelope async for envelope in client._following(SESSION, sent())]


@given(st.lists(st.tuples(st.integers(0, len(NUMBERED)), st.integers(0, len(NUMBERED)))))
def test_any_cut_and_replay_gives_each_event_once(cuts: list[tuple[int, int]]):
    """The connection ends somewhere; the daemon sends again from somewhere before, to another client."""
    cursors: dict[str, EventCursor | None] = {"s": EventCursor(id=0, epoch="e")}
    found: list[Envelope] = []
    reached = 0
    for end, back in [*cuts, (len(NUMBERED), 0)]:
        found += asyncio.run(_sent(cursors, NUMBERED[max(0, reached - back) : max(end, reached)]))
        reached = max(end, reached)
    assert found == NUMBERED


@given(st.integers(1, len(NUMBERED) - 1), st.integers(1, 5))
def test_a_gap_is_noticed_and_nothing_is_taken_after_it(begin: int, length: int):
    cursors: dict[str, EventCursor | None] = {"s": EventCursor(id=0, epoch="e")}
    assert asyncio.run(_sent(cursors, NUMBERED[:begin])) == NUMBERED[:begin]
    if left := NUMBERED[begin + length :]:
        with pytest.raises(failures.StaleError):
            asyncio.run(_sent(cursors, left))
    assert cursors == {"s": EventCursor(id=begin, epoch="e")}


async def test_a_session_that_was_not_loaded_has_no_events(daemon: FakeDaemon):
    async with closing(DaemonAgent(daemon.address)) as client:
        with pytest.raises(failures.StaleError):
            await client.events(SESSION).__aenter__()
        daemon.routes |= {"POST /session": (200, {"sessionId": "s"}), "POST /session/s/detach": (204, None)}
        async with client.events(await client.create("/w")):
            pass
        await client.detach(SESSION)
        with pytest.raises(failures.StaleError):
            await client.events(SESSION).__aenter__()


async def test_no_generator_of_a_stream_is_left_to_the_garbage_collector(daemon: FakeDaemon):
    """It would end those of one stream at the same time, and each waits for the next."""
    left: list[str] = []
    hooks = sys.get_asyncgen_hooks()
    end = hooks.finalizer
    assert end

    def collected(generator: Any) -> None:
        left.append(generator.__qualname__)
        end(generator)

    async def read_one(client: DaemonAgent) -> None:
        async with client.events(SESSION) as envelopes:
            there = await daemon.streams.get()
            there.say(1, "one")
            there.say(2, "two")
            async for _ in envelopes:
                return

    sys.set_asyncgen_hooks(finalizer=collected)
    try:
        async with closing(DaemonAgent(daemon.address, cursors={"s": None})) as client:
            await read_one(client)
            gc.collect()
    finally:
        sys.set_asyncgen_hooks(*hooks)
    assert "_frames" not in left
    assert "Response.aiter_raw" not in left


async def test_a_message_for_a_turn_whose_answer_is_lost_is_looked_for_by_its_id(daemon: FakeDaemon):
    daemon.routes["POST /session/s/mid-turn-message"] = None
    async with closing(DaemonAgent(daemon.address)) as client:
        for answer in (
            lambda own: {"messages": [{"messageId": own}], "settledMessageIds": [], "promotedMessageIds": []},
            lambda own: {"messages": [{}], "settledMessageIds": ["x", own]},
            lambda own: {"promotedMessageIds": [own], "settledMessageIds": None},
        ):

            def found(_: Request, answer: Any = answer) -> Any:
                return 200, answer(daemon.asked("POST")[-1].body["messageId"])

            daemon.routes["GET /session/s/mid-turn-messages"] = found
            assert await client.inject(SESSION, "wait") == daemon.asked("POST")[-1].body["messageId"]
        for other, error in (
            ((200, {"settledMessageIds": ["x", 7]}), failures.StreamLostError),
            ((404, b"<html>"), failures.UncertainError),
            (None, failures.UncertainError),
        ):
            daemon.routes["GET /session/s/mid-turn-messages"] = other
            with pytest.raises(error):
                await client.inject(SESSION, "wait")


async def test_a_silent_an_endless_and_a_broken_stream(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("companion.backends.daemon.transport.MAX_EVENT", 100)
    async with FakeDaemon().serving() as daemon, closing(DaemonAgent(daemon.address, cursors={"s": None})) as client:
        for act, words, limit in (
            # To open the stream takes its time, too, on a busy machine.
            (lambda stream: None, "silent", 3),
            (lambda stream: stream.raw("data: " + "x" * 200), "too large", 60),
            (lambda stream: stream.cut(), "has gone", 60),
        ):
            monkeypatch.setattr(transport, "SILENCE_LIMIT", limit)
            async with client.events(SESSION) as envelopes:
                act(await daemon.streams.get())
                with pytest.raises(failures.StreamLostError, match=words):
                    await anext(envelopes)


def test_the_parts_of_a_prompt():
    assert prompt.text_block("a") == {"type": "text", "text": "a"}
    assert prompt.link_block("/w/a b.py") == {"type": "resource_link", "uri": "file:///w/a b.py", "name": "a b.py"}
    assert prompt.resource_block("file:///x", "y")["resource"] == {
        "uri": "file:///x",
        "text": "y",
        "mimeType": "text/plain",
    }
    assert prompt.image_block(b"\0", "image/png") == {"type": "image", "mimeType": "image/png", "data": "AA=="}


@pytest.mark.parametrize(
    "number", [float("inf"), float("nan"), 10**400, "5"], ids=["infinite", "no number", "huge", "text"]
)
async def test_a_number_that_is_none_costs_no_task(daemon: FakeDaemon, number: object):
    task = {"id": "a", "kind": "shell", "startTime": number, "endTime": number, "stats": {"totalTokens": number}}
    daemon.routes["GET /session/s/tasks"] = (200, {"tasks": [task]})
    async with closing(DaemonAgent(daemon.address)) as client:
        assert client.can("tasks")
        [found] = await client.tasks(SESSION)
    assert (found.id, found.began, found.tokens) == ("a", 0, 0)


@pytest.mark.parametrize(
    "odd",
    [
        {"models": []},
        {"models": {"availableModels": [{"modelId": 3}]}, "modes": "plan"},
        {"configOptions": [{"id": "reasoning_effort", "options": [{"name": "no value"}]}]},
        {"configOptions": [{"id": "reasoning_effort", "options": {}}]},
    ],
)
def test_what_can_be_switched_is_what_can_be_read(odd: dict[str, Any]):
    state = {"modes": {"currentModeId": "plan"}, "models": {"currentModelId": "m"}}
    found = decoder.choices({"state": {**state, **odd}})
    assert (found.model, found.mode) == ("" if "models" in odd else "m", "" if "modes" in odd else "plan")
    assert (found.models, found.modes, found.efforts) == ((), (), ())


async def test_an_odd_item_of_a_list_costs_no_other(daemon: FakeDaemon):
    daemon.capabilities("/w", features=[*FEATURES, "session_rewind", "session_tasks"])
    session, task = {"sessionId": "a"}, {"id": "a", "kind": "shell"}
    daemon.routes |= {
        "GET /workspace/%2Fw/sessions": (200, {"sessions": [{**session, "clientCount": "2x"}, session]}),
        "GET /workspace/%2Fw/sessions/search": (200, {"results": [{"session": {}}, {"session": session}]}),
        "GET /session/s/pending-prompts": (200, {"pendingPrompts": [{}, {"promptId": "a"}]}),
        "GET /session/s/tasks": (200, {"tasks": [{"id": 1}, task]}),
        "GET /session/s/rewind/snapshots": (200, {"snapshots": [{}, {"promptId": "a", "turnIndex": 0}]}),
        "POST /session/s/rewind": (200, {"filesChanged": ["a", 1], "filesFailed": {}}),
    }
    async with closing(DaemonAgent(daemon.address)) as client:
        await client.connect("/w")
        assert [each.id for each in (await client.list_sessions("/w")).sessions] == ["a"]
        assert [each.session.id for each in await client.search_sessions("/w", "x")] == ["a"]
        assert [each.id for each, _ in await client.queue(SESSION)] == ["a"]
        assert [each.id for each in await client.tasks(SESSION)] == ["a"]
        assert [each.id for each in await client.rewind_points(SESSION)] == ["a"]
        rewound = await client.rewind(SESSION, "a", undo_files=True)
        assert (rewound.changed, rewound.failed) == (("a",), ())
    assert decoder.index({"turns": ["odd", {"promptId": "p", "turnId": "t"}], "start": 1}) == ("", 1, {"p": "t"})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "**/*"),
        ("a1", "**/*[aA]1*"),
        ("src/b c", "**/*[sS][rR][cC]*/**/*[bB] [cC]*"),
        ("x[1]*", r"**/*[xX][[]1\][*]*"),
        ("ß!", r"**/*ß\!*"),
    ],
)
def test_files_are_found_however_they_are_written(words: str, expected: str):
    assert pattern(words) == expected
