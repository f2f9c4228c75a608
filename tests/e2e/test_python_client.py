"""Python's MCP client with the companion in the headless editor."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types.version import LATEST_PROTOCOL_VERSION

from .editor import Editor
from .mcp_client import STEP, McpClient, connect
from .session import GREET, GREET_BETTER


@pytest.fixture
def client(editor: Editor) -> Iterator[McpClient]:
    with connect(editor.lock()) as client:
        client.wait_for("ide/contextUpdate")  # its GET stream is open
        yield client


def text_of(result: types.CallToolResult) -> str:
    """The text of a result that has a single block."""
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_protocol_version_that_the_clis_speak_is_agreed_on(editor: Editor, version: str) -> None:
    """The versions that old and new Qwen Code ask for (docs/protocols/qwen-ide.md#http)."""
    with connect(editor.lock(), version=version) as client:
        assert client.version == version
        assert set(client.tools()) >= {"openDiff", "closeDiff"}
        client.wait_for("ide/contextUpdate")


def test_a_client_that_asks_for_the_newest_version_gets_one_that_works(editor: Editor) -> None:
    """The newest version has no handshake, so the server offers one that it speaks."""
    with connect(editor.lock(), version=LATEST_PROTOCOL_VERSION) as client:
        assert client.version in ("2025-06-18", "2025-11-25")
        assert set(client.tools()) >= {"openDiff", "closeDiff"}
        client.wait_for("ide/contextUpdate")


def test_a_diff_works_with_the_version_that_the_sdk_chooses(editor: Editor) -> None:
    """For a client that leaves the choice to the SDK."""
    with connect(editor.lock(), version=None) as client:
        assert set(client.tools()) >= {"openDiff", "closeDiff"}
        client.wait_for("ide/contextUpdate")
        path = editor.home.write("newest.py", GREET)
        assert not client.call("openDiff", filePath=str(path), newContent=GREET_BETTER).is_error
        editor.accept(editor.wait_diff(path))
        assert client.wait_for("ide/diffAccepted") == {"filePath": str(path), "content": GREET_BETTER}


def test_the_tools_describe_their_arguments(client: McpClient) -> None:
    tools = client.tools()
    for name, required, optional in (
        ("openDiff", {"filePath", "newContent"}, set()),
        ("closeDiff", {"filePath"}, {"suppressNotification"}),
    ):
        schema = tools[name].input_schema
        assert schema["type"] == "object"
        assert set(schema["required"]) == required
        assert set(schema["properties"]) == required | optional
        assert tools[name].description
    assert tools["closeDiff"].input_schema["properties"]["suppressNotification"]["type"] == "boolean"


def _active(update: dict[str, Any]) -> dict[str, Any]:
    """The active file of a context update; {} if there is none."""
    return next((file for file in update["workspaceState"].get("openFiles", []) if file.get("isActive")), {})


def test_the_context_of_a_session_follows_the_editor(editor: Editor, client: McpClient) -> None:
    """The newest file is the only active one, and no field is null."""
    view = editor.open_file(editor.home.workspace / "greet.py")
    editor.do("select", view=view, regions=[[4, 9]])
    update = client.wait_for("ide/contextUpdate", lambda update: _active(update).get("selectedText") == "greet")
    files = update["workspaceState"]["openFiles"]
    assert _active(update)["path"] == str(editor.home.workspace / "greet.py")
    assert _active(update)["cursor"] == {"line": 1, "character": 10}
    assert _active(update)["timestamp"] == max(file["timestamp"] for file in files)
    assert abs(_active(update)["timestamp"] / 1000 - time.time()) < 60
    assert "null" not in json.dumps(update)
    editor.open_file(editor.home.workspace / "other.txt")
    update = client.wait_for(
        "ide/contextUpdate", lambda update: _active(update).get("path") == str(editor.home.workspace / "other.txt")
    )
    assert [file["path"] for file in update["workspaceState"]["openFiles"] if file.get("isActive")] == [
        str(editor.home.workspace / "other.txt")
    ]
    assert all(
        not {"cursor", "selectedText"} & set(file)
        for file in update["workspaceState"]["openFiles"]
        if not file.get("isActive")
    )


def test_a_selection_is_sent_at_once_and_a_burst_of_changes_once(editor: Editor, client: McpClient) -> None:
    """50 ms after the last change, not with the next tick, and not once for each change."""
    view = editor.open_file(editor.home.write("burst.txt", "x" * 100))
    took: list[float] = []
    for first in (1, 5, 9):
        started = time.monotonic()
        for end in range(first, first + 4):
            editor.do("select", view=view, regions=[[0, end]])
            client.wait_for(
                "ide/contextUpdate", lambda update, end=end: _active(update).get("selectedText") == "x" * end
            )
        took.append(time.monotonic() - started)
    # With the ticks each of them would take about 8 s. The machine may be busy during one of them.
    assert min(took) < 4, took
    before = len(client.received("ide/contextUpdate"))
    pauses, last = 0, time.monotonic()
    for end in range(20, 60):
        editor.do("select", view=view, regions=[[0, end]])
        pauses, last = pauses + (time.monotonic() - last > 0.04), time.monotonic()  # of a busy machine
    client.wait_for("ide/contextUpdate", lambda update: _active(update).get("selectedText") == "x" * 59)
    assert len(client.received("ide/contextUpdate")) - before < 20 + pauses


def test_nothing_is_sent_when_nothing_changed(editor: Editor, client: McpClient) -> None:
    """No update if a view gets the focus again, or just because time passes."""
    view = editor.open_file(editor.home.workspace / "greet.py")
    editor.do("select", view=view, regions=[[0, 3]])
    client.wait_for("ide/contextUpdate", lambda update: _active(update).get("selectedText") == "def")
    before = len(client.received("ide/contextUpdate"))
    editor.do("select", view=view, regions=[[0, 3]])
    time.sleep(2.5)
    assert len(client.received("ide/contextUpdate")) == before


def test_the_first_update_has_the_files_that_are_already_open(editor: Editor, client: McpClient) -> None:
    """As soon as the stream is open, without any change in the editor."""
    path = editor.home.workspace / "greet.py"
    editor.open_file(path)
    client.wait_for("ide/contextUpdate", lambda update: _active(update).get("path") == str(path))
    with connect(editor.lock()) as other:
        assert _active(other.wait_for("ide/contextUpdate"))["path"] == str(path)


def test_an_accepted_diff_is_notified_with_its_text(editor: Editor, client: McpClient) -> None:
    """The answer comes at once and is empty; the outcome comes once."""
    path = editor.home.write("accepted.py", GREET)
    result = client.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
    assert (result.content, bool(result.is_error)) == ([], False)
    proposal = editor.wait_diff(path)
    edited = GREET_BETTER + "# reviewed\n"
    editor.set_text(proposal, edited)
    editor.accept(proposal)
    assert client.wait_for("ide/diffAccepted") == {"filePath": str(path), "content": edited}
    editor.wait_no_diff()
    time.sleep(0.5)
    assert len(client.received("ide/diffAccepted")) == 1
    assert client.received("ide/diffRejected") == []
    assert path.read_text(encoding="utf-8") == GREET, "only the client may write the file"


@pytest.mark.parametrize("way", ["command", "link", "close"])
def test_a_rejected_diff_is_notified(editor: Editor, client: McpClient, way: str) -> None:
    path = editor.home.write("rejected.py", GREET)
    client.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
    proposal = editor.wait_diff(path)
    if way == "command":
        editor.reject(proposal)
    elif way == "link":
        editor.click_answer(proposal, "reject")
    else:
        editor.do("close_view", view=proposal["id"])
    assert client.wait_for("ide/diffRejected") == {"filePath": str(path)}
    editor.wait_no_diff()
    time.sleep(0.5)
    assert len(client.received("ide/diffRejected")) == 1
    assert client.received("ide/diffAccepted") == []


def test_closediff_answers_with_the_current_text(editor: Editor, client: McpClient) -> None:
    """As JSON in a text block. With suppressNotification, no notification follows."""
    path = editor.home.write("closed.py", GREET)
    client.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
    editor.set_text(editor.wait_diff(path), "half a thought\n")
    result = client.call("closeDiff", filePath=str(path), suppressNotification=True)
    assert not result.is_error
    assert json.loads(text_of(result)) == {"content": "half a thought\n"}
    editor.wait_no_diff()
    time.sleep(0.5)
    assert (
        client.received("ide/diffAccepted") + client.received("ide/diffRejected") + client.received("ide/diffClosed")
        == []
    )


def test_the_path_comes_back_unchanged(editor: Editor, client: McpClient) -> None:
    """The CLI would not recognize a normalized path as the one that it waits for (docs/protocols/qwen-ide.md#diffs)."""
    path = editor.home.write("odd.py", GREET)
    odd = f"{path.parent}/./sub/..//{path.name}"
    (path.parent / "sub").mkdir(exist_ok=True)
    client.call("openDiff", filePath=odd, newContent=GREET_BETTER)
    editor.accept(editor.wait_diff(odd))
    assert client.wait_for("ide/diffAccepted")["filePath"] == odd


def test_two_clients_with_a_diff_of_one_file_get_their_own_outcomes(editor: Editor, client: McpClient) -> None:
    """An outcome goes only to the session that owns the diff."""
    path = editor.home.write("shared.py", GREET)
    with connect(editor.lock()) as other:
        other.wait_for("ide/contextUpdate")
        client.call("openDiff", filePath=str(path), newContent="from the first\n")
        other.call("openDiff", filePath=str(path), newContent="from the second\n")
        proposal = editor.wait_diff(path)
        windows = editor.state()["windows"]
        window = next(told["id"] for told in windows if proposal["id"] in [view["id"] for view in told["views"]])
        for _ in range(2):  # the first one, then the one that waits behind it
            editor.do("command", name="qwen_companion_go_to_diff", window=window)
        editor.wait("both diffs", lambda: len(editor.sides("proposal")) == 2)
        by_text = {view["text"]: view for view in editor.sides("proposal", text=True)}
        editor.accept(by_text["from the second\n"])
        assert other.wait_for("ide/diffAccepted")["content"] == "from the second\n"
        editor.reject(by_text["from the first\n"])
        client.wait_for("ide/diffRejected")
        time.sleep(0.5)
        assert client.received("ide/diffAccepted") == []
        assert other.received("ide/diffRejected") == []


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("openDiff", {"newContent": ""}, "filePath"),
        ("openDiff", {"filePath": "{folder}/greet.py"}, "newContent"),
        ("openDiff", {"filePath": 7, "newContent": ""}, "filePath"),
        ("openDiff", {"filePath": "{folder}/greet.py", "newContent": ["a"]}, "newContent"),
        ("openDiff", {"filePath": "greet.py", "newContent": "x"}, "absolute"),
        ("openDiff", {"filePath": "", "newContent": "x"}, ""),
        ("closeDiff", {}, "filePath"),
        ("formatDisk", {"filePath": "{folder}/greet.py"}, "formatDisk"),
    ],
)
def test_a_bad_call_gets_a_clear_error_and_changes_nothing(
    editor: Editor, client: McpClient, tool: str, arguments: dict[str, Any], says: str
) -> None:
    """A result with an error or a JSON-RPC error, which says what is wrong."""
    filled = {
        name: value.replace("{folder}", str(editor.home.workspace)) if isinstance(value, str) else value
        for name, value in arguments.items()
    }
    try:
        result = client.call(tool, **filled)
    except MCPError as error:
        message = error.error.message
    else:
        assert result.is_error, result
        message = text_of(result)
    assert says in message
    assert message.strip()
    assert "Traceback" not in message
    assert editor.sides("proposal") == []
    assert set(client.tools()) >= {"openDiff", "closeDiff"}, "the session still works"


def test_closing_a_diff_that_is_not_open_is_harmless(editor: Editor, client: McpClient) -> None:
    """The CLI does so if the call and an outcome cross. The answer has no content."""
    path = editor.home.write("gone.py", GREET)
    for _ in range(2):
        answer = json.loads(text_of(client.call("closeDiff", filePath=str(path), suppressNotification=True)))
        assert answer.get("content") is None
        client.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
        editor.reject(editor.wait_diff(path))
        editor.wait_no_diff()


def test_a_reload_of_the_package_keeps_open_diffs_and_the_port(editor: Editor) -> None:
    """The outcome comes after the reload, to the same session. Port and token stay, so that CLIs can continue."""
    old = editor.lock()
    with connect(old) as client:
        client.wait_for("ide/contextUpdate")
        path = editor.home.write("reload.py", GREET)
        client.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
        before = editor.wait_diff(path)
        editor.do("reload_package")
        kept = editor.wait_diff(path)
        assert kept["id"] == before["id"]
        editor.reject(kept)
        assert client.wait_for("ide/diffRejected") == {"filePath": str(path)}
    new = editor.lock()
    assert new["port"] == old["port"]
    assert new["authToken"] == old["authToken"]
    editor.wait_no_diff()
    with connect(new) as client:
        client.wait_for("ide/contextUpdate")


def test_each_window_has_its_own_server_and_closing_it_rejects_its_diffs(editor: Editor, client: McpClient) -> None:
    """Its own port, token and discovery files. The session of the other window still works."""
    folder = editor.home.root / "second"
    folder.mkdir()
    window = editor.do("new_window", folders=[str(folder)])["window"]
    lock = editor.lock(folder)
    first = editor.lock()
    assert lock["port"] != first["port"]
    assert lock["authToken"] != first["authToken"]
    with connect(lock) as other:
        other.wait_for("ide/contextUpdate")
        path = folder / "new.py"
        other.call("openDiff", filePath=str(path), newContent=GREET)
        proposal = editor.wait_diff(path)
        holding = [told["id"] for told in editor.state()["windows"] if proposal["id"] in _ids(told)]
        assert holding == [window]
        editor.do("close_window", window=window)
        assert other.wait_for("ide/diffRejected") == {"filePath": str(path)}
        editor.wait(
            "removed lock file", lambda: [file.name for file in editor.lock_files()] == [f"{first['port']}.lock"]
        )
    assert client.received("ide/diffRejected") == []
    assert set(client.tools()) >= {"openDiff", "closeDiff"}


def _ids(window: dict[str, Any]) -> list[int]:
    """The ids of a window's views."""
    return [view["id"] for view in window["views"]]


def test_a_token_is_valid_only_for_its_own_window(editor: Editor) -> None:
    """The token says which window its bearer may use."""
    folder = editor.home.root / "third"
    folder.mkdir()
    window = editor.do("new_window", folders=[str(folder)])["window"]
    try:
        url = f"http://127.0.0.1:{editor.lock(folder)['port']}/mcp"
        headers = {"Authorization": f"Bearer {editor.lock()['authToken']}"}
        with httpx2.Client(timeout=STEP, trust_env=False) as client:
            assert client.get(url, headers=headers).status_code == 401
    finally:
        editor.do("close_window", window=window)


def test_a_diff_of_a_folder_is_refused(editor: Editor, client: McpClient) -> None:
    """With `isError` and a sentence that says why."""
    result = client.call("openDiff", filePath=str(editor.home.workspace), newContent="x\n")
    assert result.is_error
    assert str(editor.home.workspace) in text_of(result) or "folder" in text_of(result)
    assert editor.sides("proposal") == []


def test_both_discovery_files_have_the_same_content(editor: Editor) -> None:
    (lock_file,) = editor.lock_files()
    (published,) = (editor.home.tmp / "qwen" / "ide").glob("qwen-code-ide-server-*.json")
    lock = json.loads(lock_file.read_text(encoding="utf-8"))
    assert json.loads(published.read_text(encoding="utf-8")) == lock
    assert lock_file.name == f"{lock['port']}.lock"
    assert published.name.endswith(f"-{lock['port']}.json")
    assert lock["workspacePath"] == str(editor.home.workspace)
    assert lock["ppid"] == editor.pid
    assert lock["ideInfo"] == {"name": "sublimetext", "displayName": "Sublime Text"}
    assert Path(lock["workspacePath"]).is_absolute()
