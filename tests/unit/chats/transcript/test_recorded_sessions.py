"""What recorded sessions show, to the byte: the text of the chat and every mark in it, frame after frame.

The files beside this one have the text and the marks at the points of a session that are named there, and a digest of
all that was shown on the way. `RECORD=1` writes them anew.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from companion.backends.daemon.decoder import decode
from companion.chats.transcript.render import Render, TurnStart
from companion.conversation.conversation import Conversation
from companion.conversation.snapshot import ConnectionStatus, Locality
from tests.agent_talk import AgentTalk, Talks, run, until

from ...backends.daemon.test_daemon_events import DIED, HISTORIES, SESSION
from .reading import Shown

RECORDED = Path(__file__).parent / "recorded"
HERE = Locality("this computer", "/project", "1", agent="Scripted Agent")


class Recording:
    """A view of a conversation, and what it has shown so far."""

    def __init__(self, conversation: Conversation, locality: Locality = HERE) -> None:
        self.conversation = conversation
        self.parts: list[str] = []
        self._noted: list[str] = []
        self._shown = Shown()
        self._locality = locality
        self._digest = hashlib.sha256()
        conversation.set_connection(ConnectionStatus("live"))

    def look(self) -> str:
        """Show what is new. Returns all that is shown now."""
        snapshot = self.conversation.snapshot() if self._shown.render else self.conversation.whole_snapshot()
        render = self._shown.update(snapshot, self._locality)
        shown = "\n".join([self._shown.raw, *marks(render)])
        self._digest.update(shown.encode())
        return shown

    def note(self, point: str) -> None:
        """Record what is shown at a point of the session, from the first line on that differs from the point before."""
        before, self._noted = self._noted, self.look().split("\n")
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, self._noted, strict=False)))
        self.parts.append("\n".join([f"======== {point}, from line {same + 1}", *self._noted[same:], ""]))

    def check(self, name: str) -> None:
        """Compare it with what was recorded."""
        found = "".join(self.parts)
        path = RECORDED / name
        if os.environ.get("RECORD"):
            path.write_bytes(found.encode())
        assert found.encode() == path.read_bytes()

    def note_digest(self) -> None:
        """Record that all frames were the same."""
        self.parts.append(f"======== All frames\n{self._digest.hexdigest()}\n")


def marks(render: Render) -> Iterator[str]:
    """The marks of a text, one a line."""
    for fold in render.folds:
        yield f"fold {fold.start}-{fold.end} {fold.key}"
    for link in render.links:
        yield f"link {link.start}-{link.end} {link.path} {link.line}"
    for code in render.codes:
        yield f"code {code.start}-{code.end} {code.key} {code.language} {code.indent} {code.depth}"
    for ask in render.asks:
        yield f"ask {ask.start}-{ask.end} {ask.permission.id} {ask.permission.tool} {ask.hidden}"
    for start in render.marks.of(TurnStart):
        yield f"turn {start.start}"
    for running in render.running:
        yield f"running {running.start} {' '.join(running.terminals)}"
    yield f"top {render.top}"


@pytest.mark.parametrize(("name", "lines"), [("daemon-session.txt", SESSION), ("daemon-died.txt", DIED)])
def test_a_recorded_session_of_the_daemon_is_shown_as_it_was(name: str, lines: list[str]):
    recording = Recording(Conversation(), Locality("this computer", "/home/ada/shop", "0.24.4", agent="Qwen Code"))
    for line in lines:
        recording.conversation.apply(decode(line))
        shown = recording.look()
        if "\nask " in shown:
            recording.note("A question")
    recording.note("The end")
    recording.note_digest()
    recording.check(name)


@pytest.mark.parametrize(("name", "history"), [("live", HISTORIES[0]), ("disk", HISTORIES[1])])
def test_a_recorded_history_of_the_daemon_is_shown_as_it_was(name: str, history: dict[str, Any]):
    recording = Recording(Conversation(), Locality("this computer", "/home/ada/shop", "0.24.4", agent="Qwen Code"))
    for event in (*history["compactedReplay"], *history["liveJournal"]):
        recording.conversation.apply(decode(event))
        recording.look()
    recording.note("The end")
    recording.note_digest()
    recording.check(f"daemon-history-{name}.txt")


async def _answer(talk: AgentTalk, recording: Recording, *kinds: str | None, **values: Any) -> None:
    for number, kind in enumerate(kinds, 1):
        permission = await talk.asked()
        recording.note(f"Question {number}")
        option = next((each.id for each in permission.options if each.kind == kind), None)
        await talk.client.answer(talk.session, permission.id, option, values if permission.form else None)
        await until(lambda: permission not in talk.conversation.status.permissions)  # noqa: B023 - within the loop


@pytest.fixture
def script() -> str:
    return f"EXECUTABLE = {sys.executable!r}\n" + (RECORDED / "agent-script.txt").read_text(encoding="utf-8")


def test_a_session_of_an_agent_on_stdio_is_shown_as_it_was(talks: Talks, script: str):
    async def test() -> None:
        async with talks(script) as talk:
            recording = Recording(talk.conversation)
            await talk.done(await talk.ask("say"))
            recording.note("Messages")
            await talk.done(await talk.ask("tools"))
            recording.note("Tools")
            key = await talk.ask("ask")
            kinds = "allow_once", "allow_once", "reject_once", "allow_once", "allow_once", "allow_once"
            await _answer(talk, recording, *kinds, name="Ada")
            await talk.done(key)
            recording.note("Answers")
            await talk.done(await talk.ask("fail"))
            recording.note("A failure")
            key = await talk.ask("wait")
            await talk.asked()
            await talk.client.cancel(talk.session)
            await talk.done(key)
            recording.note("A cancel")
            recording.check("agent-session.txt")

    with patch("secrets.token_hex", lambda size: "0" * 2 * size):
        run(test())


def test_a_loaded_session_of_an_agent_on_stdio_is_shown_as_it_was(talks: Talks, script: str):
    async def test() -> None:
        async with talks(script, session="s") as talk:
            recording = Recording(talk.conversation)
            recording.note("The history")
            await talk.done(await talk.ask("fail"))
            recording.note("What follows")
            recording.check("agent-history.txt")

    with patch("secrets.token_hex", lambda size: "0" * 2 * size):
        run(test())
