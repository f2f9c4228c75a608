"""What a chat never sends: files that `context_exclude` matches."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from companion.agents import AgentCommand
from companion.backends.acp.errors import RequestError
from companion.backends.acp.files import Files
from companion.chats.prompt import ChatFolder, Draft, Excerpt
from companion.editor import WindowId
from companion.exclusion import Sharing
from companion.settings import Settings
from tests.agent_talk import MemoryFiles, client_of, run

from ..conftest import Running
from ..fake_daemon import until
from .chatting import CHAT, WINDOW, Room, prompts, stat

WHY = "{} stays here: the setting “context_exclude” excludes it."


def draft(project: Path, kind: str) -> Draft:
    """A draft with something excluded."""
    return {
        "mention": Draft("see @.env"),
        "mention by another folder": Draft("see @src/../secrets/token.txt please"),
        "link": Draft("see @plain.txt"),
        "whole path": Draft(f"see @{project}/.env"),
        "selection": Draft("why?", (Excerpt((project / "a b.pem").as_uri() + "#L1-L2", "a b.pem:1-2", "KEY"),)),
        "tab without a file": Draft("why?", (Excerpt("untitled:.env#L1", ".env:1", "KEY"),)),
        "unsaved": Draft("see @new.pem", unsaved={str(project / "new.pem"): "KEY"}),
        "picture": Draft("see", pictures=(str(project / "secrets" / "a.png"),)),
    }[kind]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("mention", ".env"),
        ("mention by another folder", "token.txt"),
        ("link", "plain.txt"),
        ("whole path", ".env"),
        ("selection", "a b.pem"),
        ("tab without a file", ".env"),
        ("unsaved", "new.pem"),
        ("picture", "a.png"),
    ],
)
async def test_a_prompt_with_an_excluded_file_comes_back_with_one_sentence(
    room: Room, project: Path, kind: str, name: str
) -> None:
    (project / "secrets").mkdir()
    (project / "secrets" / "a.png").write_bytes(b"\x89PNG")
    (project / "plain.txt").symlink_to(project / ".env")
    given = draft(project, kind)
    files = [".env", "src/../secrets/token.txt", "plain.txt", f"{project}/.env"]
    room.daemon.routes["GET /stat"] = stat(*files)
    await room.opened()
    room.chats.send(CHAT, given)
    await until(lambda: room.editor.returned)
    assert room.editor.returned == [(1, given, WHY.format(name))]
    assert prompts(room) == []


async def test_what_is_no_file_goes_as_the_words_that_it_is(room: Room) -> None:
    room.daemon.routes["GET /stat"] = stat("a.py")
    room.chats.open(CHAT, WINDOW, room.folder)
    room.chats.send(CHAT, Draft("Do I need an @.env?"))
    await room.asked("POST /session/s/prompt")
    assert prompts(room) == [[{"type": "text", "text": "Do I need an @.env?"}]]


async def test_the_globs_of_the_window_count(room: Room) -> None:
    room.daemon.routes["GET /stat"] = stat("a.py", ".env")
    room.told = lambda window: Sharing(exclude=("/a.py",)) if window == WINDOW else Sharing()
    await room.opened()
    room.chats.send(CHAT, Draft("@a.py"))
    await until(lambda: room.editor.returned)
    assert room.editor.returned[0][2] == WHY.format("a.py")
    room.chats.send(CHAT, Draft("@.env"))
    await room.asked("POST /session/s/prompt")


async def test_excluded_files_are_not_offered(room: Room) -> None:
    await room.opened()
    room.daemon.routes["GET /glob"] = 200, {"matches": [".env", "a.py", "secrets/b.py", "secrets"]}
    assert await room.chats[CHAT].files("") == ["a.py"]


def test_a_folder_on_another_computer_is_looked_at_by_its_own_paths():
    there = ChatFolder("/here", r"C:\app", is_local=False, sharing=Sharing(exclude=("/keys/*", "*.pem")))
    assert there.refusal(["keys/a.txt"]) == WHY.format("a.txt")
    assert there.refusal([r"Sub\KEY.pem"]) == WHY.format("KEY.pem")
    assert there.refusal(["sub/keys/a.txt"]) is None


def test_the_companion_tells_the_chats_what_a_windows_project_excludes(running: Running):
    running.do(lambda companion: companion.configure(Settings(), {WindowId(1): Settings(context_exclude=("x",))}))
    told = running.do(
        lambda companion: [companion.chats.window(WindowId(window)).sharing().exclude for window in (1, 2)]
    )
    assert told == [("x",), Settings().context_exclude]


def test_a_glob_with_a_leading_slash_holds_in_all_folders_of_the_window_for_an_agents_reads(
    running: Running, tmp_path: Path
):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "secret.txt").write_text("KEY")
    folders = str(tmp_path / "one"), str(tmp_path / "two")
    running.open_window(WindowId(2), folders)
    running.do(lambda companion: companion.configure(Settings(context_exclude=("/secret.txt",)), {}))
    place = running.do(lambda companion: companion.chats.window(WindowId(2)))
    agent = client_of(AgentCommand("Agent", ()), {}, MemoryFiles(allows=True))
    agent.folder = folders[0]
    agent.place.sharing = place.sharing  # pyright: ignore[reportAttributeAccessIssue]
    files = Files(agent)
    for folder in folders:
        with pytest.raises(RequestError, match="context_exclude"):
            run(files.read({"path": os.path.join(folder, "secret.txt")}))
    there = ChatFolder(folders[0], folders[0], is_local=True, sharing=place.sharing())
    assert there.refusal([os.path.join(folders[1], "secret.txt")]) == WHY.format("secret.txt")
