"""A reload: the next instance goes on with the sessions of the one before."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from companion import companion as companion_module
from companion import handover, thread
from companion.changes.rows import ChangeRow
from companion.chats.chats import Chats
from companion.companion import QUIET, Companion
from companion.editor import WindowId
from companion.handover import HOLDER, Inheritance
from companion.libraries import guard
from companion.server.endpoint import listen
from companion.thread import CompanionThread

from .conftest import FIRST, Running, is_refused, until
from .memory_editor import MemoryEditor
from .wire import LIMIT, Cli

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    handover.give_up(handover.receive(handover.claim()), handover.NO_CHORES)


@pytest.fixture
def unloaded(start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A CLI whose companion has gone, and is not loaded again soon."""
    monkeypatch.setattr(handover, "GRACE", 0.1)
    running = start()
    cli, _ = running.listening()
    assert running.thread.stop(LIMIT, hand_over=True)
    until(sys.modules[HOLDER].left.is_set)  # until then the old instance still answers
    return cli


def reload(running: Running, start: Callable[[], Running]) -> Running:
    """Unload the package, load it again, and wait until the new instance answers."""
    assert running.thread.stop(LIMIT, hand_over=True)
    again = start()
    again.do(lambda _: None)
    return again


def test_a_session_continues_with_its_old_id(start: Callable[[], Running], project: Path) -> None:
    first = start()
    cli, stream = first.listening()
    known = cli.headers()["mcp-session-id"]
    second = reload(first, start)
    assert list(stream) == []
    second.lock()  # a CLI asks for its next stream after a second
    stream = cli.listen()
    stream.take("ide/contextUpdate")
    path = str(project / "a.py")
    cli.open_diff(path, "new\n")
    second.accept(path)
    assert stream.skip_to("ide/diffAccepted") == {"filePath": path, "content": "new\n"}
    assert cli.headers()["mcp-session-id"] == known


def test_the_answers_carry_the_id_that_the_cli_knows(start: Callable[[], Running]) -> None:
    first = start()
    cli, _ = first.listening()
    known = cli.headers()["mcp-session-id"]
    second = reload(first, start)
    answer = cli.ask("tools/list")
    assert answer.status_code == 200
    assert answer.headers.get("mcp-session-id", known) == known
    assert cli.listen().response.headers["mcp-session-id"] == known
    assert second.sessions() != {known}


def test_a_session_continues_over_several_reloads_even_if_the_cli_was_silent(start: Callable[[], Running]) -> None:
    running = start()
    cli, _ = running.listening()
    for _ in range(3):
        running = reload(running, start)
    assert cli.ask("tools/list").status_code == 200
    running = reload(running, start)
    assert cli.ask("tools/list").status_code == 200


def test_what_a_cli_writes_after_a_reload_before_it_is_back_is_listed(
    start: Callable[[], Running], project: Path
) -> None:
    """It asks for its next stream after a second, and goes on with its work meanwhile."""
    (project / "a.py").write_text("old\n")
    running = start()
    cli, _ = running.listening()
    until(lambda: running.do(is_reviewed))
    running = reload(running, start)
    until(lambda: running.do(is_reviewed))
    (project / "a.py").write_text("the agent's\n")
    cli.listen().take("ide/contextUpdate")
    until(lambda: [(row.path, row.agents) for row in running.do(rows)] == [("a.py", running.do(at_work))])


def test_who_was_connected_before_a_reload_is_waited_for_as_long_as_a_cli_takes_to_come_back(
    start: Callable[[], Running], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companion_module, "STREAM_GONE_LIMIT", 3)
    running = start()
    running.listening()
    until(lambda: running.do(is_reviewed))
    running = reload(running, start)
    running = reload(running, start)
    assert running.do(at_work)
    until(lambda: not running.do(at_work))
    (project / "b.py").write_text("the person's\n")
    time.sleep(0.5)
    assert [row for row in running.do(rows) if row.agents] == []


def test_no_folder_is_looked_at_after_a_reload_before_the_settings_of_its_project_are_known(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may say that a file is never read, or that nothing is reviewed."""
    running = start()
    running.listening()
    until(lambda: running.do(is_reviewed))
    started, looked_at = Companion.started, list[str]()

    async def slow(self: Companion) -> None:
        await started(self)
        await asyncio.sleep(0.5)
        looked_at.extend(self.changes.roots.folders)

    monkeypatch.setattr(Companion, "started", slow)
    running = reload(running, start)
    assert looked_at == []
    until(lambda: running.do(is_reviewed))


def test_who_is_connected_is_known_after_a_reload_though_the_status_changes_as_it_begins(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The streams still go on then, while chats end."""
    running = start()
    running.listening()
    until(lambda: running.do(at_work))
    statuses, stop = running.do(lambda companion: companion.statuses), Chats.stop

    async def slow(self: Chats, **more: Any) -> Any:
        statuses.changed()
        await asyncio.sleep(2 * QUIET)
        return await stop(self, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Chats, "stop", slow)
        assert running.thread.stop(LIMIT, hand_over=True)
        until(sys.modules[HOLDER].left.is_set)
    again = start()
    until(lambda: again.do(at_work))


def test_a_cli_that_is_back_after_a_reload_and_ends_is_waited_for_no_longer(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companion_module, "STREAM_GONE_LIMIT", 3600)
    running = start()
    cli, _ = running.listening()
    running = reload(running, start)
    stream = cli.listen()
    stream.take("ide/contextUpdate")
    until(lambda: running.do(lambda it: it.statuses.of(FIRST).clis))
    until(lambda: not running.do(lambda it: it._windows[FIRST].endpoint.state.clis))
    stream.close()
    until(lambda: not running.do(at_work))


def at_work(companion: Companion) -> Sequence[str]:
    return companion.changes.roots.window(FIRST).at_work


def is_reviewed(companion: Companion) -> bool:
    """Whether a round is open in all folders, and somebody is at work there."""
    known = companion.changes.roots.window(FIRST)
    folders = list(known.folders.values())
    return bool(known.at_work and folders) and all(each.has_round for each in folders) and not known.beginning.locked()


def rows(companion: Companion) -> list[ChangeRow]:
    return list(companion.changes.listing(FIRST).rows)


def test_the_port_and_the_token_stay_and_the_files_are_written_again(start: Callable[[], Running]) -> None:
    first = start()
    before = first.lock()
    second = reload(first, start)
    assert second.lock() == before


def test_a_listener_that_somebody_else_has_closed_in_between_is_replaced_at_its_port(
    start: Callable[[], Running],
) -> None:
    first = start()
    cli, _ = first.listening()
    before = first.lock()
    assert first.thread.stop(LIMIT, hand_over=True)
    until(sys.modules[HOLDER].left.is_set)
    [window] = sys.modules[HOLDER]._left.values()
    socket.close(window.listener.fileno())
    second = start()
    second.do(lambda _: None)
    assert second.lock() == before
    assert cli.ask("tools/list").status_code == 200


def test_a_request_in_between_waits_for_the_next_instance(start: Callable[[], Running]) -> None:
    first = start()
    cli, _ = first.listening()
    assert first.thread.stop(LIMIT, hand_over=True)
    answers: list[int] = []
    asking = threading.Thread(target=lambda: answers.append(cli.ask("tools/list").status_code))
    asking.start()
    start()
    asking.join(LIMIT)
    assert answers == [200]


def test_a_session_of_another_family_is_not_resumed(start: Callable[[], Running]) -> None:
    first = start()
    cli, _ = first.listening()
    known = cli.headers()["mcp-session-id"]
    assert first.thread.stop(LIMIT, hand_over=True)
    left = handover.receive(handover.claim())
    left[WindowId(1)].sessions[known] = "Another CLI"
    handover.hand_over(left, handover.NO_CHORES)
    start()
    assert cli.ask("tools/list").status_code == 404


def test_an_unknown_session_is_still_unknown(start: Callable[[], Running]) -> None:
    first = start()
    cli, _ = first.listening()
    reload(first, start)
    assert cli.ask("tools/list", mcp_session_id="f" * 32).status_code == 404


@pytest.mark.parametrize("version", ["2030-01-01", ""])
def test_a_session_goes_on_after_a_request_of_a_version_that_is_not_spoken(
    start: Callable[[], Running], version: str
) -> None:
    first = start()
    cli, _ = first.listening()
    again = reload(first, start)
    assert cli.ask("tools/list", mcp_protocol_version=version).status_code == 400
    assert again.sessions() == set()
    assert cli.ask("tools/list").status_code == 200


def test_a_resumed_session_can_be_ended(start: Callable[[], Running]) -> None:
    first = start()
    cli, _ = first.listening()
    second = reload(first, start)
    assert cli.ask("tools/list").status_code == 200
    assert cli.send("DELETE").status_code == 200
    until(lambda: not second.sessions())
    until(lambda: second.do(lambda it: it._windows[WindowId(1)]._app._resumed._inward) == {})
    assert cli.ask("tools/list").status_code == 404


def test_without_a_reload_nothing_is_left(start: Callable[[], Running]) -> None:
    running = start()
    cli, _ = running.listening()
    assert running.thread.stop(LIMIT)
    assert HOLDER not in sys.modules
    until(lambda: is_refused(cli.port))


def test_the_place_of_a_window_that_has_closed_is_given_up(start: Callable[[], Running]) -> None:
    running = start()
    running.open_window(WindowId(2))
    port = running.do(lambda companion: companion._windows[WindowId(2)].endpoint.port)
    assert running.thread.stop(LIMIT, hand_over=True)
    del running.editor.windows[2]
    start().lock()
    until(lambda: is_refused(port))


def test_what_nobody_takes_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "LIMIT", 0.01)
    listener = listen()
    handover.hand_over({WindowId(1): Inheritance(listener)}, handover.NO_CHORES)
    until(lambda: listener.fileno() == -1)
    assert handover.receive(handover.claim()) == {}


def test_what_was_left_before_is_given_up_for_what_is_left_now() -> None:
    old, new = listen(), listen()
    handover.hand_over({WindowId(1): Inheritance(old)}, handover.NO_CHORES)
    handover.hand_over({WindowId(1): Inheritance(new, {"Qwen Code": "token"})}, handover.NO_CHORES)
    until(lambda: old.fileno() == -1)
    assert handover.receive(handover.claim())[WindowId(1)].tokens == {"Qwen Code": "token"}
    new.close()


class Raw:
    """A connection at the level of the socket."""

    def __init__(self, cli: Cli) -> None:
        self.socket = socket.create_connection(("127.0.0.1", cli.port), timeout=LIMIT)
        self.head = "".join(f"{name}: {value}\r\n" for name, value in cli.headers().items())
        self.host = f"host: 127.0.0.1:{cli.port}\r\n"

    def send(self, request: str, body: bytes = b"") -> None:
        length = f"content-length: {len(body)}\r\n" if body else ""
        self.socket.sendall(f"{request} /mcp HTTP/1.1\r\n{self.host}{self.head}{length}\r\n".encode() + body)

    def status(self) -> bytes:
        """The first line of an answer, which is read to its end."""
        answer = b""
        while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
            answer += (piece := self.socket.recv(65536))
            assert piece, answer
        return answer.split(b"\r\n")[0]


TOOLS = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'


@pytest.fixture
def raw() -> Iterator[Callable[[Cli], Raw]]:
    opened: list[Raw] = []

    def connect(cli: Cli) -> Raw:
        opened.append(one := Raw(cli))
        return one

    yield connect
    for one in opened:
        one.socket.close()


def test_a_connection_that_waits_is_used_again_after_a_reload(
    start: Callable[[], Running], raw: Callable[[Cli], Raw]
) -> None:
    """A client that has kept its connection is never reset."""
    running = start()
    cli, _ = running.listening()
    used, silent = raw(cli), raw(cli)
    used.send("POST", TOOLS)
    assert used.status() == b"HTTP/1.1 200 OK"
    until(lambda: len(running.do(lambda it: it._windows[WindowId(1)]._server.connections)) >= 3)
    reload(running, start)
    for one in (used, silent):
        one.send("POST", TOOLS)
        assert one.status() == b"HTTP/1.1 200 OK"


def test_a_request_whose_first_half_came_before_the_reload_is_answered_after_it(
    start: Callable[[], Running], raw: Callable[[Cli], Raw]
) -> None:
    running = start()
    cli, _ = running.listening()
    one = raw(cli)
    request = f"POST /mcp HTTP/1.1\r\n{one.host}{one.head}content-length: {len(TOOLS)}\r\n\r\n".encode() + TOOLS
    one.socket.sendall(request[:40])
    until(
        lambda: any(
            it.conn.trailing_data[0] for it in running.do(lambda it: it._windows[WindowId(1)]._server.connections)
        )
    )
    reload(running, start)
    one.socket.sendall(request[40:])
    assert one.status() == b"HTTP/1.1 200 OK"


def test_a_request_whose_body_comes_slowly_is_answered_by_the_old_instance(
    start: Callable[[], Running], raw: Callable[[Cli], Raw], project: Path
) -> None:
    """Nothing is reset, and the connection is closed after the answer. No diff opens that nobody has."""
    first = start()
    cli, _ = first.listening()
    one, other = raw(cli), raw(cli)
    arguments = f'{{"filePath":"{project}/a.py","newContent":"x"}}'
    call = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"openDiff","arguments":{arguments}}}}}'
    one.send("POST", call.encode())
    one.status()
    head = f"POST /mcp HTTP/1.1\r\n{other.host}{other.head}content-length: {len(call)}\r\n\r\n"
    other.socket.sendall(head.encode() + call[:20].encode())
    until(lambda: first.do(lambda it: it._windows[WindowId(1)]._app._requests))
    second = reload(first, start)
    assert second.lock()
    other.socket.sendall(call[20:].encode())
    answer = b""
    while piece := other.socket.recv(65536):
        answer += piece
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert b"connection: close" in answer
    assert b'"isError":true' in answer


def test_an_outcome_that_no_stream_has_carried_is_sent_after_the_reload(
    start: Callable[[], Running], project: Path
) -> None:
    """Each openDiff that was answered has exactly one outcome, also while the CLI reconnects."""
    running = start()
    cli, stream = running.listening()
    path = str(project / "a.py")
    cli.open_diff(path, "new\n")
    running.diff(path)
    stream.close()
    until(lambda: not any(one.stream for one in running.do(lambda it: list(it._windows[WindowId(1)].sessions))))
    running.focus(1, __file__)  # this waits too, and is of no use later
    until(lambda: all(len(one._outbox) == 1 for one in running.do(lambda it: list(it._windows[WindowId(1)].sessions))))
    running.do(lambda it: it.reviews.reject_all())
    for _ in range(2):  # the second reload comes before the CLI is back
        running = reload(running, start)
        running.lock()
    assert cli.listen().skip_to("ide/diffRejected") == {"filePath": path}


def test_a_reload_holds_nobody_up_and_a_cli_that_is_suspended_loses_nothing(
    start: Callable[[], Running], project: Path
) -> None:
    """Its stream is open and nobody reads; the editor goes on at once, and so do the others."""
    running = start()
    asleep, stream = running.listening()
    awake, _ = running.listening()
    [session] = [
        one
        for one in running.do(lambda it: list(it._windows[WindowId(1)].sessions))
        if one.identifier == asleep.session
    ]
    paths = [str(project / f"{i}.txt") for i in range(12)]
    for path in paths:
        asleep.open_diff(path, "x" * 1_000_000)
        running.accept(path)
    until(lambda: session._outbox)  # the system's buffers are full
    before = time.monotonic()
    assert running.thread.stop(LIMIT, hand_over=True)
    assert time.monotonic() - before < LIMIT  # it doesn't wait for the CLI
    second = start()
    assert awake.ask("tools/list").status_code == 200
    assert second.lock()["port"] == awake.port
    told = list(stream)
    assert [message["params"]["filePath"] for message in told if "diff" in message["method"]] == paths
    assert asleep.ask("tools/list").status_code == 200


def test_quitting_waits_a_second_at_most_for_a_cli_that_is_suspended(running: Running, project: Path) -> None:
    asleep, _ = running.listening()
    for i in range(12):
        path = str(project / f"{i}.txt")
        asleep.open_diff(path, "x" * 1_000_000)
        running.accept(path)
    assert running.thread.stop(LIMIT)  # it has a second, and the CLI would read nothing for ever


def test_a_reload_of_an_instance_that_has_not_begun_loses_nothing(start: Callable[[], Running], project: Path) -> None:
    """A reload within a second of a reload, before the libraries are there."""
    running = start()
    cli, stream = running.listening()
    for _ in range(5):
        assert running.thread.stop(LIMIT, hand_over=True)
        running = start()
    assert list(stream) == []
    assert cli.ask("tools/list").status_code == 200
    assert running.lock()["authToken"] == cli.token


def test_a_reload_before_the_thread_has_begun_loses_nothing(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a thread may begin after the stop."""
    running = start()
    cli, stream = running.listening()
    begin, plain = threading.Event(), CompanionThread._run

    def late(thread: CompanionThread) -> None:
        begin.wait(LIMIT)
        plain(thread)

    assert running.thread.stop(LIMIT, hand_over=True)
    with monkeypatch.context() as patch:
        patch.setattr(CompanionThread, "_run", late)
        for _ in range(3):
            assert start().thread.stop(LIMIT, hand_over=True)
    running = start()
    begin.set()
    assert list(stream) == []
    assert cli.ask("tools/list").status_code == 200
    assert running.lock()["authToken"] == cli.token


def test_a_reload_while_the_libraries_are_imported_slowly_loses_nothing(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Libraries take longer than an instance waits for one that does nothing any more."""
    monkeypatch.setattr(handover, "WAIT", 0.2)
    monkeypatch.setattr(handover, "GRACE", 0.2)
    running = start()
    cli, stream = running.listening()
    slow, imported, plain = threading.Event(), threading.Semaphore(0), guard.check

    def check() -> Any:
        imported.release()
        slow.wait(LIMIT)
        return plain()

    monkeypatch.setattr(guard, "check", check)
    assert running.thread.stop(LIMIT, hand_over=True)
    second = start()
    assert imported.acquire(timeout=LIMIT)
    assert second.thread.stop(LIMIT, hand_over=True)
    third = start()
    assert third.thread.stop(LIMIT, hand_over=True)
    running = start()
    assert list(stream) == []
    waiting = cli.http.build_request("POST", "/mcp", json=LIST, headers=cli.headers())
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(cli.http.send, waiting)
        time.sleep(5 * handover.WAIT)
        assert not answer.done()
        slow.set()
        assert answer.result(LIMIT).status_code == 200
    assert running.lock()["authToken"] == cli.token


def test_a_package_that_is_not_loaded_again_says_so_and_goes_on_when_it_is(
    start: Callable[[], Running], unloaded: Cli
) -> None:
    """An upgrade whose new version fails to import."""
    with unloaded.again() as late:
        answer = until(lambda: late.ask("tools/list"))
        assert answer.status_code == 503
        assert "not loaded" in answer.json()["error"]["message"]
        start()
        until(lambda: late.ask("tools/list").status_code == 200)
        assert unloaded.ask("tools/list").status_code == 200


def test_an_upgrade_whose_libraries_fail_and_are_mended_loses_no_session(
    start: Callable[[], Running], editor: MemoryEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if another reload comes while they are broken. Meanwhile whoever asks is told."""
    monkeypatch.setattr(handover, "GRACE", 0.1)
    monkeypatch.setattr(thread, "RETRY", 0.01)
    running = start()
    cli, _ = running.listening()
    is_broken, plain = True, guard.check

    def check() -> Any:
        if is_broken:
            raise ImportError("No module named 'uvicorn'", name="uvicorn")
        return plain()

    monkeypatch.setattr(guard, "check", check)
    for _ in range(2):
        assert running.thread.stop(LIMIT, hand_over=True)
        running = start()
        until(lambda running=running: running.thread._asleep)
    with cli.again() as late:
        answer = until(lambda: late.ask("tools/list"))
        assert answer.status_code == 503
        assert "libraries" in answer.json()["error"]["message"]
    is_broken = False
    monkeypatch.setattr(guard, "_place", lambda _: object())
    until(lambda: running.thread._running)
    assert running.lock()["port"] == cli.port
    assert cli.ask("tools/list").status_code == 200
    assert len({message for message, _ in editor.said}) == 1


def test_an_instance_whose_libraries_fail_leaves_no_port_when_it_stops(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start()
    cli, _ = running.listening()

    def fail() -> None:
        raise ImportError("No module named 'uvicorn'", name="uvicorn")

    monkeypatch.setattr(guard, "check", fail)
    assert running.thread.stop(LIMIT, hand_over=True)
    running = start()
    until(lambda: running.thread._asleep)
    assert running.thread.stop(LIMIT)
    until(lambda: is_refused(cli.port))


def test_a_reload_without_free_file_descriptors_keeps_the_port_and_the_sessions(
    start: Callable[[], Running], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the connections that wait for a request are lost."""
    running = start()
    cli, stream = running.listening()
    with monkeypatch.context() as full:
        full.setattr(socket.socket, "dup", fail_for_descriptors)
        assert running.thread.stop(LIMIT, hand_over=True)
        until(sys.modules[HOLDER].left.is_set)
    running = start()
    assert list(stream) == []
    assert running.lock()["authToken"] == cli.token
    with cli.again() as again:
        assert again.ask("tools/list").status_code == 200


def fail_for_descriptors(_: socket.socket) -> socket.socket:
    raise OSError(errno.EMFILE, "Too many open files")


def test_windows_that_close_during_a_reload_are_given_up(start: Callable[[], Running]) -> None:
    running = start()
    for window in (2, 3):
        running.open_window(WindowId(window))
    ports = {window: running.lock(WindowId(window))["port"] for window in (1, 2, 3)}
    assert running.thread.stop(LIMIT, hand_over=True)
    for window in (2, 3):
        del running.editor.windows[window]
    start().lock()
    for window in (2, 3):
        until(lambda window=window: is_refused(ports[window]))
    assert running.editor.ports[1] == ports[1]


def test_a_client_that_says_nothing_holds_nobody_up_while_the_package_is_not_loaded(
    start: Callable[[], Running], unloaded: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "_REQUEST_LIMIT", 600.0)
    silent = [socket.create_connection(("127.0.0.1", unloaded.port), LIMIT) for _ in range(3)]
    try:
        with unloaded.again() as other:
            assert other.ask("tools/list").status_code == 503
        silent[0].sendall(b"GET /mcp HTTP/1.1\r\nhost: x\r\n\r\n")
        assert silent[0].recv(12) == b"HTTP/1.1 503"
    finally:
        for connection in silent:
            connection.close()
    assert start().lock()["port"] == unloaded.port


def test_clients_that_say_nothing_make_room_for_others_while_the_package_is_not_loaded(
    unloaded: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "_MOST_SILENT", 2)
    monkeypatch.setattr(handover, "_REQUEST_LIMIT", 600.0)
    silent = [socket.create_connection(("127.0.0.1", unloaded.port), LIMIT) for _ in range(4)]
    try:
        with unloaded.again() as other:
            assert other.ask("tools/list").status_code == 503
        assert silent[0].recv(1) == b""
    finally:
        for connection in silent:
            connection.close()


def test_a_machine_without_file_descriptors_is_not_kept_busy_while_the_package_is_not_loaded(
    unloaded: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client stays in the kernel's queue, so that its socket is ready all the time."""
    tries: list[object] = []

    def accept(listener: socket.socket) -> Any:
        tries.append(listener)
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as full:
        full.setattr(socket.socket, "accept", accept)
        waiting = socket.create_connection(("127.0.0.1", unloaded.port), LIMIT)
        time.sleep(5 * handover._LOOK)
    with waiting:
        assert 1 <= len(tries) <= 6
        waiting.sendall(b"GET /mcp HTTP/1.1\r\nhost: x\r\n\r\n")
        assert waiting.recv(12) == b"HTTP/1.1 503"


def test_a_client_that_comes_as_the_next_instance_takes_over_is_left_to_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "_REQUEST_LIMIT", 0.1)
    listener = listen()
    holder = handover.Holder()
    holder.put({WindowId(1): Inheritance(listener)}, threading.Thread(target=int))
    with listener, selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        with socket.create_connection(listener.getsockname(), LIMIT) as client:
            [(key, _)] = selector.select(LIMIT)
            assert holder.pop()
            handover._answer_one(key, holder, selector)
            accepted, address = listener.accept()
            with accepted:
                assert address == client.getsockname()


def test_a_request_that_never_ends_holds_nobody_up_while_the_package_is_not_loaded(
    start: Callable[[], Running], unloaded: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "_DRAIN_LIMIT", 0.5)
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):  # it is cut off
            while not over.wait(0.02):
                connection.sendall(b"x")

    with socket.create_connection(("127.0.0.1", unloaded.port), LIMIT) as endless:
        endless.sendall(b"POST /mcp HTTP/1.1\r\n\r\n")
        assert endless.recv(12) == b"HTTP/1.1 503"
        thread = threading.Thread(target=drip, args=(endless,))
        thread.start()
        try:
            with unloaded.again() as other:
                assert other.ask("tools/list").status_code == 503
        finally:
            over.set()
            thread.join()
    assert start().lock()["port"] == unloaded.port
