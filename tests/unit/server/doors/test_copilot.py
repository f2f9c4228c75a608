"""Copilot CLI at a window's Unix socket: who is let in, what it is told, and how a diff is answered."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from companion import handover
from companion.background import LoopTasks
from companion.clis.discovery import clear_leftovers
from companion.clis.families import COPILOT_CLI
from companion.companion import Companion
from companion.editor import WindowId
from companion.platforms import local_sockets
from companion.review import reviews as review_module
from companion.server import offer
from companion.server.doors.copilot import MOST_TITLE, TOOLS
from companion.server.http import access
from companion.server.window_screen import Selected, Selection
from companion.settings import Settings

from ...conftest import FIRST, Running, until
from ...test_handover_reviews import reload, unload
from ...wire import LIMIT, Cli
from .client import lock_of as claude_lock

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a named pipe there")
NAMES = ("uri", "original_file_path", "new_file_contents", "tab_name", "name")
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())
Connect = Callable[..., "Copilot"]


def lock_of(running: Running, window: int = FIRST) -> dict[str, Any]:
    """The lock file of a window, and its `path`."""
    port = running.do(lambda companion: companion._windows[WindowId(window)].endpoint.port)
    path = Path(os.environ["HOME"], ".copilot", "ide", f"7b0ca9b1-1de0-4d5e-8c0b-0000000{port}.lock")
    until(path.exists)
    return {**json.loads(path.read_text("utf-8")), "path": path}


class Copilot(Cli):
    """The CLI's side of the socket. It sends its requests in chunks, as the real one does."""

    def __init__(self, lock: dict[str, Any]) -> None:
        super().__init__({"port": 0, "authToken": ""})
        self.nonce: str | None = lock["headers"]["Authorization"]
        transport = httpx2.HTTPTransport(uds=lock["socketPath"])
        self.http = httpx2.Client(base_url="http://localhost", timeout=LIMIT, transport=transport)

    def headers(self, **changes: str | None) -> dict[str, str]:
        return super().headers(**{"authorization": self.nonce, **changes})

    def send(
        self, method: str = "POST", path: str | None = None, body: object = None, **headers: str | None
    ) -> httpx2.Response:
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        pieces = iter([content[:10], content[10:]])
        return self.http.request(method, path or self.path, content=pieces, headers=self.headers(**headers))

    def told(self, name: str, /, **arguments: object) -> Any:
        """The JSON in the text of a tool's result."""
        return json.loads(self.tool(name, **arguments)["result"]["content"][0]["text"])

    def propose(self, path: str, content: str, tab: str = "a tab") -> list[dict[str, Any]]:
        """Ask for a diff on another thread. The answer will be in the list."""
        answers: list[dict[str, Any]] = []
        other = Copilot.__new__(Copilot)
        other.__dict__ = dict(self.__dict__)
        arguments = {"original_file_path": path, "new_file_contents": content, "tab_name": tab}
        self._number += 100
        other._number = self._number
        threading.Thread(target=lambda: answers.append(other.told("open_diff", **arguments)), daemon=True).start()
        return answers


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    handover.give_up(handover.receive(handover.claim()), handover.NO_CHORES)


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connects CLIs, each with its stream open, and drops them after the test."""
    with_streams: list[Copilot] = []

    def connect(running: Running, window: int = FIRST) -> Copilot:
        cli = Copilot(lock_of(running, window))
        with_streams.append(cli)
        return cli.connect()

    yield connect
    for cli in with_streams:
        cli.__exit__()


def select(running: Running, path: str) -> None:
    """The person selects the second line of a file."""
    start, end = Selection(2, 1, "two"), Selection(2, 4)
    running.editor.selected_now = Selected(path, ((start, end, False),))
    running.editor.selections[7] = Selection(2, 4, "two")
    running.focus(7, path)


def the_diff(running: Running) -> Any:
    """The only review that is open."""
    return until(lambda: running.do(lambda companion: next(iter(companion.reviews), None)))


def test_the_lock_file_says_what_the_cli_reads_and_only_this_user_can_reach_the_socket(running: Running, project: Path):
    lock = lock_of(running)
    assert lock["workspaceFolders"] == [str(project)]
    assert (lock["scheme"], lock["pid"], lock["ideName"]) == ("pipe", os.getpid(), "Sublime Text")
    assert "isTrusted" not in lock  # only the person says that
    path = Path(lock["socketPath"])
    assert stat.S_IMODE(lock["path"].stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert len(os.fsencode(path)) <= local_sockets.LONGEST


def test_a_closed_window_leaves_neither_lock_file_nor_socket_and_others_stay(running: Running, home: Path):
    lock = lock_of(running)
    other = home / ".copilot" / "ide" / "11111111-2222-3333-4444-555555555555.lock"
    body = {"pid": 2**30, "ideName": "Sublime Text", "socketPath": lock["socketPath"]}
    other.write_text(json.dumps(body))
    running.close_window(FIRST)
    until(lambda: not lock["path"].exists() and not Path(lock["socketPath"]).exists())
    assert json.loads(other.read_text()) == body


def test_a_socket_that_a_crashed_editor_has_left_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "")
    monkeypatch.setenv("TMPDIR", "")
    first = local_sockets.listen(f"test-{os.getpid()}.sock")
    path = first.getsockname()
    with pytest.raises(OSError, match="in use"):
        local_sockets.listen(f"test-{os.getpid()}.sock")
    first.close()
    assert os.path.exists(path)
    second = local_sockets.listen(f"test-{os.getpid()}.sock")
    assert second.getsockname() == path
    local_sockets.remove(second)
    assert not os.path.exists(path)


def test_a_folder_that_another_window_has_just_removed_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(local_sockets, "LONGEST", 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    sweep, removed = local_sockets._sweep, list[str]()

    def removes(folder: str) -> None:
        sweep(folder)
        if not removed:
            removed.append(folder)
            os.rmdir(folder)

    monkeypatch.setattr(local_sockets, "_sweep", removes)
    listener = local_sockets.listen("1.sock")
    assert Path(listener.getsockname()).parent == Path(removed[0])
    local_sockets.remove(listener)
    assert not Path(removed[0]).exists()


def test_a_folder_for_sockets_that_is_a_link_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert sys.platform != "win32"
    (tmp_path / "r").mkdir()
    (tmp_path / "theirs").mkdir()
    (tmp_path / "r" / f"qwen-companion-{os.getuid()}").symlink_to(tmp_path / "theirs")
    monkeypatch.setattr(local_sockets, "LONGEST", 1000)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "r"))
    with pytest.raises(OSError, match="is a symbolic link"):
        local_sockets.listen("1.sock")
    assert list((tmp_path / "theirs").iterdir()) == []


def test_where_no_socket_can_be_opened_one_sentence_says_so_and_no_lock_file_is_written(
    start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, home: Path
):
    monkeypatch.setattr(local_sockets, "LONGEST", 1)
    running = start()
    running.lock()
    until(lambda: any("Copilot CLI can't find this editor" in str(said) for said in running.editor.said))
    assert not (home / ".copilot" / "ide").exists()


def test_a_socket_that_can_not_be_opened_is_tried_again(ticking: Running, monkeypatch: pytest.MonkeyPatch):
    """Such as on a machine that has no file descriptor for it at the moment."""
    lock = lock_of(ticking)
    longest = local_sockets.LONGEST
    monkeypatch.setattr(local_sockets, "LONGEST", 1)
    os.unlink(lock["socketPath"])
    said = lambda: [text for text, _ in ticking.editor.said if "Copilot CLI can't find this editor" in text]  # noqa: E731
    until(said)
    until(lambda: not lock["path"].exists())
    monkeypatch.setattr(local_sockets, "LONGEST", longest)
    until(lambda: os.path.exists(lock["socketPath"]))
    until(lock["path"].exists)
    until(lambda: said()[0] in ticking.editor.settled)
    assert len(said()) == 1


@pytest.mark.parametrize("nonce", [None, "", "Nonce", "Nonce wrong", "Bearer {own}", "Nonce {qwen}", "Nonce {claude}"])
def test_without_the_nonce_of_the_lock_file_nobody_is_let_in(running: Running, nonce: str | None):
    lock = lock_of(running)
    own = lock["headers"]["Authorization"].partition(" ")[2]
    tokens = {"own": own, "qwen": running.lock()["authToken"], "claude": claude_lock(running)["authToken"]}
    cli = Copilot(lock)
    cli.nonce = nonce.format(**tokens) if nonce is not None else None
    for method in ("POST", "GET", "DELETE"):
        assert cli.send(method, body={"jsonrpc": "2.0", "id": 1, "method": "initialize"}).status_code == 401
    cli.__exit__()
    # Nobody from elsewhere comes to a socket of this machine.
    assert not running.do(lambda companion: companion.state_elsewhere(WindowId(FIRST), "over SSH")).refused


def test_a_socket_that_somebody_has_removed_is_opened_again(ticking: Running, connect: Connect):
    """Such as whatever cleans the folder for temporary files."""
    lock = lock_of(ticking)
    before = connect(ticking)
    os.unlink(lock["socketPath"])
    until(lambda: os.path.exists(lock["socketPath"]))
    until(lambda: not ticking.do(lambda it: it._windows[FIRST]._local.is_due))
    assert connect(ticking).told("get_vscode_info")
    assert before.told("get_vscode_info")


def test_the_socket_is_opened_by_one_look_at_a_time(running: Running, monkeypatch: pytest.MonkeyPatch):
    lock_of(running)
    door = running.do(lambda companion: companion._windows[WindowId(FIRST)]._local)
    inside: list[int] = []

    async def slow(_: object) -> None:
        inside.append(1)
        await asyncio.sleep(0.05)

    monkeypatch.setattr(type(door.server), "stop_accepting", slow)
    monkeypatch.setattr(type(door.server), "open", lambda *_: asyncio.sleep(0))

    async def three_looks() -> None:
        await asyncio.gather(*(door.open() for _ in range(3)))

    looks = running.do(lambda _: asyncio.ensure_future(three_looks()))
    until(looks.done)
    assert inside == [1]
    monkeypatch.undo()


def test_the_nonce_opens_no_other_door(running: Running):
    cli = running.cli()
    cli.token = lock_of(running)["authToken"]
    assert cli.ask("initialize").status_code == 401


def test_the_server_has_the_name_that_the_cli_looks_for(running: Running):
    cli = Copilot(lock_of(running))
    assert cli.initialize()["serverInfo"]["name"] == "vscode-copilot-cli"
    cli.initialized()
    assert cli.tools() == {
        "get_vscode_info", "get_selection", "get_diagnostics", "open_diff", "close_diff", "update_session_name"
    }  # fmt: skip
    assert cli.send(path="/other").status_code == 404
    cli.__exit__()


def test_a_newer_handshake_is_refused_and_leaves_no_session(running: Running):
    """The CLI would go on with the id of a session that the refusal names."""
    cli = Copilot(lock_of(running))
    answer = cli.ask("server/discover")
    assert answer.status_code == 400
    assert "mcp-session-id" not in answer.headers
    assert running.do(lambda companion: len(companion._windows[FIRST]._local.app.manager._server_instances)) == 0
    cli.connect()
    cli.__exit__()


def test_a_cli_that_was_suspended_hears_the_last_selection(running: Running, connect: Connect, path: str):
    stream = connect(running).listen()

    def choose(words: str) -> None:
        running.editor.selected_now = Selected(path, ((Selection(2, 1, words), Selection(2, 4), False),))
        running.editor.selections[7] = Selection(2, 4, words)
        running.focus(7, path)

    def is_full(companion: Companion) -> bool:
        return any(one.flow.write_paused for one in companion._windows[FIRST]._local.server.connections)

    def hold_less(companion: Companion) -> None:
        for one in companion._windows[FIRST]._local.server.connections:
            one.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)

    running.do(hold_less)
    for number in range(500):
        choose(f"{number} " + "x" * 16_000)
        time.sleep(0.06)
        if running.do(is_full):
            break
    choose("the last one")
    time.sleep(1)  # it reads nothing yet
    assert running.do(is_full)
    while stream.skip_to("selection_changed")["text"] != "the last one":
        pass


def test_the_selection_and_the_problems_are_told_as_they_change(running: Running, connect: Connect, path: str):
    cli = connect(running)
    stream = cli.listen()
    select(running, path)
    told = stream.skip_to("selection_changed")
    while told["filePath"] != path:
        told = stream.skip_to("selection_changed")
    start, end = {"line": 1, "character": 0}, {"line": 1, "character": 3}
    assert (told["text"], told["fileUrl"]) == ("two", Path(path).as_uri())
    assert told["selection"] == {"start": start, "end": end, "isEmpty": False}
    assert cli.told("get_selection") == {"current": True, **told}


@pytest.mark.parametrize("settings", [Settings(context="off"), Settings(context_exclude=("*.py",))])
def test_what_the_settings_keep_back_is_not_told(
    start: Callable[..., Running], connect: Connect, path: str, settings: Settings
):
    running = start(settings)
    cli = connect(running)
    select(running, path)
    assert path not in cli.tool("get_selection")["result"]["content"][0]["text"]
    assert path not in str(cli.tool("get_diagnostics"))


def test_an_accepted_diff_is_the_answer_of_its_call(running: Running, connect: Connect, path: str):
    cli = connect(running)
    stream = cli.listen()
    answers = cli.propose(path, "new\n")
    review = the_diff(running)
    assert review.owner.cli == "Copilot CLI"
    running.do(lambda companion: companion.reviews.accept(review.number, "new\n"))
    [answer] = until(lambda: answers)
    assert (answer["result"], answer["trigger"], answer["tab_name"]) == ("SAVED", "accepted_via_button", "a tab")
    Path(path).write_text("new\n")  # as the CLI does
    stream.close()


def test_a_diff_knows_since_when_its_cli_is_connected(running: Running, connect: Connect, path: str):
    """What was written into its transcript before is no reason for it."""
    before = time.time()
    cli = connect(running)
    after = time.time()
    answers = cli.propose(path, "new\n")
    review = the_diff(running)
    assert before <= review.connected <= after
    running.do(lambda companion: companion.reviews.reject(review.number))
    until(lambda: answers)


def test_what_the_person_has_edited_is_written_over_what_the_cli_writes(running: Running, connect: Connect, path: str):
    cli = connect(running)
    answers = cli.propose(path, "new\n")
    review = the_diff(running)
    running.do(lambda companion: companion.reviews.accept(review.number, "mine\n"))
    until(lambda: answers)
    Path(path).write_text("new\n")
    until(lambda: Path(path).read_text() == "mine\n")


@pytest.mark.parametrize("mine", ["new\nlines\n", "my\nlines\n"])
def test_the_line_endings_and_the_mark_that_the_person_has_kept_are_written_as_well(
    running: Running, connect: Connect, path: str, mine: str
):
    Path(path).write_bytes(b"\xef\xbb\xbfold\r\nlines\r\n")
    cli = connect(running)
    answers = cli.propose(path, "new\nlines\n")
    review = the_diff(running)
    number = review.number
    until(lambda: review.is_shown)
    running.do(lambda companion: companion.reviews.texts.keep_endings(number, keeps=True))
    running.do(lambda companion: companion.reviews.accept(number, mine))
    until(lambda: answers)
    Path(path).write_bytes(b"new\nlines\n")
    until(lambda: Path(path).read_bytes() == b"\xef\xbb\xbf" + mine.replace("\n", "\r\n").encode())


def test_what_another_has_written_instead_is_not_overwritten(running: Running, connect: Connect, path: str):
    cli = connect(running)
    answers = cli.propose(path, "new\n")
    review = the_diff(running)
    running.do(lambda companion: companion.reviews.accept(review.number, "mine\n"))
    until(lambda: answers)
    Path(path).write_text("others\n")
    until(lambda: any("mine" in str(kept) for kept in running.editor.kept))
    assert Path(path).read_text() == "others\n"


def test_a_rejected_diff_is_answered_so(running: Running, connect: Connect, path: str):
    cli = connect(running)
    answers = cli.propose(path, "new\n")
    review = the_diff(running)
    running.do(lambda companion: companion.reviews.reject(review.number))
    assert until(lambda: answers)[0]["result"] == "REJECTED"


def test_the_cli_closes_its_own_diff(running: Running, connect: Connect, path: str):
    cli, other = connect(running), connect(running)
    answers = cli.propose(path, "new\n")
    the_diff(running)
    assert other.told("close_diff", tab_name="a tab")["already_closed"]
    assert not cli.told("close_diff", tab_name="a tab")["already_closed"]
    answer = until(lambda: answers)[0]
    assert (answer["result"], answer["trigger"]) == ("REJECTED", "closed_via_tool")
    until(lambda: not running.do(lambda companion: list(companion.reviews)))


async def test_a_diff_that_the_cli_closes_does_not_stay_open_if_the_call_is_given_up_in_the_same_moment():
    closed: list[str] = []

    async def close(_: offer.Asking, path: str) -> None:
        closed.append(path)

    reviews = SimpleNamespace(open=lambda *_, **__: SimpleNamespace(), close=close)
    server: Any = SimpleNamespace(reviews=reviews, background=LoopTasks())
    asking = offer.Asking(FIRST, "Copilot CLI", is_model=False)
    call = asyncio.create_task(offer.decided(server, asking, "/a.txt", "new\n"))
    await asyncio.sleep(0)
    asking.close()
    call.cancel()
    await asyncio.wait([call])
    await asyncio.sleep(0)
    assert closed == ["/a.txt"]


def test_a_diff_that_is_closed_while_the_disk_is_slow_never_opens(
    running: Running, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
):
    disk, is_asked = threading.Event(), threading.Event()

    def look(_: str) -> str:
        is_asked.set()
        return "" if disk.wait(LIMIT) else "is on a disk that hangs"

    monkeypatch.setattr(offer, "refusal", look)
    cli = connect(running)
    answers = cli.propose(path, "new\n")
    assert is_asked.wait(LIMIT)
    assert not cli.told("close_diff", tab_name="a tab")["already_closed"]
    disk.set()
    assert until(lambda: answers)[0]["trigger"] == "closed_via_tool"
    assert running.do(lambda companion: list(companion.reviews)) == []


def test_no_more_diffs_wait_than_a_person_could_answer(
    running: Running, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(offer, "MOST_CALLS", 1)
    cli = connect(running)
    answers = cli.propose(path, "new\n")
    review = the_diff(running)
    arguments = {"original_file_path": path, "new_file_contents": "other\n", "tab_name": "another tab"}
    assert "too many calls" in cli.tool("open_diff", **arguments)["result"]["content"][0]["text"]
    running.do(lambda companion: companion.reviews.reject(review.number))
    until(lambda: answers)


def test_a_cli_that_goes_away_leaves_a_diff_that_nobody_waits_for(running: Running, path: str):
    assert sys.platform != "win32"
    lock = lock_of(running)
    cli = Copilot(lock).connect()
    body = {"original_file_path": path, "new_file_contents": "new\n", "tab_name": "t"}
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "open_diff", "arguments": body}}
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(lock["socketPath"])
        content = json.dumps(message).encode()
        head = "".join(f"{name}: {value}\r\n" for name, value in cli.headers().items())
        raw.sendall(f"POST /mcp HTTP/1.1\r\nhost: x\r\n{head}content-length: {len(content)}\r\n\r\n".encode() + content)
        review = the_diff(running)
        raw.shutdown(socket.SHUT_WR)
    until(lambda: review.orphaned)
    cli.__exit__()


@pytest.mark.parametrize(
    "arguments",
    [{}, {"original_file_path": "relative", "new_file_contents": "", "tab_name": ""}, {"tab_name": 1}],
)
def test_wrong_arguments_are_answered_with_what_is_wrong(running: Running, connect: Connect, arguments: dict[str, Any]):
    cli = connect(running)
    assert cli.tool("open_diff", **arguments)["result"]["isError"]
    assert cli.tool("get_selection")["result"]


def test_a_body_of_any_length_in_chunks_is_cut_off(running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch):
    cli = connect(running)
    monkeypatch.setattr(access, "ROOM", 1000)
    monkeypatch.setattr(access, "ROOM_FOR_SMALL", 0)
    assert cli.ask("tools/list").status_code == 503
    monkeypatch.undo()
    assert cli.tools()


def test_what_is_no_request_ends_its_own_connection_only(running: Running, connect: Connect):
    assert sys.platform != "win32"
    cli = connect(running)
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(lock_of(running)["socketPath"])
        raw.sendall(b"\x00\xff" * 1000 + b"\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert cli.tools()


def test_a_call_with_the_id_of_one_that_waits_leaves_that_as_it_is(running: Running, connect: Connect, path: str):
    cli = connect(running)
    answers = cli.propose(path, "new\n")
    review = the_diff(running)
    assert cli.told("get_vscode_info")
    running.accept(path)
    until(lambda: answers)
    assert answers[0]["result"] == "SAVED"
    assert not review.orphaned


def test_the_name_of_a_conversation_is_the_title_of_its_diffs_also_after_a_reload(
    start: Callable[[], Running], connect: Connect, path: str
):
    running = start()
    cli, other = connect(running), connect(running)
    assert cli.told("update_session_name", name="Mend the clock") == {"success": True}
    answers = [cli.propose(path, "new\n")]
    assert the_diff(running).title == "Mend the clock"
    running = reload(running, start)
    assert the_diff(running).title == "Mend the clock"
    for one, title in ((cli, "Mend the clock"), (other, "")):
        second = f"{path}{title[:1]}2"
        answers.append(one.propose(second, "newer\n"))
        found = until(lambda second=second: [each for each in reviews(running) if each.file_path == second])
        assert found[0].title == title
    for review in reviews(running):
        running.do(lambda companion, review=review: companion.reviews.reject(review.number))
    until(lambda: all(answers))


def test_a_name_of_any_length_is_kept_short_and_goes_with_its_session(running: Running, connect: Connect):
    with connect(running) as cli:
        cli.told("update_session_name", name="x" * 100_000)
        assert [len(one) for one in titles(running)] == [MOST_TITLE]
    until(lambda: titles(running) == [])


def reviews(running: Running) -> list[Any]:
    return running.do(lambda companion: list(companion.reviews))


def titles(running: Running) -> list[str]:
    return running.do(lambda companion: list(companion._windows[FIRST].endpoint.state.titles.values()))


def test_arguments_of_any_kind_get_an_answer_and_end_nothing(running: Running, connect: Connect):
    cli = connect(running)
    stream = cli.listen()  # a session without one ends after a while, such as on a busy machine

    @limits(max_examples=100, deadline=None)
    @given(st.sampled_from((*TOOLS, "nothing")), st.dictionaries(st.sampled_from(NAMES), ANYTHING) | ANYTHING)
    def call(name: str, arguments: Any):
        answer = cli.ask("tools/call", {"name": name, "arguments": arguments})
        assert answer.json().keys() & {"result", "error"}

    call()
    assert not running.do(lambda companion: list(companion.reviews))
    assert cli.tools()
    stream.close()


def test_a_file_that_a_crashed_editor_has_left_is_removed_and_anothers_stays(running: Running):
    folder = lock_of(running)["path"].parent
    body = json.loads(lock_of(running)["path"].read_text())
    left = folder / "7b0ca9b1-1de0-4d5e-8c0b-000000012345.lock"
    left.write_text(json.dumps(body | {"ppid": 2**30}))
    others = {folder / "11111111-2222-3333-4444-555555555555.lock": body | {"ppid": 2**30}}
    others[folder / "7b0ca9b1-1de0-4d5e-8c0b-000000012346.lock"] = {"pid": 2**30, "ideName": "Visual Studio Code"}
    for path, written in others.items():
        path.write_text(json.dumps(written))
    clear_leftovers([COPILOT_CLI], lambda pid, _: pid == os.getpid())  # the start of the companion may have come first
    assert not left.exists()
    assert lock_of(running)
    assert {path: json.loads(path.read_text()) for path in others} == others


def test_another_folder_changes_the_lock_file_in_its_place(ticking: Running, tmp_path: Path, project: Path):
    """The CLI takes a file that is replaced for an editor that has ended, and gives up its open diffs."""
    path = lock_of(ticking)["path"]
    before = path.stat().st_ino

    ticking.editor.windows[FIRST] = (str(tmp_path), str(project))
    until(lambda: json.loads(path.read_text())["workspaceFolders"] == [str(tmp_path), str(project)])
    assert path.stat().st_ino == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_reload_keeps_the_socket_the_session_and_an_open_diff(
    start: Callable[[], Running], connect: Connect, path: str
):
    running = start()
    cli = connect(running)
    lock = lock_of(running)
    answers = cli.propose(path, "new\n")
    the_diff(running)
    file = lock["path"].stat().st_ino
    running = reload(running, start)
    again = lock_of(running)
    assert again["path"].stat().st_ino == file
    assert (again["socketPath"], again["headers"]) == (lock["socketPath"], lock["headers"])
    review = the_diff(running)
    assert cli.tools()
    running.do(lambda companion: companion.reviews.accept(review.number, "mine\n"))
    assert until(lambda: answers)[0]["result"] == "SAVED"
    Path(path).write_text("new\n")
    until(lambda: Path(path).read_text() == "mine\n")


def test_the_cli_closes_a_diff_from_before_a_reload(start: Callable[[], Running], connect: Connect, path: str):
    running = start()
    cli = connect(running)
    answers = cli.propose(path, "new\n")
    the_diff(running)
    running = reload(running, start)
    the_diff(running)
    assert not cli.told("close_diff", tab_name="a tab")["already_closed"]
    assert until(lambda: answers)[0]["trigger"] == "closed_via_tool"
    assert the_diff(running).orphaned or until(lambda: the_diff(running).orphaned)


def test_an_instance_that_nobody_follows_removes_its_socket(start: Callable[[], Running], path: str):
    running = start()
    lock = lock_of(running)
    unload(running)
    assert lock["path"].exists()
    assert Path(lock["socketPath"]).exists()
    handover.give_up(handover.receive(handover.claim()), handover.NO_CHORES)
    assert not lock["path"].exists()
    assert not Path(lock["socketPath"]).exists()


def test_a_cli_that_asks_a_package_that_is_disabled_is_told_so_and_its_file_goes(
    start: Callable[[], Running], connect: Connect, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(handover, "GRACE", 0.1)
    running = start()
    cli = connect(running)
    lock = lock_of(running)
    unload(running)
    until(lambda: not lock["path"].exists() and not Path(lock["socketPath"]).exists())
    assert cli.ask("tools/list").status_code == 503


def test_an_acceptance_after_a_reload_that_the_cli_does_not_write_is_kept_in_a_tab(
    start: Callable[[], Running], connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(review_module, "WRITE_LIMIT", 0.5)
    running = start()
    answers = connect(running).propose(path, "new\n")
    the_diff(running)
    running = reload(running, start)
    review = the_diff(running)
    running.do(lambda companion: companion.reviews.accept(review.number, "mine\n"))
    assert until(lambda: answers)[0]["result"] == "SAVED"
    until(lambda: any("mine" in str(kept) for kept in running.editor.kept))
