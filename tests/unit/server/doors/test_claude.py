"""Claude Code and OpenCode at a window's WebSocket: who is let in, what they are told, and how a diff is answered."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from companion.clis.families import CLAUDE_CODE, OPENCODE
from companion.editor import WindowId
from companion.server import knowledge, offer, sessions
from companion.server.doors import claude
from companion.server.window_screen import Selected, Selection, Tab
from companion.settings import Settings

from ...conftest import FIRST, Running, until
from ...wire import LIMIT
from .client import TOKEN, Client, lock_of, texts
from .conftest import Connect


def select(running: Running, path: str) -> None:
    """The person selects the second line of a file."""
    start, end = Selection(2, 1, "two"), Selection(2, 4)
    running.editor.selected_now = Selected(path, ((start, end, False),))
    running.editor.selections[7] = Selection(2, 4, "two")
    running.focus(7, path)


def test_the_lock_file_says_what_the_cli_reads_and_only_this_user_can_read_it(running: Running, project: Path):
    lock = lock_of(running)
    body = {name: lock[name] for name in ("pid", "workspaceFolders", "ideName", "transport")}
    assert body == {
        "pid": os.getpid(), "workspaceFolders": [str(project)], "ideName": "Sublime Text", "transport": "ws"
    }  # fmt: skip
    if os.name != "nt":
        assert stat.S_IMODE(lock["path"].stat().st_mode) == 0o600
        assert stat.S_IMODE(lock["path"].parent.stat().st_mode) == 0o700


def test_the_lock_file_of_another_package_for_the_same_editor_is_left_alone(running: Running, home: Path):
    path = home / ".claude" / "ide" / "1.lock"
    until(path.parent.is_dir)
    body = {"pid": 2**30, "workspaceFolders": [], "ideName": "Sublime Text", "transport": "ws", "authToken": "x"}
    path.write_text(json.dumps(body))
    own = lock_of(running)["path"]
    running.close_window(WindowId(1))
    until(lambda: not own.exists())
    assert json.loads(path.read_text()) == body


@pytest.mark.parametrize(
    ("headers", "host", "status"),
    [
        ({}, "", 401),
        ({TOKEN: "wrong"}, "", 401),
        ({TOKEN: ""}, "", 401),
        ({TOKEN: "é"}, "", 401),
        ({"authorization": "Bearer {token}"}, "", 401),
        ({TOKEN: "{qwen}"}, "", 401),
        ({TOKEN: "{token}"}, "evil.example", 403),
        ({TOKEN: "{token}", "origin": "https://evil.example"}, "", 403),
        ({TOKEN: "{token}", "origin": "null"}, "", 403),
        ({TOKEN: "{token}"}, "", 101),
    ],
)
def test_who_is_let_in(running: Running, headers: dict[str, str], host: str, status: int):
    lock, qwen = lock_of(running), running.lock()["authToken"]
    given = {name: value.format(token=lock["authToken"], qwen=qwen) for name, value in headers.items()}
    client = Client(lock["port"], given, host)
    assert client.status == status
    client.close()


def test_the_token_of_the_websocket_opens_nothing_of_the_http_server(running: Running):
    cli = running.cli()
    cli.token = lock_of(running)["authToken"]
    assert cli.ask("initialize").status_code == 401


def test_the_handshake_answers_with_the_revision_that_was_asked_for(running: Running, connect: Connect):
    lock = lock_of(running)
    client = Client(lock["port"], {TOKEN: lock["authToken"]})
    assert client.subprotocol == "mcp"
    assert client.ask("tools/list")["error"]["code"] == -32600
    assert client.ask("ping")["result"] == {}
    result = client.ask("initialize", protocolVersion="2025-03-26", clientInfo={"name": "claude-code"})["result"]
    assert result["protocolVersion"] == "2025-03-26"
    assert "error" in client.ask("initialize", protocolVersion="2025-03-26")
    other = Client(lock["port"], {TOKEN: lock["authToken"]})
    assert other.ask("initialize", protocolVersion="2030-01-01")["result"]["protocolVersion"] == "2025-11-25"
    for one in (client, other):
        one.close()


def test_nothing_that_runs_code_is_offered(running: Running, connect: Connect):
    client = connect(running)
    names = [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]]
    assert "executeCode" not in names
    assert set(names) >= {"openDiff", "close_tab", "closeAllDiffTabs", "getDiagnostics"}
    assert client.answer(client.start("executeCode", code="1"))["error"]["code"] == -32602


def test_the_diff_tools_are_listed_with_each_argument_that_claude_code_gives_them(running: Running, connect: Connect):
    tools = connect(running).ask("tools/list")["result"]["tools"]
    listed = {tool["name"]: set(tool["inputSchema"].get("properties", ())) for tool in tools}
    assert listed["openDiff"] == {"old_file_path", "new_file_path", "new_file_contents", "tab_name"}
    assert listed["close_tab"] == {"tab_name"}
    assert listed["closeAllDiffTabs"] == set()


def test_opencode_is_known_by_its_name_and_gets_no_diffs(running: Running, connect: Connect, path: str):
    client = connect(running, "opencode")
    names = {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}
    assert names.isdisjoint({"openDiff", "close_tab", "closeAllDiffTabs"})
    assert client.answer(client.propose(path, "new\n"))["error"]["code"] == -32602
    [session] = running.do(lambda companion: list(companion._windows[WindowId(1)].sessions))
    assert session.cli == "OpenCode"


def test_the_selection_is_told_after_the_tools_were_listed_and_not_before(
    running: Running, connect: Connect, path: str
):
    """Told before, Claude Code stays half connected."""
    client = connect(running)
    select(running, path)
    assert client.ask("ping")["result"] == {}
    assert client.waiting == []
    client.ask("tools/list")
    told = client.hears("selection_changed")
    while told["filePath"] != path:
        told = client.hears("selection_changed")
    assert told["text"] == "two"
    start, end = {"line": 1, "character": 0}, {"line": 1, "character": 3}
    assert told["selection"] == {"start": start, "end": end, "isEmpty": False}
    assert told["fileUrl"] == Path(path).as_uri()


def test_a_cli_that_takes_its_time_before_it_asks_for_the_tools_is_told_what_changes(
    running: Running, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
):
    """The connection is the session: nothing else may end it."""
    monkeypatch.setattr(sessions, "STREAM_GONE_LIMIT", 0.01)
    client = connect(running)
    client.ask("ping")
    time.sleep(0.1)
    client.ask("tools/list")
    select(running, path)
    while client.hears("selection_changed")["filePath"] != path:
        pass
    assert len(running.sessions()) == 1


@pytest.mark.parametrize("settings", [Settings(context="off"), Settings(context_exclude=("*.py",))])
def test_what_the_settings_keep_back_is_not_told(
    start: Callable[..., Running], connect: Connect, path: str, settings: Settings
):
    running = start(settings)
    client = connect(running)
    select(running, path)
    client.ask("tools/list")
    assert client.hears("selection_changed")["filePath"] == ""
    for tool in ("getCurrentSelection", "getLatestSelection"):
        assert json.loads(client.call(tool)[0])["success"] is False
    assert path not in str(client.call("getOpenEditors"))
    assert path not in str(client.call("getDiagnostics"))
    assert client.call("checkDocumentDirty", filePath=path) != []
    assert path not in str(client.waiting)


@pytest.mark.filterwarnings("ignore:'nturl2path' is deprecated:DeprecationWarning")
@pytest.mark.parametrize("colon", [":", "%3A", "%3a"])
def test_the_colon_of_a_drive_may_be_escaped_in_the_address_of_a_file(monkeypatch: pytest.MonkeyPatch, colon: str):
    """Copilot CLI escapes it on Windows."""
    monkeypatch.setattr(claude, "url2pathname", importlib.import_module("nturl2path").url2pathname)
    assert claude.path_of(f"file:///c{colon}/proj/a%20b.py").lower() == r"c:\proj\a b.py"


def test_without_texts_only_the_place_of_the_caret_is_told(start: Callable[..., Running], connect: Connect, path: str):
    running = start(Settings(context="files"))
    client = connect(running)
    select(running, path)
    client.ask("tools/list")
    told = client.hears("selection_changed")
    while told["filePath"] != path:
        told = client.hears("selection_changed")
    assert (told["text"], told["selection"]["isEmpty"]) == ("", True)


def test_an_accepted_diff_is_answered_with_its_text_in_two_parts(running: Running, connect: Connect, path: str):
    client = connect(running)
    call = client.propose(path, "new\n")
    running.accept(path)
    assert texts(client.answer(call)) == ["FILE_SAVED", "new\n"]
    assert client.call("close_tab", tab_name="a tab") == ["TAB_CLOSED"]


def test_a_proposal_is_looked_for_in_the_transcripts_of_its_cli(running: Running, connect: Connect, path: str):
    client = connect(running)
    client.propose(path, "new\n")
    running.diff(path)
    [found] = running.do(lambda companion: list(companion._proposals()))
    [session] = running.do(lambda companion: list(companion._windows[FIRST].sessions))
    assert (found.reader, found.path, found.new) == (("claude", FIRST), path, "new\n")
    assert found.since == session.since


def test_an_edited_diff_is_answered_with_what_the_person_wants(running: Running, connect: Connect, path: str):
    client = connect(running)
    call = client.propose(path, "new\r\n")
    running.accept(path, "mine\n")
    assert texts(client.answer(call)) == ["FILE_SAVED", "mine\r\n"]


def test_every_other_end_of_a_diff_is_a_rejection(running: Running, connect: Connect, path: str):
    """The CLI takes anything else for a yes, and writes its own proposal."""
    client = connect(running)
    ends: list[Callable[[], Any]] = [
        lambda: running.reject(path),
        lambda: client.call("close_tab", tab_name="a tab"),
        lambda: client.call("closeAllDiffTabs"),
        lambda: client.notify("notifications/cancelled", requestId=call),
        lambda: client.propose(path, "newer\n", "another tab"),
    ]
    for end in ends:
        call = client.propose(path, "new\n")
        running.diff(path)
        end()
        assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
        client.call("closeAllDiffTabs")
        until(lambda: not running.editor.open_diffs)


@pytest.mark.parametrize("end", ["close_tab", "closeAllDiffTabs", "notifications/cancelled"])
def test_a_diff_that_is_given_up_while_the_disk_is_slow_never_opens(
    running: Running, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch, end: str
):
    disk = threading.Event()
    monkeypatch.setattr(offer, "refusal", lambda _: "" if disk.wait(LIMIT) else "is on a disk that hangs")
    client = connect(running)
    call = client.propose(path, "new\n")
    client.ask("ping")
    if end == "notifications/cancelled":
        client.notify(end, requestId=call)
    else:
        client.call(end, tab_name="a tab")
    assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
    client.notify("notifications/cancelled", requestId=call)  # it has its answer
    disk.set()
    until(lambda: not is_answering(running))
    assert client.ask("ping")["result"] == {}
    assert client.waiting == []
    assert running.do(lambda companion: list(companion.reviews)) == []


def test_a_diff_that_is_cancelled_in_the_same_packet_never_opens(running: Running, connect: Connect, path: str):
    client = connect(running)
    arguments = {"new_file_path": path, "new_file_contents": "new\n", "tab_name": "a tab"}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "openDiff", "arguments": arguments}}
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    client.socket.sendall(client.raw(call) + client.raw(cancel) + client.raw(cancel))
    client.ask("ping")
    assert [one["id"] for one in client.waiting] == [7]
    until(lambda: not is_answering(running))
    assert running.do(lambda companion: list(companion.reviews)) == []


def test_a_cancel_whose_id_is_no_number_cancels_nothing(running: Running, connect: Connect, path: str):
    client = connect(running)
    arguments = {"new_file_path": path, "new_file_contents": "new\n", "tab_name": "a tab"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "openDiff", "arguments": arguments}}
    client.socket.sendall(client.raw(call))
    running.diff(path)
    client.notify("notifications/cancelled", requestId=True)
    client.ask("ping")
    assert (client.waiting, len(running.editor.open_diffs)) == ([], 1)


def is_answering(running: Running) -> bool:
    return running.do(lambda it: any(one._answering for one in it._windows[FIRST].websockets.clients))


def test_the_end_of_the_editor_is_a_rejection(start: Callable[..., Running], connect: Connect, path: str):
    running = start()
    client = connect(running)
    call = client.propose(path, "new\n")
    running.diff(path)
    assert running.thread.stop(60)
    assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
    client.closed()


def test_edits_in_a_diff_that_the_cli_closes_are_kept_in_a_tab(running: Running, connect: Connect, path: str):
    client = connect(running)
    call = client.propose(path, "new\n")
    running.diff(path).text = "mine\n"
    assert client.call("closeAllDiffTabs") == ["CLOSED_1_DIFF_TABS"]
    assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
    until(lambda: [text for _, _, text, _ in running.editor.kept] == ["mine\n"])


def test_a_connection_closes_only_its_own_diffs(running: Running, connect: Connect, path: str):
    one, other = connect(running), connect(running)
    call = one.propose(path, "new\n")
    running.diff(path)
    assert other.call("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
    assert other.call("close_tab", tab_name="a tab") == ["TAB_CLOSED"]
    running.accept(path)
    assert texts(one.answer(call)) == ["FILE_SAVED", "new\n"]


def test_a_cli_that_was_killed_leaves_a_diff_that_nobody_waits_for(running: Running, connect: Connect, path: str):
    client = connect(running)
    client.propose(path, "new\n")
    running.diff(path)
    client.close()
    until(lambda: running.editor.orphaned)
    until(lambda: running.sessions() == set())


def test_a_text_with_half_a_character_is_kept_and_rejected(running: Running, connect: Connect, path: str):
    client = connect(running)
    call = client.propose(path, "new\n")
    running.accept(path, "half \ud800\n")
    assert texts(client.answer(call)) == ["DIFF_REJECTED", "a tab"]
    assert [text for _, _, text, _ in running.editor.kept] == ["half \ud800\n"]


def test_a_diff_that_cannot_open_is_an_error_and_no_yes(running: Running, connect: Connect, project: Path):
    client = connect(running)
    for path in ("relative", "a\0b", str(project)):
        answer = client.answer(client.propose(path, "new\n"))
        assert answer["result"]["isError"]
        assert "new\n" not in str(answer)
    assert running.editor.open_diffs == {}


def test_with_diffs_turned_off_the_terminal_asks(start: Callable[..., Running], connect: Connect, path: str):
    client = connect(start(Settings(show_diffs=False)))
    names = {tool["name"] for tool in client.ask("tools/list")["result"]["tools"]}
    assert "openDiff" not in names
    assert "error" in client.answer(client.propose(path, "new\n"))


def test_the_tools_about_tabs_and_folders(running: Running, connect: Connect, path: str, project: Path):
    running.editor.tabs_shown = [Tab(path, "Python", is_active=True, has_unsaved_changes=True)]
    client = connect(running)
    [tab] = json.loads(client.call("getOpenEditors")[0])["tabs"]
    wanted = {"uri": Path(path).as_uri(), "isActive": True, "label": "a.py", "languageId": "python", "isDirty": True}
    assert tab == wanted
    folders = json.loads(client.call("getWorkspaceFolders")[0])
    assert (folders["rootPath"], folders["folders"][0]["uri"]) == (str(project), project.as_uri())
    assert json.loads(client.call("checkDocumentDirty", filePath=path)[0])["isDirty"] is True
    assert json.loads(client.call("checkDocumentDirty", filePath=path + "x")[0])["success"] is False
    assert json.loads(client.call("saveDocument", filePath=path)[0])["saved"] is True
    assert json.loads(client.call("saveDocument", filePath=path + "x")[0])["success"] is False
    assert running.editor.saved == [path]
    Path(path).write_text("one\ntwo\n")
    assert client.call("openFile", filePath=path, startText="two") == [f"Opened file: {path}"]
    assert running.editor.places == [(path, 2)]


@pytest.mark.skipif(os.name == "nt", reason="links want rights there")
def test_a_file_is_saved_and_shown_whose_tab_has_another_path_than_the_cli(
    running: Running, connect: Connect, path: str, project: Path, tmp_path: Path
):
    """The folder that is open is a link, and the CLI names the file by where that leads to."""
    link = tmp_path / "link"
    link.symlink_to(project)
    shown = str(link / "a.py")
    running.editor.tabs_shown = [Tab(shown, "", is_active=True, has_unsaved_changes=True)]
    client = connect(running)
    assert json.loads(client.call("checkDocumentDirty", filePath=path)[0])["isDirty"] is True
    assert json.loads(client.call("saveDocument", filePath=path)[0])["saved"] is True
    assert running.editor.saved == [shown]
    client.call("openFile", filePath=path)
    assert running.editor.places == [(shown, 1)]


def test_a_text_is_looked_for_only_in_a_file_that_may_be_told_and_is_of_this_computer(
    running: Running, connect: Connect, path: str, project: Path, monkeypatch: pytest.MonkeyPatch
):
    read: list[str] = []
    monkeypatch.setattr(knowledge, "_line_of", lambda path, _: read.append(path) or 1)
    secret = project / "secret.pem"
    secret.write_text("x\n")
    client = connect(running)
    for refused in ("//host/share/x", str(secret), str(project / "none.py")):
        assert client.answer(client.start("openFile", filePath=refused, startText="x"))["result"]["isError"] is True
    client.call("openFile", filePath=path, startText="x")
    assert read == [path]


def test_a_cli_saves_nothing_but_open_files_of_the_windows_folders(
    start: Callable[..., Running], connect: Connect, path: str, project: Path, tmp_path: Path
):
    outside, secret, beside = tmp_path / "notes.py", project / "secret.pem", Path(f"{project}-2") / "a.py"
    beside.parent.mkdir()
    files = [outside, secret, beside]
    for each in files:
        each.write_text("x\n")
    if os.name != "nt":  # links want rights there
        links = [project / "out.py", project / "secret.py"]
        links[0].symlink_to(outside)
        links[1].symlink_to(secret)
        files += links
    running = start(Settings(context_exclude=("*.pem",)))
    shown = [path, *map(str, files)]
    running.editor.tabs_shown = [Tab(each, "", is_active=False, has_unsaved_changes=True) for each in shown]
    client = connect(running)
    closed = project / "closed.py"
    closed.write_text("x\n")
    round_about = (f"{project}/../{outside.name}", f"{project}//../{beside.parent.name}/a.py")
    odd = (None, 3, ["x"], "", "a\0b", "\x1b[2J", "x" * 100_000, str(project), "relative.py")
    for given in (*map(str, files), *round_about, str(closed), *odd):
        answer = client.answer(client.start("saveDocument", filePath=given))
        assert '"saved": true' not in str(texts(answer) if "result" in answer else answer)
    assert running.editor.saved == []
    assert json.loads(client.call("saveDocument", filePath=path)[0])["saved"] is True
    assert running.editor.saved == [path]


def test_a_cli_that_is_told_nothing_saves_nothing(start: Callable[..., Running], connect: Connect, path: str):
    running = start(Settings(context="off"))
    running.editor.tabs_shown = [Tab(path, "", is_active=True, has_unsaved_changes=True)]
    client = connect(running)
    assert "saved" not in str(client.call("saveDocument", filePath=path))
    assert running.editor.saved == []


def test_a_mention_counts_lines_from_zero(running: Running, connect: Connect, path: str):
    client = connect(running)
    window = WindowId(1)
    assert running.do(lambda companion: companion.mention(window, [(path, [(1, 3)])])) == (0, [])
    client.ask("tools/list")
    client.hears("selection_changed")
    assert running.do(lambda companion: companion.mention(window, [(path, [(1, 3)]), (path, [])])) == (1, [])
    for bad in ("/p/x\x1b[201~\r@/home/me/.ssh/id_rsa\n.py", "/p/notes @.env", "/p/\u202eyp.x"):
        assert running.do(lambda companion, bad=bad: companion.mention(window, [(bad, [])])) == (0, [bad])
    assert client.hears("at_mentioned") == {"filePath": path, "lineStart": 0, "lineEnd": 2}
    assert client.hears("at_mentioned") == {"filePath": path}


def test_opencode_counts_lines_from_one_and_is_always_told_some(running: Running, connect: Connect, path: str):
    client = connect(running, "opencode")
    select(running, path)
    while (told := client.hears("selection_changed"))["filePath"] != path:
        pass
    assert (told["selection"]["start"]["line"], told["selection"]["end"]["line"]) == (2, 2)
    assert running.do(lambda it: it.mention(WindowId(1), [(path, [(1, 3)]), (path, [])])) == (1, [])
    assert client.hears("at_mentioned") == {"filePath": path, "lineStart": 1, "lineEnd": 3}
    assert client.hears("at_mentioned") == {"filePath": path, "lineStart": 1, "lineEnd": 1}


def test_of_several_files_the_one_whose_name_cannot_be_typed_is_said_wherever_it_stands(
    running: Running, connect: Connect, path: str
):
    client = connect(running, "opencode")
    client.hears("selection_changed")
    bad = "/p/notes @.env"
    for named in ([(path, []), (bad, [])], [(bad, []), (path, [])]):
        assert running.do(lambda companion, named=named: companion.mention(WindowId(1), named)) == (1, [bad])
        assert client.hears("at_mentioned")["filePath"] == path


def test_a_mention_for_a_terminal_is_for_the_family_that_runs_there(running: Running, connect: Connect, path: str):
    claude, opencode = connect(running), connect(running, "opencode")
    claude.ask("tools/list")
    for client in (claude, opencode):
        client.hears("selection_changed")
    named = [(path, [(1, 1)])]
    assert running.do(lambda companion: companion.mention(WindowId(1), named, OPENCODE)) == (1, [])
    assert opencode.hears("at_mentioned")["filePath"] == path
    assert running.do(lambda companion: companion.mention(WindowId(1), [(path, [])], CLAUDE_CODE)) == (1, [])
    assert claude.hears("at_mentioned") == {"filePath": path}
    assert running.do(lambda companion: companion.mention(WindowId(1), named)) == (2, [])


def test_two_windows_have_clis_of_their_own(running: Running, connect: Connect, path: str, project: Path):
    running.open_window(WindowId(2), (str(project / "other"),))
    one, two = connect(running), connect(running, window=WindowId(2))
    call = two.propose(path, "new\n")
    assert running.diff(path).review.owner.window == 2
    assert one.call("closeAllDiffTabs") == ["CLOSED_0_DIFF_TABS"]
    running.close_window(WindowId(2))
    assert texts(two.answer(call)) == ["DIFF_REJECTED", "a tab"]
    two.closed()
    assert one.ask("ping")["result"] == {}
    assert lock_of(running)["workspaceFolders"] == [str(project)]


def test_the_ping_of_a_status_report_reaches_the_cli(running: Running, connect: Connect):
    client = connect(running)
    client.ask("tools/list")
    [session] = running.do(lambda companion: list(companion._windows[WindowId(1)].sessions))
    until(lambda: session.stream)
    asked = running.do(lambda _: asyncio.ensure_future(session.round_trip()))
    until(lambda: asked.done() or client.come() is None)
    assert asked.result() is not None
