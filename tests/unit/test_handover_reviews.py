"""A reload keeps open reviews: their views and edits, their order, and the outcome for the same CLI."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from companion import companion as companion_module
from companion import handover
from companion.editor import ReviewId, WindowId
from companion.protocol import DiffOutcome
from companion.review import reviews as review_module
from companion.review.review import Request, Review, Unclaimed
from companion.review.reviews import Reviews
from companion.server import window as window_module

from .conftest import FIRST, Running, until
from .memory_editor import MemoryEditor
from .review.reviewing import reviews_in
from .wire import LIMIT, Cli, Stream

Start = Callable[[], Running]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    handover.give_up(handover.receive(handover.claim()), handover.NO_CHORES)


def unload(running: Running) -> None:
    """Unload the package, and wait until it has left everything. The views stay on the screen."""
    running.editor.leave()
    assert running.thread.stop(LIMIT, hand_over=True)
    assert sys.modules[handover.HOLDER].left.wait(LIMIT)


def reload(running: Running, start: Start) -> Running:
    """Unload the package, load it again, and wait until the new instance has taken up the diffs."""
    unload(running)
    again = start()
    until(lambda: again.do(lambda it: all(review.views is None for review in it.reviews)))
    return again


def outcomes(stream: Stream) -> list[dict[str, Any]]:
    return [message for message in stream if message["method"] != "ide/contextUpdate"]


def test_an_open_diff_is_accepted_after_a_reload_with_the_edits_from_before(start: Start, project: Path) -> None:
    running, path = start(), str(project / "a.py")
    cli, stream = running.listening()
    cli.open_diff(path, "new\r\n")
    running.diff(path).text = "mine\n"
    running = reload(running, start)
    assert outcomes(stream) == []
    stream = cli.listen()
    running.accept(path)
    assert stream.skip_to("ide/diffAccepted") == {"filePath": path, "content": "mine\r\n"}
    assert running.editor.open_diffs == {}
    assert len(running.editor.seen) == 1


def test_an_answer_that_is_given_before_the_cli_is_back_waits_for_it(start: Start, project: Path) -> None:
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    running.diff(path)
    running = reload(running, start)
    running.reject(path)
    running = reload(running, start)  # and one more reload in between
    assert cli.listen().skip_to("ide/diffRejected") == {"filePath": path}


def test_the_cli_closes_or_replaces_its_diffs_after_a_reload(start: Start, project: Path) -> None:
    running, one, other = start(), str(project / "a.py"), str(project / "b.py")
    cli, _ = running.listening()
    for path in (one, other):
        cli.open_diff(path, "new\n")
        running.diff(path).text = "mine\n"
    running = reload(running, start)
    assert cli.close_diff(one) == {"content": "mine\n"}
    cli.open_diff(other, "newer\n")
    until(lambda: [diff.text for diff in list(running.editor.open_diffs.values())] == ["newer\n"])
    assert [text for _, _, text, _ in running.editor.kept] == ["mine\n", "mine\n"]


def test_everything_that_is_known_of_a_review_goes_on(start: Start, project: Path) -> None:
    running, path = start(), project / "a.py"
    path.write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    cli, _ = running.listening()
    cli.open_diff(str(path), "a\nB\n")
    number = running.diff(str(path)).review.number
    running.do(lambda it: it.reviews.texts.keep_endings(number, keeps=True))
    before = running.do(lambda it: it.reviews.find(number))
    running = reload(running, start)
    after = running.do(lambda it: it.reviews.find(number))
    assert before
    assert after
    same = ("file_path", "proposed", "disk", "encodings", "disk_state", "seen", "endings", "keeps_endings", "is_shown")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
    stream = cli.listen()
    running.accept(str(path))
    assert stream.skip_to("ide/diffAccepted")["content"] == "\ufeffa\r\nB\r\n"


def test_a_proposal_that_was_not_on_the_screen_yet_is_shown_by_the_next_instance(start: Start, project: Path) -> None:
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    running.diff(path)
    running.editor.open_diffs.clear()  # its text was not complete
    assert running.thread.stop(LIMIT, hand_over=True)
    running = start()
    assert running.diff(path).text == "new\n"


def test_a_diff_whose_tab_was_closed_in_between_is_rejected(start: Start, project: Path) -> None:
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    running.diff(path)
    unload(running)
    running.editor.open_diffs.clear()
    start()
    assert cli.listen().skip_to("ide/diffRejected") == {"filePath": path}


def test_new_diffs_and_those_from_before_have_different_names(start: Start, project: Path) -> None:
    running = start()
    cli, _ = running.listening()
    for name in ("a.py", "b.py"):
        cli.open_diff(str(project / name), "new\n")
        running.diff(str(project / name))
    running.reject(str(project / "a.py"))
    running = reload(running, start)
    cli.open_diff(str(project / "c.py"), "new\n")
    numbers = {running.diff(str(project / name)).review.number for name in ("b.py", "c.py")}
    assert len(numbers) == 2


def test_the_diff_of_a_cli_that_does_not_come_back_is_an_orphan_until_it_does(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    running.diff(path)
    monkeypatch.setattr(window_module, "STREAM_GONE_LIMIT", 0.01)
    running = reload(running, start)
    until(lambda: running.diff(path).review.orphaned)
    stream = cli.listen()
    until(lambda: not running.diff(path).review.orphaned)
    running.accept(path)
    assert stream.skip_to("ide/diffAccepted")["content"] == "new\n"


def test_an_answer_can_be_taken_back_after_two_reloads_and_no_cli_is_told_anything(start: Start, project: Path) -> None:
    running, path = start(), str(project / "a.py")
    cli, stream = running.listening()
    cli.open_diff(path, "new\n")
    running.diff(path)
    running.do(lambda it: it.reviews.reject(running.diff(path).review.number, "mine\n"))
    assert stream.skip_to("ide/diffRejected") == {"filePath": path}
    for _ in range(2):
        running = reload(running, start)
    until(lambda: running.do(lambda it: it.changes.listing(FIRST).can_take_back))
    running.do(lambda it: it.decisions.take_back(FIRST))
    until(lambda: [text for _, _, text, _ in running.editor.kept] == ["mine\n"])
    until(lambda: not running.do(lambda it: it.changes.listing(FIRST).can_take_back))
    stream = cli.listen()
    cli.open_diff(other := str(project / "b.py"), "new\n")
    running.reject(other)
    assert stream.skip_to("ide/diffRejected") == {"filePath": other}


def test_an_answer_is_not_told_twice_if_no_instance_follows(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "GRACE", 0.1)
    running = start()
    cli, stream = running.listening()
    for name in ("a.py", "b.py"):
        cli.open_diff(str(project / name), "new\n")
        running.diff(str(project / name))
    running.reject(str(project / "a.py"))
    assert stream.skip_to("ide/diffRejected") == {"filePath": str(project / "a.py")}
    unload(running)
    until(lambda: running.editor.abandoned)
    assert [one["params"]["filePath"] for one in cli.listen()] == [str(project / "b.py")]


@pytest.mark.parametrize("is_written", [True, False], ids=["written", "not written"])
def test_whether_a_text_is_written_that_was_accepted_just_before_a_reload_is_looked_at_after_it(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch, *, is_written: bool
) -> None:
    """Only a text that nobody has written is kept, and that is said."""
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    running.accept(path, "mine\n")
    unload(running)
    if is_written:
        Path(path).write_text("mine\n")
    monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.05)
    running = start()
    until(lambda: not running.do(lambda it: it.reviews._writes.missing))
    assert [text for _, _, text, _ in running.editor.kept] == ([] if is_written else ["mine\n"])


def mixed(lines: int) -> str:
    return "".join(f"line {number}" + ("\r\n" if number % 3 else "\n") for number in range(lines))


@pytest.mark.parametrize("is_back", [True, False], ids=["back", "away"])
def test_a_large_text_that_is_accepted_just_before_a_reload_reaches_the_cli_after_it(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch, *, is_back: bool
) -> None:
    """Its line endings are restored by the next instance, if this one has no time for it."""
    goes_on, restored = threading.Event(), Review.restored
    monkeypatch.setattr(Review, "restored", lambda *args: (goes_on.wait(LIMIT), restored(*args))[1])
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, mixed(6000))
    running.accept(path, running.diff(path).text + "mine\n")
    unload(running)
    again = start()
    if is_back:
        stream = cli.listen()
        goes_on.set()
    else:
        goes_on.set()
        until(lambda: not again.do(lambda it: it.reviews._restoring))
        stream = cli.listen()
    assert stream.skip_to("ide/diffAccepted") == {"filePath": path, "content": mixed(6000) + "mine\r\n"}
    assert again.do(lambda it: list(it.reviews)) == []


def test_a_large_text_that_is_accepted_just_before_the_editor_quits_reaches_the_cli(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_over, restored = threading.Event(), Review.restored

    def restore(*args: Any) -> str:
        if threading.current_thread().name.startswith("qwen-companion-blocking"):
            is_over.wait(LIMIT)
        return restored(*args)

    monkeypatch.setattr(Review, "restored", restore)
    running, path = start(), str(project / "a.py")
    cli, stream = running.listening()
    cli.open_diff(path, mixed(6000))
    running.accept(path, running.diff(path).text + "mine\n")
    try:
        assert running.thread.stop(LIMIT)
        assert stream.skip_to("ide/diffAccepted") == {"filePath": path, "content": mixed(6000) + "mine\r\n"}
    finally:
        is_over.set()


def test_without_a_next_instance_each_diff_is_rejected_once_and_its_views_are_given_up(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package was disabled or removed. The CLI hears it on the stream that it asks for."""
    monkeypatch.setattr(handover, "GRACE", 0.3)
    running = start()
    cli, _ = running.listening()
    paths = [str(project / name) for name in ("a.py", "b.py")]
    for path in paths:
        cli.open_diff(path, "new\n")
    numbers = [running.diff(path).review.number for path in paths]
    unload(running)
    told = cli.listen()  # before the time is over: the kernel holds the request
    assert [(one["method"], one["params"]) for one in told] == [
        ("ide/diffRejected", {"filePath": path}) for path in paths
    ]
    assert running.editor.abandoned == numbers
    assert cli.ask("tools/list").status_code == 503
    again = start()  # it is loaded after all
    assert again.do(lambda it: list(it.reviews)) == []
    stream = cli.listen()
    stream.take("ide/contextUpdate")


def test_a_disk_that_hangs_takes_no_text_from_the_person_if_no_instance_follows(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they have edited is kept before the discovery files are removed."""
    monkeypatch.setattr(handover, "GRACE", 0.1)
    answers = threading.Event()
    monkeypatch.setattr(handover, "remove_if", lambda *_: answers.wait(LIMIT))
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    number = running.diff(path).review.number
    unload(running)
    try:
        until(lambda: running.editor.abandoned == [number], LIMIT / 4)
    finally:
        answers.set()


def test_a_stranger_hears_nothing_of_what_was_rejected(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "GRACE", 0.1)
    running, path = start(), str(project / "a.py")
    other = running.do(lambda it: it._windows[FIRST].endpoint.state.tokens["Gemini CLI"])
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    running.diff(path)
    unload(running)
    until(lambda: running.editor.abandoned)
    strangers = [{"authorization": f"Bearer {token}"} for token in ("x" * 43, other)]
    for changed in (*strangers, {"mcp_session_id": "0" * 32}):
        assert cli.get(**changed).status_code == 503
    assert [one["method"] for one in cli.listen()] == ["ide/diffRejected"]


def test_a_cli_whose_request_comes_in_two_parts_hears_what_was_rejected(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "GRACE", 0.1)
    running, path = start(), str(project / "a.py")
    cli, _ = running.listening()
    cli.open_diff(path, "new\n")
    running.diff(path)
    unload(running)
    until(lambda: running.editor.abandoned)
    head = b"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    rest = "".join(f"{name}: {value}\r\n" for name, value in cli.headers().items()) + "\r\n"
    with socket.create_connection(("127.0.0.1", cli.port), LIMIT) as connection:
        connection.sendall(head)
        with cli.again() as other:  # nobody waits for the rest
            assert other.ask("tools/list").status_code == 503
        connection.sendall(rest.encode())
        assert b"ide/diffRejected" in b"".join(iter(lambda: connection.recv(65536), b""))


def test_the_call_of_an_agent_that_waits_is_answered_after_a_reload(start: Start, project: Path) -> None:
    """Its answer is the outcome, which the next instance has."""
    running, path = start(), str(project / "a.py")
    guest = running.agent()
    answers: list[Any] = []
    asking = threading.Thread(
        target=lambda: answers.append(guest.tool("openDiff", filePath=path, newContent="new\n")["result"])
    )
    asking.start()
    running.diff(path)
    for _ in range(2):
        running = reload(running, start)
    running.accept(path, "mine\n")
    asking.join(LIMIT)
    [answer] = answers
    assert json.loads(answer["content"][0]["text"]) == {"outcome": "accepted", "content": "mine\n"}
    guest.__exit__()


def test_a_call_waits_for_the_person_however_long_after_a_reload_they_read(
    start: Start, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(companion_module, "LINGER", 0.1)
    running, path = start(), str(project / "a.py")
    guest = running.agent()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(guest.tool, "openDiff", filePath=path, newContent="new\n")
        running.diff(path)
        again = reload(running, start)
        before = running.thread._thread
        wait([answer], 1)  # much longer than the old instance waits for anything else
        again.accept(path, "mine\n")
        [told] = answer.result(LIMIT)["result"]["content"]
        assert json.loads(told["text"])["content"] == "mine\n"
    until(lambda: not before.is_alive())
    guest.__exit__()


@contextmanager
def waiting_call(running: Running, path: str) -> Iterator[tuple[Cli, socket.socket]]:
    """An agent, and the connection on which its call 9 waits for the outcome of a diff."""
    with running.agent() as guest, another_call(running, guest, path, 9) as connection:
        yield guest, connection


@contextmanager
def another_call(running: Running, guest: Cli, path: str, number: int) -> Iterator[socket.socket]:
    """The connection on which a call of an agent waits for the outcome of a diff."""
    params = {"name": "openDiff", "arguments": {"filePath": path, "newContent": "new\n"}}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
    headers = {**guest.headers(), "host": f"127.0.0.1:{guest.port}", "content-length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", guest.port), LIMIT) as connection:
        connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)
        running.diff(path)
        yield connection


@pytest.mark.parametrize("reloads", [1, 2])
def test_a_diff_whose_call_goes_away_after_a_reload_is_one_that_nobody_waits_for(
    start: Start, project: Path, reloads: int
) -> None:
    running, path = start(), str(project / "a.py")
    with waiting_call(running, path) as (_, connection):
        for _ in range(reloads):
            running = reload(running, start)
        assert not running.diff(path).review.orphaned
        connection.close()
        until(lambda: running.diff(path).review.orphaned)
    running.accept(path, "mine\n")
    assert "has disconnected" in running.editor.said[-1][0]


@pytest.mark.parametrize("reloads", [1, 2])
def test_a_call_that_is_cancelled_after_a_reload_ends_and_its_diff_stays(
    start: Start, project: Path, reloads: int
) -> None:
    running, path = start(), str(project / "a.py")
    with waiting_call(running, path) as (guest, connection):
        for _ in range(reloads):
            running = reload(running, start)
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
        assert guest.send("POST", "/mcp", message).status_code == 202
        connection.settimeout(LIMIT)
        assert b"The call was cancelled." in connection.recv(65536)
        until(lambda: running.diff(path).review.orphaned)


def test_each_call_can_be_cancelled_whichever_instance_it_was_made_to(start: Start, project: Path) -> None:
    running, paths = start(), [str(project / name) for name in ("a.py", "b.py")]
    with waiting_call(running, paths[0]) as (guest, first):
        running = reload(running, start)
        with another_call(running, guest, paths[1], 10) as second:
            running = reload(running, start)
            for number, connection in ((10, second), (9, first)):
                message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
                assert guest.send("POST", "/mcp", message).status_code == 202
                connection.settimeout(LIMIT)
                assert b"The call was cancelled." in connection.recv(65536)


# The permissions of a chat


class Chat:
    """What asks with a diff, before a reload and after it."""

    window = WindowId(1)
    is_model = False
    cli = "Agent"

    def __init__(self) -> None:
        self.heard: list[str | None] = []

    def handed_over(self) -> dict[str, Any]:
        return {}

    def notify(self, outcome: DiffOutcome) -> None:
        self.heard.append(outcome.content)


REQUEST = Request("old\n", is_here=False, is_editable=True)


def over_a_reload(
    test: Callable[[Reviews, MemoryEditor, Callable[[], Awaitable[object]]], Awaitable[None]],
) -> None:
    """Run a test with the reviews of the second instance, in which a permission of the first one is open."""

    async def main() -> None:
        tasks: list[asyncio.Task[object]] = []
        editor = MemoryEditor()
        settle = lambda: asyncio.gather(*tasks[:-1])  # noqa: E731 - the last one gives it up
        first = reviews_in(editor, lambda work: tasks.append(asyncio.create_task(work)))
        first.open(Chat(), "/none/a", "new\n", REQUEST)
        await asyncio.gather(*tasks)
        first.leaving()
        editor.leave()
        [left] = first.hand_over().values()
        tasks.clear()
        second = reviews_in(editor, lambda work: tasks.append(asyncio.create_task(work)))
        second.inherit(left, lambda one: Unclaimed(WindowId(1), one["cli"]))
        await second.resume()
        await test(second, editor, settle)
        for task in tasks:
            task.cancel()

    asyncio.run(main())


def test_the_diff_of_a_permission_stays_until_the_chat_asks_again_and_is_its_vote_then() -> None:
    async def test(reviews: Reviews, editor: MemoryEditor, settle: Callable[[], Awaitable[object]]) -> None:
        [diff] = editor.open_diffs.values()
        diff.text = "mine\n"
        review = reviews.open(chat := Chat(), "/none/a", "new\n", REQUEST)
        assert editor.open_diffs[review.number] is diff
        reviews.accept(review.number, diff.text)
        assert chat.heard == ["mine\n"]
        assert list(reviews) == []

    over_a_reload(test)


def test_a_permission_that_is_answered_before_the_chat_asks_again_is_voted_on_then() -> None:
    async def test(reviews: Reviews, editor: MemoryEditor, settle: Callable[[], Awaitable[object]]) -> None:
        [review] = reviews
        reviews.reject(review.number)
        reviews.open(chat := Chat(), "/none/a", "new\n", REQUEST)
        assert chat.heard == [None]
        assert list(reviews) == []
        assert editor.open_diffs == {}

    over_a_reload(test)


def test_another_proposal_of_the_chat_is_not_taken_for_the_one_from_before() -> None:
    async def test(reviews: Reviews, editor: MemoryEditor, settle: Callable[[], Awaitable[object]]) -> None:
        [before] = reviews
        assert reviews.open(Chat(), "/none/a", "newer\n", REQUEST) is not before
        assert len(list(reviews)) == 2

    over_a_reload(test)


def test_a_permission_that_no_chat_asks_for_again_closes_and_its_edits_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(review_module, "CLAIM_LIMIT", 0.05)

    async def test(reviews: Reviews, editor: MemoryEditor, settle: Callable[[], Awaitable[object]]) -> None:
        [diff] = editor.open_diffs.values()
        diff.text = "mine\n"
        async with asyncio.timeout(LIMIT):
            while editor.open_diffs or not editor.kept:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.01)
        assert [text for _, _, text, _ in editor.kept] == ["mine\n"]

    over_a_reload(test)


def test_a_reload_just_after_the_views_were_taken_up_loses_none_of_them() -> None:
    """The editor leaves them again before the companion has heard that it has them."""

    class Hasty(MemoryEditor):
        async def resume_reviews(self, reviews: Sequence[Review]) -> Sequence[ReviewId]:
            closed = await super().resume_reviews(reviews)
            self.leave()
            return closed

    async def test(reviews: Reviews, editor: MemoryEditor, settle: Callable[[], Awaitable[object]]) -> None:
        [left] = reviews.hand_over().values()
        again = reviews_in(hasty := Hasty(open_diffs=editor.open_diffs), lambda work: work.close())
        again.inherit(left, lambda one: Unclaimed(WindowId(1), one["cli"]))
        await again.resume()
        [[one]] = again.hand_over().values()
        assert one["views"]
        assert hasty.seen == []

    def leaves_at_once(reviews: Reviews, editor: MemoryEditor, settle: Callable[[], Awaitable[object]]) -> Any:
        editor.leave()
        return test(reviews, editor, settle)

    over_a_reload(leaves_at_once)
