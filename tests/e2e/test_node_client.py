"""Node's MCP client, the SDK that the CLIs embed, with the companion in the headless editor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .editor import Editor
from .lines import LineProcess, LinesError
from .qwen import node_modules
from .session import GREET, GREET_BETTER


class NodeClient(LineProcess):
    """A connected client."""

    def __init__(self, program: Path, editor: Editor) -> None:
        lock = editor.lock()
        command = [
            str(program),
            str(Path(__file__).with_name("client.mjs")),
            f"http://127.0.0.1:{lock['port']}/mcp",
            lock["authToken"],
        ]
        env = editor.home.environment(NODE_MODULES=str(node_modules()))
        super().__init__("Node client", command, cwd=editor.home.workspace, env=env, log=editor.home.root / "node.log")

    def call(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """Call a tool, and return the content of its answer.

        Raises:
            LinesError: the answer is an error.
        """
        result = self.do("call", name=tool, arguments=arguments)
        if result.get("isError"):
            raise LinesError(f"{tool} answered: {result['content']}")
        return result["content"]

    def wait_for(self, method: str, path: str | None = None) -> dict[str, Any]:
        """Wait for the first notification of a method (and for a path), and return its parameters."""

        def found() -> dict[str, Any] | None:
            for event in list(self.events):
                if event.get("method") == method and path in (None, event["params"].get("filePath")):
                    return event["params"]
            return None

        params = self.wait(f"{method} of {path}", found)
        assert params is not None
        return params


@pytest.fixture(scope="module")
def client(node_program: Path, editor: Editor) -> Iterator[NodeClient]:
    editor.open_file(editor.home.workspace / "greet.py")
    client = NodeClient(node_program, editor)
    client.wait_for("ide/contextUpdate")
    yield client
    errors = [event for event in client.events if event["event"] != "ready" and event["event"] != "notification"]
    client.kill()
    assert errors == []


def test_it_connects_and_lists_the_tools(client: NodeClient) -> None:
    assert {tool["name"] for tool in client.do("tools")} >= {"openDiff", "closeDiff"}


def test_it_gets_the_context(editor: Editor, client: NodeClient) -> None:
    """The first update comes as soon as the stream is open."""
    (file,) = [
        file for file in client.wait_for("ide/contextUpdate")["workspaceState"]["openFiles"] if file.get("isActive")
    ]
    assert file["path"] == str(editor.home.workspace / "greet.py")
    assert file["cursor"] == {"line": 1, "character": 1}
    assert "selectedText" not in file


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("one\r\ntwo\r\n", id="crlf"),
        pytest.param("one\ntwo\r\nthree\rfour\r\r\nfive\n\r\n", id="mixed endings"),
        pytest.param("one\rtwo\r", id="cr"),
        pytest.param("one\ntwo", id="no last newline"),
        pytest.param("one\r\ntwo", id="crlf without the last"),
        pytest.param("\ufeffone\ntwo\n", id="bom"),
        pytest.param("\ufeffone\r\ntwo", id="bom and crlf"),
        pytest.param("\tone\n  \ttwo \t\n\n\n", id="tabs and blanks"),
        pytest.param(
            "\U0001f600 \U0001f469\u200d\U0001f4bb e\u0301 漢字 \u2028 \x0b\x0c\x85 end\n",
            id="emoji and odd separators",
        ),
        pytest.param("a\x00b\x1b[31mred\x7f\n", id="control characters"),
        pytest.param("\n", id="one newline"),
        pytest.param("x" * 200_000 + "\n", id="one long line"),
        pytest.param("The quick brown fox, \U0001f98a and 狐.\r\n" * 125_000, id="5 MB"),
    ],
)
def test_an_unedited_proposal_comes_back_byte_for_byte(
    editor: Editor, client: NodeClient, request: pytest.FixtureRequest, text: str
) -> None:
    path = editor.home.workspace / f"{request.node.callspec.id.replace(' ', '-')}.txt"
    assert client.call("openDiff", filePath=str(path), newContent=text) == []
    editor.accept(editor.wait_diff(path))
    accepted = client.wait_for("ide/diffAccepted", str(path))["content"]
    assert accepted == text, (accepted[:200], len(accepted), len(text))
    editor.wait_no_diff()


@pytest.mark.parametrize(
    ("proposed", "edited"),
    [
        pytest.param("one\r\ntwo\r\n", "zero\r\none\r\ntwo\r\n", id="crlf"),
        pytest.param("one\r\ntwo", "zero\r\none\r\ntwo", id="crlf without the last"),
        pytest.param("one\ntwo", "zero\none\ntwo", id="lf without the last"),
        pytest.param("one\rtwo\r", "zero\rone\rtwo\r", id="cr"),
        pytest.param("\ufeffone\ntwo\n", "\ufeffzero\none\ntwo\n", id="bom"),
        pytest.param("\ufeffone\r\ntwo\r\n", "\ufeffzero\r\none\r\ntwo\r\n", id="bom and crlf"),
    ],
)
def test_an_edited_proposal_keeps_its_line_endings_and_its_bom(
    editor: Editor, client: NodeClient, request: pytest.FixtureRequest, proposed: str, edited: str
) -> None:
    """A new first line gets the ending of the others."""
    path = editor.home.workspace / f"edited-{request.node.callspec.id.replace(' ', '-')}.txt"
    client.call("openDiff", filePath=str(path), newContent=proposed)
    proposal = editor.wait_diff(path)
    editor.set_text(proposal, "zero\n" + proposal["text"])
    editor.accept(proposal)
    assert client.wait_for("ide/diffAccepted", str(path))["content"] == edited
    editor.wait_no_diff()


def test_a_rejected_and_a_closed_diff(editor: Editor, client: NodeClient) -> None:
    path = editor.home.write("node.py", GREET)
    client.call("openDiff", filePath=str(path), newContent=GREET_BETTER)
    editor.reject(editor.wait_diff(path))
    client.wait_for("ide/diffRejected", str(path))
    client.call("openDiff", filePath=str(path), newContent="x\r\ny")
    editor.wait_diff(path)
    assert client.call("closeDiff", filePath=str(path), suppressNotification=True) == [
        {"type": "text", "text": '{"content": "x\\r\\ny"}'}
    ]
    editor.wait_no_diff()
    with pytest.raises(LinesError, match="absolute"):
        client.call("openDiff", filePath="relative.py", newContent="x")
