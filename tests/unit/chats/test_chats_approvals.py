"""Permissions of a chat through diffs: what the person does with a diff is the vote, nothing else."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from companion.conversation.snapshot import Locality
from companion.review import reviews as review_module
from companion.settings import Settings

from ..fake_daemon import until
from .chatting import CHAT, WINDOW, Room, ask, live, resolve


@pytest.fixture
def room(project: Path) -> AbstractAsyncContextManager[Room]:
    """A window with a live chat, whose daemon takes answers."""
    return live(project, routes={"POST /session/s/permission/r": (200, {})})


def votes(room: Room) -> list[Any]:
    return [request.body["outcome"].get("optionId") for request in room.daemon.asked("POST /session/s/permission/r")]


async def test_accepting_the_diff_allows_it_once(room: Room, project: Path) -> None:
    path = str(project / "a.py")
    ask(room.stream, 1, (path, "old\n", "new\n"))
    [diff] = await room.diff()
    assert (diff.review.file_path, diff.original, diff.text) == (path, "old\n", "new\n")
    assert diff.review.owner.cli == "Qwen Code"
    assert not diff.review.is_editable
    assert room.chats[CHAT].approvals.waits("r")
    room.reviews.accept(diff.review.number, "whatever the view holds")
    await room.asked("POST /session/s/permission/r")
    assert votes(room) == ["once"]
    assert room.editor.open_diffs == {}
    resolve(room.stream, 2, "once", "c")
    await until(lambda: not room.render.status.permissions)
    assert room.editor.mentioned == []
    assert room.editor.kept == []


def says(room: Room, number: int, text: str, kind: str = "agent_message_chunk") -> None:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    room.stream.send("session_update", number, "p", update=update)


def calls(room: Room, number: int, key: str, status: str, parent: str | None = None) -> None:
    meta = {"parentToolCallId": parent} if parent else {}
    update = {"sessionUpdate": "tool_call", "toolCallId": key, "status": status, "title": key, "_meta": meta}
    room.stream.send("session_update", number, "p", update=update)


async def test_a_diff_has_what_the_agent_has_said_before_its_call(room: Room) -> None:
    says(room, 1, "I look first.")
    calls(room, 2, "other", "completed")
    says(room, 3, "So it is.\n\nIt has to be new, <b>as you say")
    ask(room.stream, 4, ("a.py", "1", "2"))
    [diff] = await room.diff()
    assert diff.review.reason == "It has to be new, <b>as you say"
    says(room, 5, "Something else.")
    ask(room.stream, 6, ("b.py", "1", "2"), request="r2")
    await room.diff(2)
    assert diff.review.reason == "It has to be new, <b>as you say"


@pytest.mark.parametrize("parent", [None, "task"])
async def test_what_an_agent_has_said_is_no_reason_for_a_call_of_its_sub_agent(room: Room, parent: str | None) -> None:
    says(room, 1, "Somebody else shall write it.")
    calls(room, 2, "task", "in_progress")
    calls(room, 3, "t" if parent else "else", "pending", parent)
    ask(room.stream, 4, ("a.py", "1", "2"))
    [diff] = await room.diff()
    assert diff.review.reason == ""


async def test_what_was_said_for_an_earlier_prompt_is_no_reason(room: Room) -> None:
    says(room, 1, "An old reason.")
    ask(room.stream, 2, ("a.py", "1", "2"))
    [diff] = await room.diff()
    resolve(room.stream, 3, "no")
    await room.diff(0)
    update = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "Then do this."}}
    room.stream.send("session_update", 4, "p", update=update)
    ask(room.stream, 5, ("a.py", "1", "2"), request="r2", toolCall={
        "toolCallId": "t2", "title": "Writing", "kind": "edit", "status": "pending",
        "content": [{"type": "diff", "path": "a.py", "oldText": "1", "newText": "2"}],
    })  # fmt: skip
    [diff] = await room.diff()
    assert diff.review.reason == ""


async def test_rejecting_or_closing_the_diff_rejects_it(room: Room, project: Path) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    [diff] = await room.diff()
    assert not diff.review.disk.exists
    room.reviews.reject(diff.review.number)
    await room.asked("POST /session/s/permission/r")
    assert votes(room) == ["no"]


async def test_without_an_option_that_rejects_it_is_cancelled_and_always_is_never_taken_for_once(
    room: Room, project: Path
) -> None:
    always = [{"optionId": "always", "name": "Allow All Edits", "kind": "allow_always"}]
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"), options=always)
    [diff] = await room.diff()
    room.reviews.accept(diff.review.number, "new\n")
    await until(lambda: room.editor.said)
    assert room.editor.said == [("Answer in the chat: it offers “Allow All Edits”.", 1)]
    assert votes(room) == []
    [again] = await room.diff()
    room.reviews.reject(again.review.number)
    request = await room.asked("POST /session/s/permission/r")
    assert request.body == {"outcome": {"outcome": "cancelled"}}


async def test_several_changes_are_allowed_when_all_are_accepted(room: Room) -> None:
    # A path that isn't absolute is one of the daemon's folder.
    ask(room.stream, 1, ("a.py", "1", "2"), ("a.py", "2", "3"))
    first, second = await room.diff(2)
    assert first.review.file_path == f"{room.chats[CHAT].connection.folder.there}/a.py"
    room.reviews.accept(second.review.number, "3")
    await asyncio.sleep(0.05)
    assert votes(room) == []
    room.reviews.accept(first.review.number, "2")
    await room.asked("POST /session/s/permission/r")
    assert votes(room) == ["once"]


async def test_the_first_rejection_of_several_counts(room: Room, project: Path) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "1", "2"), (str(project / "b.py"), "2", "3"))
    first, _ = await room.diff(2)
    room.reviews.reject(first.review.number)
    await room.asked("POST /session/s/permission/r")
    assert votes(room) == ["no"]
    assert room.editor.open_diffs == {}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("once", "Another client has allowed “Writing”."),
        ("no", "Another client has rejected “Writing”."),
        (None, "“Writing” was cancelled."),
    ],
)
async def test_what_is_answered_elsewhere_closes_the_diff_and_is_told(
    room: Room, project: Path, option: str | None, message: str
) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    await room.diff()
    resolve(room.stream, 2, option, "another")
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [(message, 1)]
    assert room.editor.open_diffs == {}
    assert votes(room) == []


async def test_what_is_answered_in_the_chat_closes_the_diff_without_a_word(room: Room, project: Path) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    await room.diff()
    room.chats.tell(CHAT, lambda own: own.approvals.give("r", "always"))
    await room.asked("POST /session/s/permission/r")
    resolve(room.stream, 2, "always", "c")
    await until(lambda: not room.editor.open_diffs)
    assert room.editor.mentioned == []
    assert votes(room) == ["always"]


async def test_an_answer_that_is_given_twice_is_not_taken_for_another_clients(room: Room) -> None:
    """As with a double click, before the agent tells that it has the first one."""
    ask(room.stream, 1)
    await until(lambda: room.render.status.permissions)
    room.chats.tell(CHAT, lambda own: own.approvals.give("r", "once"))
    await room.asked("POST /session/s/permission/r")
    room.daemon.routes["POST /session/s/permission/r"] = 404, {"error": "late", "requestId": "r"}
    room.chats.tell(CHAT, lambda own: own.approvals.give("r", "once"))
    await until(lambda: room.editor.mentioned)
    resolve(room.stream, 2, "once", "c")
    await until(lambda: not room.render.status.permissions)
    assert not [message for message, _ in room.editor.mentioned if "Another client" in message]


async def test_what_the_history_doesnt_know_is_asked_no_more(room: Room, project: Path) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    await room.diff()
    room.stream.send("state_resync_required", reason="ring_evicted")
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [("“Writing” is not asked any more.", 1)]
    assert room.editor.open_diffs == {}


async def test_a_vote_that_cant_be_sent_is_said_and_the_diff_comes_back(room: Room, project: Path) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    [diff] = await room.diff()
    room.daemon.routes["POST /session/s/permission/r"] = None
    room.reviews.accept(diff.review.number, "new\n")
    await until(lambda: room.editor.said)
    assert room.editor.said == [("Your answer could not be sent. The connection to the daemon has gone.", 1)]
    [again] = await room.diff()
    assert again.review is not diff.review
    room.daemon.routes["POST /session/s/permission/r"] = 404, {"error": "late", "requestId": "r"}
    room.reviews.accept(again.review.number, "new\n")
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [("This question has been answered already.", 1)]
    assert room.editor.open_diffs == {}


async def test_the_diff_stays_while_the_connection_is_lost(room: Room, project: Path) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    [diff] = await room.diff()
    room.stream.cut()
    await room.live()
    assert room.editor.open_diffs == {diff.review.number: diff}
    assert votes(room) == []


@pytest.mark.parametrize("end", ["close", "show", "window_closed"])
async def test_the_end_of_the_chat_answers_nothing(room: Room, project: Path, end: str) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    await room.diff()
    getattr(room.chats, end)(1)
    await until(lambda: not room.editor.open_diffs)
    await room.asked("POST /session/s/detach")
    assert votes(room) == []


async def test_a_stop_answers_nothing(room: Room, project: Path) -> None:
    ask(room.stream, 1, (str(project / "a.py"), "", "new\n"))
    await room.diff()
    room.chats.dismiss()
    room.reviews.reject_all()
    assert room.editor.open_diffs == {}
    await room.chats.stop(hand_over=False)
    assert votes(room) == []


async def test_a_file_that_is_as_proposed_already_is_nobodys_answer(room: Room, project: Path) -> None:
    path = project / "a.py"
    path.write_text("new\n")
    ask(room.stream, 1, (str(path), "old\n", "new\n"))
    [diff] = await room.diff()
    assert diff.original == "old\n"
    await room.reviews.check_disk()
    assert diff.disk_states == []
    path.write_bytes(b"old\r\n")  # the daemon does not tell the line endings
    await room.reviews.check_disk()
    assert diff.disk_states == []
    path.write_text("new\n\n")
    await room.reviews.check_disk()
    assert diff.disk_states == ["changed"]
    assert votes(room) == []


async def test_for_another_machine_no_file_is_read(room: Room, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "a.py"
    path.write_text("mine\n")
    chat = room.chats[CHAT]
    chat.connector._where = replace(Locality(), folder="/there", is_local=False)
    monkeypatch.setattr(review_module, "stamp", lambda _: pytest.fail("it looks at the disk"))
    monkeypatch.setattr(review_module, "read_file", lambda *_: pytest.fail("it reads the disk"))
    ask(room.stream, 1, (str(path), "theirs\n", "new\n"))
    [diff] = await room.diff()
    assert diff.original == "theirs\n"
    assert not diff.review.is_here
    await room.reviews.check_disk()
    path.write_text("changed\n")
    await room.reviews.check_disk()
    assert diff.disk_states == []


async def test_a_diff_that_cant_be_shown_leaves_the_question_to_the_chat(
    room: Room, project: Path, stormy: pytest.LogCaptureFixture
) -> None:
    room.editor.show_fails = RuntimeError("no room")
    ask(room.stream, 1, (str(project / "a.py"), "old\n", "new\n"))
    await until(lambda: room.editor.said)
    assert room.editor.said == [("The diff of a.py could not be shown. Answer in the chat.", 1)]
    assert list(room.reviews) == []
    assert room.chats.questions(WINDOW) == 1
    assert votes(room) == []
    await until(lambda: room.render.status.permissions)


async def test_who_wants_no_diffs_gets_none(room: Room, project: Path) -> None:
    room.host.settings = Settings(show_diffs=False)
    ask(room.stream, 1, (str(project / "a.py"), "old\n", "new\n"))
    await until(lambda: room.render.status.permissions)
    assert list(room.reviews) == []
    assert room.chats.questions(WINDOW) == 1


async def test_who_wants_diffs_after_all_gets_that_of_what_waits(room: Room, project: Path) -> None:
    """The question names the diff from then on, and shows no more what would be changed."""
    room.host.settings = Settings(show_diffs=False)
    ask(room.stream, 1, (str(project / "a.py"), "old\n", "new\n"))
    await until(lambda: room.render.status.permissions)
    room.host.settings = Settings()
    room.configure()
    [diff] = await room.diff()
    await until(lambda: "The diff is open in another tab." in room.editor.chat_texts[CHAT])
    assert room.chats.questions(WINDOW) == 0
    room.configure()
    await asyncio.sleep(0.1)
    assert await room.diff() == [diff]
    room.chats.tell(CHAT, lambda own: own.approvals.give("r", "once"))
    await room.asked("POST /session/s/permission/r")


async def test_what_waits_without_a_diff_is_counted(room: Room, project: Path) -> None:
    """For the status bar, which counts the diffs by themselves."""
    ask(room.stream, 1, (str(project / "a.py"), "old\n", "new\n"))
    [diff] = await room.diff()
    assert room.chats.questions(WINDOW) == 0
    room.reviews.accept(diff.review.number, "whatever")
    await room.asked("POST /session/s/permission/r")
    assert room.chats.questions(WINDOW) == 0
    resolve(room.stream, 2, "once", "c")
    await until(lambda: not room.render.status.permissions)
    ask(room.stream, 3, request="r2")
    await until(lambda: room.chats.questions(WINDOW) == 1)
    resolve(room.stream, 4, "once", "c", request="r2")
    await until(lambda: room.chats.questions(WINDOW) == 0)


async def test_a_question_without_a_diff_is_told_when_another_client_answers(room: Room) -> None:
    ask(room.stream, 1, options=[{"optionId": "x", "name": "Submit", "kind": "other"}])
    await until(lambda: room.render.status.permissions)
    resolve(room.stream, 2, "x", "another")
    await until(lambda: room.editor.mentioned)
    assert room.editor.mentioned == [("Another client has answered “Writing”.", 1)]
