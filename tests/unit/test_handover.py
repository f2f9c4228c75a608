"""A reload: the next instance goes on with the sessions of the one before (issue: reload without loss; E1, E2)."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from companion import handover
from companion.handover import HOLDER, Inheritance
from companion.server.endpoint import listen

from .conftest import Running, until
from .wire import LIMIT


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    handover.give_up(handover.take())


def reload(running: Running, start: Callable[[], Running]) -> Running:
    """Unload the package and load it again."""
    assert running.thread.stop(LIMIT, hand_over=True)
    return start()


def test_a_session_continues_with_its_old_id(start: Callable[[], Running], project: Path) -> None:
    first = start()
    cli, stream = first.listening()
    known = cli.headers()["mcp-session-id"]
    second = reload(first, start)
    assert list(stream) == []
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
    assert second.sessions() != {known}


def test_a_session_continues_over_several_reloads_even_if_the_cli_was_silent(start: Callable[[], Running]) -> None:
    running = start()
    cli, _ = running.listening()
    for _ in range(3):
        running = reload(running, start)
    assert cli.ask("tools/list").status_code == 200
    running = reload(running, start)
    assert cli.ask("tools/list").status_code == 200


def test_the_port_and_the_token_stay_and_the_files_are_written_again(start: Callable[[], Running]) -> None:
    first = start()
    before = first.lock()
    second = reload(first, start)
    assert second.lock() == before


def test_open_diffs_are_rejected_before_the_streams_end(start: Callable[[], Running], project: Path) -> None:
    first = start()
    cli, stream = first.listening()
    cli.open_diff(str(project / "a.py"), "new\n")
    first.diff(str(project / "a.py"))
    reload(first, start)
    assert [message["method"] for message in stream] == ["ide/diffRejected"]


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
    left = handover.take()
    left[1].sessions[known] = "Another CLI"
    handover.leave(left)
    start()
    assert cli.ask("tools/list").status_code == 404


def test_an_unknown_session_is_still_unknown(start: Callable[[], Running]) -> None:
    first = start()
    cli, _ = first.listening()
    reload(first, start)
    assert cli.ask("tools/list", mcp_session_id="f" * 32).status_code == 404


def test_a_resumed_session_can_be_ended(start: Callable[[], Running]) -> None:
    first = start()
    cli, _ = first.listening()
    second = reload(first, start)
    assert cli.ask("tools/list").status_code == 200
    assert cli.send("DELETE").status_code == 200
    until(lambda: not second.sessions())
    assert cli.ask("tools/list").status_code == 404


def test_without_a_reload_nothing_is_left(start: Callable[[], Running]) -> None:
    running = start()
    cli, _ = running.listening()
    assert running.thread.stop(LIMIT)
    assert HOLDER not in sys.modules
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", cli.port), timeout=1)


def test_the_place_of_a_window_that_has_closed_is_given_up(start: Callable[[], Running]) -> None:
    running = start()
    running.open_window(2)
    port = running.do(lambda companion: companion._windows[2].endpoint.port)
    assert running.thread.stop(LIMIT, hand_over=True)
    del running.editor.windows[2]
    start().lock()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_what_nobody_takes_is_given_up_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover, "LIMIT", 0.01)
    listener = listen()
    handover.leave({1: Inheritance(listener)})
    until(lambda: listener.fileno() == -1)
    assert handover.take() == {}


def test_what_was_left_before_is_given_up_for_what_is_left_now() -> None:
    old, new = listen(), listen()
    handover.leave({1: Inheritance(old)})
    handover.leave({1: Inheritance(new, {"Qwen Code": "token"})})
    assert old.fileno() == -1
    assert handover.take()[1].tokens == {"Qwen Code": "token"}
    new.close()
