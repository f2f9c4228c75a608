"""A CLI that runs somewhere else: its folders have other names, which are translated at the server's edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from companion import handover
from companion.clis.elsewhere import PathMaps
from companion.clis.families import CLAUDE_CODE
from companion.editor import WindowId
from companion.server.doors import claude as claude_module
from companion.server.window_screen import ElsewhereState
from companion.settings import Settings

from ..conftest import Running, until
from ..test_handover_reviews import unload
from ..wire import Cli, Stream
from .doors.client import TOKEN, Client, texts
from .doors.test_claude import select

WORDS = "on buildbox"
THERE = "/srv/app"


@pytest.mark.parametrize(
    ("pairs", "here", "there"),
    [
        ((), "/home/me/app/a.py", "/home/me/app/a.py"),
        ((("/home/me/app", "/srv/app"),), "/home/me/app/a b/ä.py", "/srv/app/a b/ä.py"),
        ((("/home/me/app", "/srv/app"),), "/home/me/app", "/srv/app"),
        ((("/home/me/app/", "/srv/app/"),), "/home/me/app/a.py", "/srv/app/a.py"),
        ((("/home/me/app", "/srv/app"),), "/home/me/apple/a.py", "/home/me/apple/a.py"),
        ((("/home/me/app", "/"),), "/home/me/app/a.py", "/a.py"),
        ((("/a", "/x"), ("/a/b", "/y")), "/a/b/c", "/y/c"),
        ((("/a", "/x"), ("/a/b", "/y")), "/a/c", "/x/c"),
        (((r"C:\Users\me\app", "/mnt/c/app"),), r"C:\Users\me\app\src\a.py", "/mnt/c/app/src/a.py"),
        ((("/home/me/app", r"C:\app"),), "/home/me/app/src/a.py", r"C:\app\src\a.py"),
    ],
)
def test_a_path_is_called_otherwise_on_the_other_side_and_back(
    pairs: tuple[tuple[str, str], ...], here: str, there: str
) -> None:
    maps = PathMaps(pairs)
    assert maps.there(here) == there
    assert maps.here(there) == here


def test_the_spelling_of_a_path_of_windows_does_not_matter() -> None:
    maps = PathMaps(((r"C:\Users\me\app", "/mnt/c/app"),))
    assert maps.there("c:/users/ME/app/a.py") == "/mnt/c/app/a.py"
    assert PathMaps((("/app", r"C:\app"),)).here("c:/APP/x/y.py") == "/app/x/y.py"


def test_on_macos_the_spelling_of_a_folder_here_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("companion.clis.elsewhere.sys", SimpleNamespace(platform="darwin"))
    maps = PathMaps((("/Users/me/Caf\u00e9", "/srv/App"),))
    assert maps.there("/users/me/cafe\u0301/Src/A.py") == "/srv/App/Src/A.py"
    assert maps.here("/srv/app/a.py") == "/srv/app/a.py"
    assert maps.here("/srv/App/a.py") == "/Users/me/Caf\u00e9/a.py"


@pytest.fixture
def running(start: Callable[..., Running], project: Path) -> Running:
    return start(Settings(path_maps=((str(project), THERE),)))


@pytest.fixture
def remote(running: Running, files: list[str]) -> Iterator[tuple[Cli, Stream]]:
    """A connected Qwen Code on another machine, which has got its first context."""
    running.focus(1, files[0])
    offer = running.do(lambda companion: companion.offer_elsewhere(WindowId(1), WORDS))
    assert offer is not None
    with Cli({"port": offer.port, "authToken": offer.tokens["Qwen Code"]}) as cli:
        cli.connect()
        yield cli, cli.listen()


def test_its_transcripts_are_not_here(running: Running, remote: tuple[Cli, Stream]) -> None:
    paths(remote[1])
    assert running.read_transcripts() == set()


def test_its_model_is_told_why_it_has_no_tools_of_the_editor(running: Running, remote: tuple[Cli, Stream]) -> None:
    running.do(lambda companion: companion.configure(Settings(agents_use_editor=True)))
    cli, _ = remote
    refused = cli.send("POST", "/tools/Qwen Code", {})
    assert refused.status_code == 403
    assert "editor's own computer" in refused.text


def paths(stream: Stream) -> list[str]:
    update = stream.take("ide/contextUpdate")
    return [file["path"] for file in update["workspaceState"]["openFiles"]]


def test_the_context_has_the_paths_of_the_other_side(remote: tuple[Cli, Stream]) -> None:
    assert paths(remote[1]) == [f"{THERE}/a.txt"]


def test_a_cli_here_gets_the_paths_of_here(running: Running, remote: tuple[Cli, Stream], files: list[str]) -> None:
    cli = running.cli().connect()
    assert paths(cli.listen()) == [files[0]]
    cli.open_diff(files[1], "here\n")
    running.accept(files[1])


def test_a_diff_opens_for_the_file_here_and_its_outcome_names_the_one_there(
    running: Running, remote: tuple[Cli, Stream], files: list[str]
) -> None:
    cli, stream = remote
    for said, outcome in ((f"{THERE}/b.txt", "ide/diffAccepted"), (f"{THERE}/./c.txt", "ide/diffRejected")):
        cli.open_diff(said, "new\n")
        here = str(files[1]) if outcome == "ide/diffAccepted" else files[0].replace("a.txt", "./c.txt")
        (running.accept if outcome == "ide/diffAccepted" else running.reject)(here)
        assert stream.skip_to(outcome)["filePath"] == said


def test_it_hears_that_its_diff_is_rejected_if_no_instance_follows_a_reload(
    running: Running, remote: tuple[Cli, Stream], files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "GRACE", 0.1)
    cli, _ = remote
    said = f"{THERE}/./c.txt"
    cli.open_diff(said, "new\n")
    running.diff(files[0].replace("a.txt", "./c.txt"))
    unload(running)
    until(lambda: running.editor.abandoned)
    assert [one["params"] for one in cli.listen()] == [{"filePath": said}]
    handover.give_up(handover.receive(handover.claim()), handover.NO_CHORES)


def test_an_outcome_after_a_reload_names_the_file_as_it_was_said(
    running: Running, remote: tuple[Cli, Stream], files: list[str], start: Callable[..., Running], project: Path
) -> None:
    cli, _ = remote
    said, here = f"{THERE}/./c.txt", files[0].replace("a.txt", "./c.txt")
    cli.open_diff(said, "new\n")
    running.diff(here)
    unload(running)
    again = start(Settings(path_maps=((str(project), THERE),)))
    stream = cli.listen()
    again.reject(here)
    assert stream.skip_to("ide/diffRejected")["filePath"] == said


def test_a_diff_is_closed_by_the_name_that_it_was_opened_with(
    running: Running, remote: tuple[Cli, Stream], files: list[str]
) -> None:
    cli, _ = remote
    cli.open_diff(f"{THERE}/b.txt", "new\n")
    assert running.diff(files[1]).review.owner.cli == "Qwen Code on buildbox"
    assert cli.close_diff(f"{THERE}/b.txt") == {"content": "new\n"}


def test_what_is_known_of_a_cli_that_is_awaited(running: Running, project: Path) -> None:
    def state() -> ElsewhereState:
        return running.do(lambda companion: companion.state_elsewhere(WindowId(1), WORDS))

    offer = running.do(lambda companion: companion.offer_elsewhere(WindowId(1), WORDS))
    assert offer is not None
    assert state() == ElsewhereState()
    with Cli({"port": offer.port, "authToken": "of yesterday"}) as late:
        assert late.ask("initialize").status_code == 401
    assert state() == ElsewhereState(refused="token")
    with Cli({"port": offer.port, "authToken": offer.tokens["Gemini CLI"]}) as cli:
        assert cli.ask("initialize", host="buildbox:1").status_code == 403
        assert state() == ElsewhereState(refused="host")
        cli.connect()
        cli.listen().take("ide/contextUpdate")
        assert state().clis == ("Gemini CLI on buildbox",)
        assert running.do(lambda companion: companion.state_elsewhere(WindowId(1), "in WSL")).clis == ()
    again = running.do(lambda companion: companion.offer_elsewhere(WindowId(1), WORDS))
    assert again is not None
    assert again.tokens == offer.tokens, "what was pasted before goes on"
    assert offer.folders == (str(project),)


@pytest.fixture
def claude(running: Running, files: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A connected Claude Code on another machine."""
    monkeypatch.setattr(claude_module, "SETTLING", 0)
    running.focus(1, files[0])
    offer = running.do(lambda companion: companion.offer_elsewhere(WindowId(1), WORDS))
    assert offer is not None
    client = Client(offer.port, {TOKEN: offer.tokens["Claude Code"]})
    yield client.connect()
    client.close()


def test_claude_code_gets_the_paths_of_the_other_side_and_no_tools_about_those_of_here(
    running: Running, claude: Client, files: list[str]
) -> None:
    tools = {tool["name"] for tool in claude.ask("tools/list")["result"]["tools"]}
    assert tools == {"openDiff", "close_tab", "closeAllDiffTabs"}
    assert "error" in claude.answer(claude.start("saveDocument", filePath=files[0]))
    select(running, files[0])
    while (told := claude.hears("selection_changed"))["filePath"] != f"{THERE}/a.txt":
        pass
    assert told["fileUrl"] == f"file://{THERE}/a.txt"
    state = running.do(lambda companion: companion.state_elsewhere(WindowId(1), WORDS))
    assert state.clis == ("Claude Code on buildbox",)
    running.do(lambda companion: companion.mention(WindowId(1), [(files[0], [(2, 2)])]))
    assert claude.hears("at_mentioned") == {"filePath": f"{THERE}/a.txt", "lineStart": 1, "lineEnd": 1}
    own = running.do(lambda companion: companion.mention(WindowId(1), [(files[0], [])], CLAUDE_CODE))
    assert own == (0, []), "what is sent to a terminal here is for none elsewhere"


def test_a_proposal_of_claude_code_is_for_the_file_here(running: Running, claude: Client, files: list[str]) -> None:
    call = claude.propose(f"{THERE}/b.txt", "new\n")
    assert running.diff(files[1]).review.owner.cli == "Claude Code on buildbox"
    assert running.read_transcripts() == set()
    running.accept(files[1])
    assert texts(claude.answer(call)) == ["FILE_SAVED", "new\n"]


def test_a_token_for_elsewhere_opens_no_other_door(running: Running) -> None:
    offer = running.do(lambda companion: companion.offer_elsewhere(WindowId(1), WORDS))
    assert offer is not None
    for family, token in offer.tokens.items():
        with Cli({"port": offer.port, "authToken": token}) as cli:
            assert (cli.ask("initialize").status_code == 401) is (family == "Claude Code")
        client = Client(offer.port, {TOKEN: token})
        assert client.status == (101 if family == "Claude Code" else 401)
        client.close()
