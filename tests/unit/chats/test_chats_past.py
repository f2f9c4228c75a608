"""Going back in a chat: rewind, edit an earlier prompt, fork, the effort of the model."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from companion.backends.agent import Rewinding, RewindPoint
from companion.backends.daemon import decoder
from companion.backends.daemon.client import DaemonAgent
from companion.chats import history
from companion.chats.history import RewindTarget, rewind_targets
from companion.chats.prompt import Draft, Excerpt
from companion.conversation.failures import ChatError
from companion.conversation.snapshot import Attachment, Diff, FileChange, Location, Message, Tool, Turn, changed_files

from ..fake_daemon import Request, Stream, until
from .chatting import CHAT, live, real

POINTS = "GET /session/s/rewind/snapshots"


def point(index: int, at: float = 0.0, *, files: int = 0, inserted: int = 0, deleted: int = 0) -> dict[str, Any]:
    """A point as the daemon tells it; `at` in seconds since 1970."""
    return {
        "promptId": f"s########{index + 1}",
        "turnIndex": index,
        "timestamp": datetime.fromtimestamp(at, UTC).isoformat(),
        "diffStats": {"filesChanged": files, "insertions": inserted, "deletions": deleted},
    }


def read(*points: dict[str, Any]) -> list[RewindPoint]:
    return [decoder.read(RewindPoint, each) for each in points]


def asked(key: str, began: float | None = None, *more: Any, asks_model: bool = True) -> Turn:
    return Turn(key, "done", (Message("user", f"Do {key}"), *more), began=began, asks_model=asks_model)


def wrote(path: str, old: str, new: str, status: str = "completed", **more: Any) -> Tool:
    return Tool("t", "write_file", "Write", "edit", status, diffs=(Diff(path, old, new),), **more)


# Which prompts there are


def test_each_point_is_the_prompt_of_its_number_the_latest_first():
    turns = [asked("a", 1), asked("b", 2, asks_model=False), asked("c", 3)]
    found = rewind_targets(turns, read(point(0, 1), point(1, 3, files=2, inserted=5, deleted=1)))
    assert found == [
        RewindTarget("s########2", "c", "Do c", (), 2, 5, 1),
        RewindTarget("s########1", "a", "Do a"),
    ]


def test_a_point_that_was_made_after_the_next_prompt_is_not_offered():
    assert rewind_targets([asked("a", 10), asked("b", 20)], read(point(0, 25), point(1, 26)))[0].turn == "b"
    assert len(rewind_targets([asked("a", 10), asked("b", 20)], read(point(0, 25), point(1, 26)))) == 1


def test_points_from_before_a_rewind_are_older_than_their_prompts():
    turns = [asked("a", 10), asked("new", 100)]
    assert [each.turn for each in rewind_targets(turns, read(point(0, 10), point(1, 20)))] == ["new", "a"]


def test_a_history_without_its_beginning_has_the_latest_prompts():
    turns = [asked("c", 30), asked("d", 40)]
    points = read(point(0, 10), point(1, 20), point(2, 30), point(3, 40))
    assert [(each.turn, each.point[-1]) for each in rewind_targets(turns, points)] == [("d", "4"), ("c", "3")]


def test_a_point_without_a_time_and_one_too_many_do_no_harm():
    points = [{**point(0), "timestamp": "once"}, point(7)]
    assert [each.turn for each in rewind_targets([asked("a"), asked("b"), asked("c")], read(*points))] == ["a"]


def test_the_files_of_a_prompt_are_those_that_were_changed_since_then():
    turns = [
        asked("a", 1, wrote("/p/a.py", "", "1\n")),
        asked("b", 2, wrote("/p/sub/b.py", "", "1\n"), wrote("/p/c.py", "", "1\n", "failed")),
        asked("c", 3, wrote("/p/a.py", "1\n", "2\n"), Message("answer", "Done")),
    ]
    found = rewind_targets(turns, read(point(0, 1), point(1, 2), point(2, 3)), "/p")
    assert [each.files for each in found] == [("a.py",), ("sub/b.py", "a.py"), ("a.py", "sub/b.py")]


def test_the_changes_of_a_file_are_one_from_the_first_text_to_the_last():
    turns = [asked("a", 1, wrote("/p/a", "1", "2"), wrote("/p/b", "x", "y")), asked("b", 2, wrote("/p/a", "2", "3"))]
    assert changed_files(turns) == [FileChange("/p/a", "1", "3"), FileChange("/p/b", "x", "y")]
    assert changed_files([asked("a", 1, wrote("/p/a", "1", "2"), wrote("/p/a", "2", "1"))]) == []


def test_parts_of_a_file_that_tools_tell_are_put_together():
    whole = wrote("/p/a", "one\ntwo\nthree\n", "one\n2\nthree\n")
    part = wrote("/p/a", "three\n", "3\n")
    assert changed_files([asked("a", 1, whole, part)]) == [FileChange("/p/a", "one\ntwo\nthree\n", "one\n2\n3\n")]
    elsewhere = wrote("/p/a", "nine\n", "9\n")
    assert changed_files([asked("a", 1, part, elsewhere)]) == [FileChange("/p/a", "three\nnine\n", "3\n9\n")]
    after_an_edit = wrote("/p/a", "one\n2\nthree\nmine\n", "one\n2\n3\nmine\n")
    assert changed_files([asked("a", 1, whole, after_an_edit)]) == [
        FileChange("/p/a", "one\ntwo\nthree\n", "one\n2\n3\nmine\n")
    ]


def test_a_diff_with_only_a_name_gets_its_path_and_its_whole_text_from_the_call():
    output = {"originalContent": "one\ntwo\n", "newContent": "one\n2\n"}
    by_place = wrote("a.py", "two", "2", locations=(Location("/p/sub/a.py"),), output=output)
    assert changed_files([asked("a", 1, by_place)]) == [FileChange("/p/sub/a.py", "one\ntwo\n", "one\n2\n")]
    by_argument = wrote("a.py", "", "2", input={"file_path": "/p/sub/a.py"}, output={"newContent": "2"})
    assert changed_files([asked("a", 1, by_argument)]) == [FileChange("/p/sub/a.py", "", "2")]
    assert changed_files([asked("a", 1, wrote("a.py", "", "2", output="done"))]) == [FileChange("a.py", "", "2")]


def test_the_files_in_a_prompt_are_named_as_they_were_written():
    """The agent's history has only their names, which would be looked for in the chat's folder."""
    named = (
        Attachment("file:///p/src/a%20b.py#L3-L9", "a b.py"),
        Attachment("file:///p/src/a.py#L3", "a.py#L3"),
        Attachment("file:///else/a.py", "a.py"),
        Attachment("", "image"),
    )
    message = Message("user", "Compare @a b.py with @a.py, and @a.py", named)
    [found] = rewind_targets([Turn("a", "done", (message,), asks_model=True)], read(point(0)), "/p")
    assert found.text == "Compare @src/a\\ b.py with @/else/a.py, and @a.py"
    windows = Message("user", "See @a.py", (Attachment("file:///C:/p/src/a.py", "a.py"),))
    [found] = rewind_targets([Turn("a", "done", (windows,), asks_model=True)], read(point(0)), r"C:\p")
    assert found.text == "See @src/a.py"


# What the person does


def say(stream: Stream, number: int, words: str, prompt: str = "p") -> None:
    """A prompt arrives, as the daemon echoes it."""
    content = {"type": "text", "text": words}
    stream.send("session_update", number, prompt, update={"sessionUpdate": "user_message_chunk", "content": content})


async def test_a_rewind_undoes_files_or_leaves_them_and_gives_the_prompt_back(project: Path) -> None:
    async with live(project, "session_rewind") as room:
        draft = Draft("Look", pictures=())
        room.chats.send(CHAT, draft)
        await room.asked("POST /session/s/prompt")
        say(room.stream, 1, "Look")
        room.stream.send("turn_complete", 2, "p", stopReason="end_turn")
        await until(lambda: room.render.status.last == "done")
        room.daemon.routes[POINTS] = 200, {"snapshots": [point(0, files=1, inserted=2)]}
        [to] = await room.chats[CHAT].history.targets()
        assert (to.turn, to.text, to.count, to.inserted) == ("p", "Look", 1, 2)
        done = {"rewound": True, "filesChanged": [f"{real(room.folder)}/a.py"], "filesFailed": []}
        room.daemon.routes["POST /session/s/rewind"] = 200, done
        assert await room.chats[CHAT].history.rewind(to, undo_files=True) == (
            "The conversation was rewound. Undone: a.py.",
            draft,
        )
        assert room.daemon.asked("POST /session/s/rewind")[-1].body == {"promptId": "s########1", "rewindFiles": True}
        room.stream.send("session_rewound", 3, promptId=to.point, targetTurnIndex=0, filesChanged=[], filesFailed=[])
        await until(lambda: "Look" not in room.editor.chat_texts[1])
        room.daemon.routes["POST /session/s/rewind"] = 200, {"rewound": False, "filesFailed": ["/elsewhere/b.py"]}
        told, _ = await room.chats[CHAT].history.rewind(to, undo_files=False)
        assert told == "The conversation was rewound, but these files could not be undone: /elsewhere/b.py."
        assert room.daemon.asked("POST /session/s/rewind")[-1].body["rewindFiles"] is False
        room.daemon.routes["POST /session/s/rewind"] = 200, {"rewound": True}
        assert (await room.chats[CHAT].history.rewind(to, undo_files=False))[0] == "The conversation was rewound."


async def test_a_prompt_comes_back_with_what_was_attached_though_another_conversation_was_shown(project: Path) -> None:
    async with live(project, "session_rewind") as room:
        draft = Draft("Look", (Excerpt("file:///p/a.py#L1", "a.py:1", "x = 1"),))
        room.chats.send(CHAT, draft)
        await room.asked("POST /session/s/prompt")
        say(room.stream, 1, "Look")
        room.stream.send("turn_complete", 2, "p", stopReason="end_turn")
        await until(lambda: room.render.status.last == "done" and room.render.session)
        room.chats.show(CHAT)
        await room.live()
        room.chats.show(CHAT, "s")
        stream = await room.live()
        say(stream, 1, "Look")
        stream.send("turn_complete", 2, "p", stopReason="end_turn")
        await until(lambda: room.render.status.last == "done")
        room.daemon.routes |= {POINTS: (200, {"snapshots": [point(0)]}), "POST /session/s/rewind": (200, {})}
        [to] = await room.chats[CHAT].history.targets()
        _, again = await room.chats[CHAT].history.rewind(to, undo_files=False)
        assert again == draft


async def test_the_prompt_comes_back_though_a_turn_has_begun_during_the_rewind(project: Path) -> None:
    async with live(project, "session_rewind") as room:

        async def rewinds(*_: object, **__: object) -> Rewinding:
            say(room.stream, 1, "Something else")
            await until(lambda: room.render.status.running)
            return Rewinding()

        to = RewindTarget("x", "gone", "Look", paths=(f"{room.folder}/a.py",))
        with patch.object(DaemonAgent, "rewind", rewinds):
            told, draft = await room.chats[CHAT].history.rewind(to, undo_files=True)
        assert draft.text == "Look"
        assert told == "The conversation was rewound. A turn runs: wait until it ends, or cancel it first."


async def test_there_is_no_rewind_while_a_turn_runs_before_any_prompt_or_without_the_feature(project: Path) -> None:
    async with live(project, "session_rewind") as room:
        room.daemon.routes[POINTS] = 200, {"snapshots": []}
        with pytest.raises(ChatError, match="There is no prompt yet to go back to"):
            await room.chats[CHAT].history.targets()
        say(room.stream, 1, "Look")
        await until(lambda: room.render.status.running)
        with pytest.raises(ChatError, match="A turn runs: wait until it ends"):
            await room.chats[CHAT].history.targets()


async def test_the_daemon_gets_a_moment_to_end_a_turn_but_no_more(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "IDLE_STEP", 0.001)
    busy = 409, {"error": "Cannot rewind while a prompt is running", "code": "session_busy"}
    answers = [busy, busy, (200, {"rewound": True})]
    async with live(project, "session_rewind") as room:
        room.daemon.routes["POST /session/s/rewind"] = lambda _: answers.pop(0) if len(answers) > 1 else answers[0]
        assert (await room.chats[CHAT].history.rewind(RewindTarget("x", "p", "Look"), undo_files=True))[
            0
        ] == "The conversation was rewound."
        assert len(room.daemon.asked("POST /session/s/rewind")) == 3
        answers[:] = [busy]
        monkeypatch.setattr(history, "IDLE_LIMIT", 0.0)
        with pytest.raises(ChatError, match="Cannot rewind while a prompt is running"):
            await room.chats[CHAT].history.rewind(RewindTarget("x", "p", "Look"), undo_files=True)


async def test_an_older_daemon_says_that_it_can_not_rewind_nor_fork(project: Path) -> None:
    async with live(project) as room:
        for ask in (room.chats[CHAT].history.targets, room.chats[CHAT].history.fork):
            with pytest.raises(ChatError, match="This Qwen Code can't do that: its daemon has no “session_"):
                await ask()


async def test_a_fork_is_shown_and_the_original_stays(project: Path) -> None:
    async with live(project, "session_branch") as room:
        room.stream.send("session_metadata_updated", 1, displayName="Mine")
        await until(lambda: room.render.status.title == "Mine")
        copy = {"sessionId": "copy", "workspaceCwd": real(room.folder), "clientId": "c2"}
        loaded = copy | {"attached": True, "lastEventId": 0, "eventEpoch": "e"}
        room.daemon.routes |= {
            "POST /session/s/branch": (201, copy),
            "POST /session/copy/detach": (204, None),
            "POST /session/copy/load": (200, loaded),
            "GET /session/copy/pending-prompts": (200, {}),
        }
        await room.chats[CHAT].history.fork()
        assert room.daemon.asked("POST /session/s/branch")[0].body == {"name": "Mine"}
        assert room.daemon.asked("POST /session/copy/detach")[0].headers["x-qwen-client-id"] == "c2"
        await until(lambda: room.daemon.asked("GET /session/copy/events"))
        assert "copy of the conversation" in room.editor.mentioned[-1][0]
        assert not room.daemon.asked("DELETE")


async def test_the_effort_is_shown_and_switched(project: Path) -> None:
    chosen = {"effort": "default"}

    def context(_: Request) -> tuple[int, Any]:
        values = [{"value": "default", "name": "Default"}, {"value": "high", "name": "High", "description": "long"}]
        option = {"id": "reasoning_effort", "currentValue": chosen["effort"], "options": values}
        return 200, {"state": {"configOptions": [{"id": "mode"}, option]}}

    def switched(request: Request) -> tuple[int, Any]:
        chosen["effort"] = request.body["value"]
        return 200, {}

    routes = {"GET /session/s/context": context, "POST /session/s/config-option": switched}
    async with live(project, "session_context", routes=routes) as room:
        assert [each.name for each in room.render.status.efforts] == ["Default", "High"]
        room.chats.tell(CHAT, lambda own: own.switch("effort", "high"))
        await until(lambda: room.render.status.effort == "high")
        [request] = room.daemon.asked("POST /session/s/config-option")
        assert request.body == {"configId": "reasoning_effort", "value": "high"}
