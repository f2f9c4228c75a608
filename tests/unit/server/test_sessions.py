"""Sessions: their streams, what goes out on them, and their end."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from companion.editor import ViewId, WindowId
from companion.protocol import DiffOutcome, Notification
from companion.server import context, sessions
from companion.server.context import CANDIDATES
from companion.server.endpoint import Caller
from companion.server.window_screen import ContextRequest, Selection
from companion.settings import Settings

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from ..wire import Stream


def open_files(update: dict[str, Any]) -> list[str]:
    return [file["path"] for file in update["workspaceState"]["openFiles"]]


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", "2025-03-26"])
def test_the_handshake_agrees_on_the_version_that_the_cli_asks_for(running: Running, version: str):
    cli = running.cli(version=version)
    result = cli.initialize()
    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "qwen-companion"
    assert "tools" in result["capabilities"]
    cli.initialized()
    assert cli.tools() == {"openDiff", "closeDiff"}
    assert "contextUpdate" in json.dumps(next(iter(cli.listen())))


def test_an_unknown_version_is_answered_with_one_that_we_speak(running: Running):
    """The CLI decides then."""
    assert running.cli(version="2099-01-01").initialize()["protocolVersion"] == "2025-11-25"


def test_every_session_has_an_id_of_its_own(running: Running):
    clients = [running.cli().connect() for _ in range(3)]
    assert running.sessions() == {cli.session for cli in clients}
    assert len(running.sessions()) == 3


def test_the_context_comes_first_on_a_new_stream(running: Running, editor: MemoryEditor, files: list[str]):
    """Without any event in the editor."""
    editor.selections[1] = Selection(2, 5, "chosen")
    running.focus(2, files[1])
    running.focus(1, files[0])
    stream = running.cli().connect().listen()
    state = stream.take("ide/contextUpdate")["workspaceState"]
    active, other = state["openFiles"]
    assert (
        active.items()
        >= {
            "path": files[0],
            "isActive": True,
            "cursor": {"line": 2, "character": 5},
            "selectedText": "chosen",
        }.items()
    )
    assert other.keys() == {"path", "timestamp"}
    assert active["timestamp"] > other["timestamp"] > 10**12
    assert "null" not in stream.raw[0]


def test_the_context_of_an_empty_window_is_empty_and_not_missing(running: Running):
    stream = running.cli().connect().listen()
    assert stream.take("ide/contextUpdate") == {"workspaceState": {"openFiles": []}}


def test_a_stream_that_opens_before_the_handshake_ends_gets_its_context_after_it(running: Running):
    """The CLI sends both at once."""
    cli = running.cli()
    cli.initialize()
    stream = cli.listen()
    cli.initialized()
    assert stream.take("ide/contextUpdate")


def test_each_change_is_sent(running: Running, editor: MemoryEditor, files: list[str]):
    """Open, focus, move, select, close."""
    _, stream = running.listening()
    running.focus(1, files[0])
    assert open_files(stream.take("ide/contextUpdate")) == files[:1]
    running.focus(2, files[1])
    assert open_files(stream.take("ide/contextUpdate")) == [files[1], files[0]]
    running.focus(1, files[0])
    assert open_files(stream.take("ide/contextUpdate")) == files[:2]
    editor.selections[1] = Selection(7, 1)
    running.touch()
    active = stream.take("ide/contextUpdate")["workspaceState"]["openFiles"][0]
    assert active["cursor"] == {"line": 7, "character": 1}
    editor.selections[1] = Selection(7, 1, "x")
    running.touch()
    assert stream.take("ide/contextUpdate")["workspaceState"]["openFiles"][0]["selectedText"] == "x"
    del editor.views[1]
    running.do(lambda companion: companion.view_closed(ViewId(1)))
    assert open_files(stream.take("ide/contextUpdate")) == files[1:2]


def test_a_movement_of_the_caret_asks_for_one_view_in_one_call(running: Running, editor: MemoryEditor, tmp_path: Path):
    """However many views there are."""
    _, stream = running.listening()
    for number in range(CANDIDATES + 5):
        (tmp_path / f"{number}.txt").touch()
        running.focus(number, tmp_path / f"{number}.txt")
    last = CANDIDATES + 4
    until(lambda: open_files(stream.take("ide/contextUpdate"))[0] == str(tmp_path / f"{last}.txt"))
    asked, selections = len(editor.requests), len(editor.asked)
    editor.selections[last] = Selection(7, 1)
    running.do(lambda companion: companion.touched(WindowId(1), ViewId(last)))
    assert stream.take("ide/contextUpdate")["workspaceState"]["openFiles"][0]["cursor"] == {"line": 7, "character": 1}
    assert editor.requests[asked:] == [
        ContextRequest((ViewId(last),), is_whole=False, selected=ViewId(last), limit=16_384)
    ]
    assert len(editor.asked) == selections + 1


def test_a_file_that_is_deleted_without_an_event_is_left_out(ticking: Running, files: list[str]):
    """No event tells of it, so the companion looks."""
    running = ticking
    running.focus(1, files[0])
    running.focus(2, files[1])
    stream = running.cli().connect().listen()
    until(lambda: len(open_files(stream.take("ide/contextUpdate"))) == 2)
    os.unlink(files[1])
    # An update of just before may still be on its way.
    until(lambda: open_files(stream.take("ide/contextUpdate")) == files[:1])


def test_the_cursor_is_that_of_the_active_file_though_another_view_had_the_focus_last(
    running: Running, editor: MemoryEditor, files: list[str]
):
    """That view's file isn't on disk."""
    _, stream = running.listening()
    running.focus(1, files[0])
    assert open_files(stream.take("ide/contextUpdate")) == files[:1]
    editor.selections.update({1: Selection(5, 1), 2: Selection(9, 9)})
    running.focus(2, "/nowhere/a.txt")
    active = stream.take("ide/contextUpdate")["workspaceState"]["openFiles"][0]
    assert (active["path"], active["cursor"]) == (files[0], {"line": 5, "character": 1})


def test_many_changes_in_a_moment_are_one_update(
    monkeypatch: pytest.MonkeyPatch, running: Running, editor: MemoryEditor, files: list[str]
):
    """Debounced, so only the last of them is told."""
    _, stream = running.listening()
    monkeypatch.setattr(context, "QUIET", 0.3)
    for _ in range(20):
        running.focus(1, files[0])
        running.focus(2, files[1])
    running.focus(3, files[2])
    assert open_files(stream.take("ide/contextUpdate"))[0] == files[2]
    running.focus(1, files[0])
    assert open_files(stream.take("ide/contextUpdate"))[0] == files[0]


def test_nothing_is_sent_when_nothing_has_changed(ticking: Running, editor: MemoryEditor, files: list[str]):
    """Neither by the tick, nor by a touch, nor by a focus that changes no order."""
    running = ticking
    _, stream = running.listening()
    running.focus(1, files[0])
    stream.take("ide/contextUpdate")
    for _ in range(10):
        asked = len(editor.asked)
        running.touch()
        running.focus(1, files[0])
        until(lambda asked=asked: len(editor.asked) > asked)
    running.focus(2, files[1])
    assert open_files(stream.take("ide/contextUpdate")) == [files[1], files[0]]


def test_only_the_part_of_the_selection_that_is_sent_is_asked_for(
    running: Running, editor: MemoryEditor, files: list[str]
):
    """A large one is never copied whole."""
    _, stream = running.listening()
    editor.selections[1] = Selection(1, 1, "😀" * 16_384)
    running.focus(1, files[0])
    told = stream.take("ide/contextUpdate")["workspaceState"]["openFiles"][0]["selectedText"]
    assert told == "😀" * 8192
    assert set(editor.asked) == {16_384}


def test_trust_follows_the_settings(running: Running):
    """A change of them is told."""
    _, stream = running.listening()
    for trust in (True, False):
        running.do(lambda companion, trust=trust: companion.configure(Settings(is_trusted=trust)))
        assert stream.take("ide/contextUpdate")["workspaceState"]["isTrusted"] is trust
    running.do(lambda companion: companion.configure(Settings()))
    assert "isTrusted" not in stream.take("ide/contextUpdate")["workspaceState"]


def test_every_session_of_a_window_gets_its_context(running: Running, files: list[str]):
    streams = [running.listening()[1] for _ in range(3)]
    running.focus(1, files[0])
    for stream in streams:
        assert open_files(stream.take("ide/contextUpdate")) == files[:1]


def test_an_outcome_while_the_stream_is_down_is_sent_when_it_is_back(running: Running, files: list[str]):
    """A CLI re-opens its stream after a second, and waits for the outcome for ever."""
    cli, stream = running.listening()
    cli.open_diff(files[0], "new\n")
    running.diff(files[0])
    stream.close()
    until(lambda: not any(session.stream for session in running.do(lambda it: list(it._windows[WindowId(1)].sessions))))
    running.focus(1, files[1])
    running.accept(files[0])
    stream = cli.listen()
    assert stream.skip_to("ide/diffAccepted") == {"filePath": files[0], "content": "new\n"}


def test_only_the_newest_of_the_waiting_contexts_is_sent(running: Running, files: list[str]):
    """Each replaces the one before."""
    cli, stream = running.listening()
    stream.close()
    until(lambda: not any(session.stream for session in running.do(lambda it: list(it._windows[WindowId(1)].sessions))))
    for view, path in enumerate(files, 1):
        running.focus(view, path)
        until(lambda view=view: running.do(lambda it: _waiting(it, view)))
    cli.open_diff(files[0], "new\n")
    running.accept(files[0])
    stream = cli.listen()
    updates = []
    for message in stream:
        if message["method"] == "ide/diffAccepted":
            break
        updates.append(open_files(message["params"]))
    assert updates in ([files[::-1]], [])
    assert updates or open_files(stream.take("ide/contextUpdate")) == files[::-1]


def _waiting(companion: Any, files: int) -> bool:
    """Whether a context of so many files waits in the outbox of the only session."""
    [session] = companion._windows[1].sessions
    return [len(one.open_files) for one in session._outbox] == [files]


def test_a_second_stream_takes_over_from_the_first(running: Running, files: list[str]):
    """The CLI knows that its old stream is dead before we do, and would give up at a 409."""
    cli, first = running.listening()
    second = cli.listen()
    assert list(first) == []
    second.take("ide/contextUpdate")
    third = cli.listen()
    assert list(second) == []
    third.take("ide/contextUpdate")
    running.focus(1, files[0])
    assert open_files(third.take("ide/contextUpdate")) == files[:1]
    assert running.sessions() == {cli.session}


def test_a_stream_that_does_not_accept_events_is_refused(running: Running, files: list[str]):
    cli, stream = running.listening()
    other = running.cli().connect()
    assert other.get(accept="application/json").status_code == 406
    assert other.listen().take("ide/contextUpdate")
    running.focus(1, files[0])
    assert open_files(stream.take("ide/contextUpdate")) == files[:1]
    assert running.sessions() >= {cli.session}


def test_a_last_event_id_is_no_reason_to_fail(running: Running, files: list[str]):
    """The CLI's SDK sends it when it opens its stream again; we keep no events to send once more."""
    cli, stream = running.listening()
    stream.close()
    response = cli.get(last_event_id="7")
    assert response.status_code == 200
    again = Stream(response)
    assert again.take("ide/contextUpdate")
    running.focus(1, files[0])
    assert open_files(again.take("ide/contextUpdate")) == files[:1]
    again.close()


class Wire(sessions.Stream):
    """A stream that notes what is written, and how often it was asked. It takes as many events as the test says."""

    def __init__(self, sent: list[str], takes: int = 100) -> None:
        super().__init__(self.note, self.wait)
        self.sent = sent
        self.takes = takes
        self.asked = 0
        self.ready = asyncio.Event()

    def note(self, notification: Notification) -> bool:
        self.asked += 1
        if not self.takes:
            return False
        self.takes -= 1
        self.sent.append(json.loads(notification.event.partition(b"data: ")[2])["params"]["filePath"])
        return True

    async def wait(self) -> None:
        await self.ready.wait()
        self.ready.clear()


class TestDelivery:
    """What is sent on which stream."""

    @pytest.fixture
    def sent(self) -> list[str]:
        return []

    @pytest.fixture
    def session(self) -> sessions.Session:
        tasks: list[asyncio.Task[Any]] = []

        def background(work: Coroutine[Any, Any, object]) -> None:
            tasks.append(asyncio.get_running_loop().create_task(work))

        server: Any = SimpleNamespace(
            endpoint=SimpleNamespace(window=WindowId(1)),
            background=background,
            settings=Settings(),
            unsendable=lambda *_: pytest.fail("it can be sent"),
        )
        session = sessions.Session(server, "id", Caller("Qwen Code"))
        session.initialized(cast("Any", object()))
        return session

    @staticmethod
    def outcome(path: str) -> DiffOutcome:
        return DiffOutcome(path)

    @staticmethod
    async def turns() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def test_nothing_is_sent_once_the_stream_has_gone(self, session: sessions.Session, sent: list[str]):
        """It would be lost. It goes out on the next stream, and only once."""
        first, second = Wire(sent, takes=1), Wire(sent)
        session.stream_opened(first)
        for path in ("/a", "/b", "/c"):
            session.notify(self.outcome(path))
        await self.turns()
        first.end()
        session.stream_closed(first)
        await self.turns()
        assert [one.event for one in session.unsent()] == [self.outcome(path).event for path in ("/b", "/c")]
        assert sent == ["/a"]
        session.stream_opened(second)
        await session.flushed()
        assert sent == ["/a", "/b", "/c"]
        assert session.unsent() == []

    async def test_what_the_stream_does_not_take_waits_until_it_does(self, session: sessions.Session, sent: list[str]):
        """In its order, and asked for once only. A slow reader costs nobody anything."""
        stream = Wire(sent, takes=1)
        session.stream_opened(stream)
        for path in ("/a", "/b", "/c"):
            session.notify(self.outcome(path))
        await self.turns()
        assert (sent, stream.asked) == (["/a"], 3)
        stream.takes = 1
        stream.ready.set()
        await self.turns()
        assert (sent, stream.asked) == (["/a", "/b"], 5)
        stream.takes = 1
        stream.ready.set()
        await session.flushed()
        assert sent == ["/a", "/b", "/c"]

    async def test_a_stream_that_can_not_be_written_to_is_not_tried_again(
        self, session: sessions.Session, sent: list[str]
    ):
        """Its connection is lost, and its end is about to be noticed."""
        stream = Wire(sent, takes=0)
        session.stream_opened(stream)
        session.notify(self.outcome("/a"))
        await self.turns()
        assert stream.asked == 1
        stream.end()
        session.stream_closed(stream)
        await self.turns()
        assert stream.asked == 1
        assert [one.event for one in session.unsent()] == [self.outcome("/a").event]

    async def test_the_end_of_an_old_stream_is_not_that_of_the_new_one(
        self, session: sessions.Session, sent: list[str]
    ):
        """A stream that another one has replaced may end late."""
        first, second = Wire(sent), Wire(sent)
        session.stream_opened(first)
        session.stream_opened(second)
        first.end()
        assert session.stream_closed(first) is False
        assert session.stream is second
        session.notify(self.outcome("/a"))
        await self.turns()
        assert len(sent) == 1
        second.end()
        assert session.stream_closed(second) is True
