"""The daemon's client against the real `qwen serve`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest

from companion.backends.daemon import private
from companion.backends.daemon.address import Address, Token
from companion.backends.daemon.client import DaemonAgent
from companion.backends.daemon.errors import DaemonError, RefusedError, TemporaryError
from companion.chats import prompt
from companion.chats.chat import snapshots
from companion.conversation.failures import AlreadyAnsweredError, MissingFeatureError
from companion.conversation.snapshot import Cost, Tool

from ..parts import closing
from .cli import STEP
from .daemon import NEWEST_FIRST, VERSIONS, Daemons, Proxy, Talk, processes, run, said, talk, until, written_turn
from .model import Call

#: Without blanks at either end of the text, because 0.21.2 trims what it writes to disk.
WORDS = ("word 0", *(f", word {number}" for number in range(1, 60)))


@dataclass
class Served:
    daemons: Daemons
    daemon: private.Daemon

    @property
    def folder(self) -> str:
        return str(self.daemons.home.workspace)

    def talk(self, address: Address | None = None, session_id: str = ""):
        return talk(address or self.daemon.address, self.folder, session_id)


@pytest.fixture(scope="module", params=NEWEST_FIRST)
def served(programs: None, request: pytest.FixtureRequest) -> Iterator[Served]:
    daemons = Daemons.make(request.param)
    try:
        daemon = run(daemons.start())
        yield Served(daemons, daemon)
        daemon.end(private.STOP_LIMIT)
    finally:
        daemons.close()


async def test_thoughts_and_an_answer_stream(served: Served):
    async with served.talk() as here:
        script = served.daemons.model.speech("The answer ", "is 42.", thoughts=("Let me ", "think."))
        turn = await here.done(await here.ask(script))
        assert (said(turn, "thought"), said(turn)) == ("Let me think.", "The answer is 42.")
        assert said(turn, "user") == f"Please {script.tag}"
        assert (turn.state, turn.stop_reason, turn.client) == ("done", "end_turn", here.session.client_id)
        await until(lambda: (window := here.conversation.status.window) and window.used)
        known = {"clear", "compress"}
        await until(lambda: {command.name for command in here.conversation.status.commands} >= known)
        status = here.conversation.status
        assert (await here.client.context_window(here.session)) == status.window


async def test_files_and_excerpts_reach_the_model(served: Served):
    path = served.daemons.home.write("a folder/é file.txt", "what the file holds\n")
    async with served.talk() as here:
        script = served.daemons.model.speech("Read.")
        blocks = [
            prompt.text_block(f"Look {script.tag} "),
            prompt.link_block(str(path)),
            prompt.resource_block("file:///nowhere/new.py", "an unsaved text"),
        ]
        turn = await here.done(await here.client.prompt(here.session, blocks))
        [request] = served.daemons.model.requests_of(script)
        assert "what the file holds" in request.last_user_text()
        assert "an unsaved text" in request.last_user_text()
        attached = [attachment.name for item in turn.items[:1] for attachment in item.attachments]  # type: ignore[union-attr]
        assert attached == ["é file.txt", "new.py"]


@pytest.mark.parametrize("served", VERSIONS, indirect=True)
@pytest.mark.parametrize("kind", ["allow_once", "reject_once"])
async def test_an_edit_needs_permission_before_it_is_written(served: Served, kind: str):
    path = served.daemons.home.workspace / f"{kind}.txt"
    async with served.talk() as here:
        script = served.daemons.model.script([Call("write_file", {"file_path": str(path), "content": "written\n"})])
        key = await here.ask(script)
        permission = await here.asked()
        assert [(diff.path, diff.old, diff.new) for diff in permission.diffs] == [(str(path), "", "written\n")]
        assert not path.exists()
        await here.vote(permission, kind)
        turn = await here.done(key)
        [tool] = [item for item in turn.items if isinstance(item, Tool)]
        [answered] = tool.permissions
        assert answered.voter == here.session.client_id
        assert answered.chosen
        assert answered.chosen.kind == kind
        assert here.conversation.status.permissions == ()
        assert tool.status == ("completed" if kind == "allow_once" else "failed")
        with pytest.raises(AlreadyAnsweredError):
            await here.vote(permission, kind)
    assert path.exists() == (kind == "allow_once")


async def test_a_command_needs_permission(served: Served):
    made = served.daemons.home.workspace / "made.txt"
    async with served.talk() as here:
        call = Call("run_shell_command", {"command": "touch made.txt", "description": "x", "is_background": False})
        key = await here.ask(served.daemons.model.script([call]))
        permission = await here.asked()
        assert permission.kind == "execute"
        assert permission.input["command"] == "touch made.txt"
        assert [option.kind for option in permission.options].count("allow_always") == 2
        await here.vote(permission, "allow_once")
        await here.done(key)
    assert made.exists()


async def test_a_question_is_answered(served: Served):
    answers = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    question = {"question": "Which colour?", "header": "Colour", "multiSelect": False, "options": answers}
    async with served.talk() as here:
        script = served.daemons.model.script([Call("ask_user_question", {"questions": [question]})])
        key = await here.ask(script)
        permission = await here.asked()
        [asked] = permission.questions
        assert (asked.text, asked.header, asked.several) == ("Which colour?", "Colour", False)
        assert asked.answers == (("Red", "warm"), ("Blue", "cold"))
        await here.vote(permission, "allow_once", {"0": "Blue"})
        await here.done(key)
        assert "Blue" in str(served.daemons.model.requests_of(script)[-1].messages[-1])


async def test_a_turn_is_cancelled_and_the_queue_continues(served: Served):
    async with served.talk() as here:
        slow = await here.ask(served.daemons.model.speech(*WORDS, pause=0.1))
        await until(lambda: (turn := here.turn(slow)) and said(turn))
        second = await here.ask(served.daemons.model.speech("Next."))
        third = await here.ask(served.daemons.model.speech("Never."))
        await until(lambda: [queued.id for queued in here.conversation.status.queue] == [second, third])
        assert await here.client.dequeue(here.session, third)
        await here.client.cancel(here.session)
        assert (await here.done(slow)).state == "cancelled"
        assert said(await here.done(second)) == "Next."
        await until(lambda: not here.conversation.status.queue)
        assert here.turn(third) is None


async def test_a_failure_of_the_model_is_reported(served: Served):
    async with served.talk() as here:
        turn = await here.done(await here.ask(served.daemons.model.speech(failure="the model says no")))
        assert turn.state == "failed"
        assert "the model says no" in turn.error


async def test_the_model_and_the_mode_are_switched(served: Served):
    async with served.talk() as here:
        session, conversation = here.session, here.conversation
        models = {model.name: model.id for model in conversation.status.models}
        await here.client.switch(session, "model", models["Scripted-B"])
        await until(lambda: conversation.status.model == models["Scripted-B"])
        script = served.daemons.model.speech("Me.")
        await here.done(await here.ask(script))
        assert served.daemons.model.requests_of(script)[0].body["model"] == "scripted-b"
        await here.client.switch(session, "model", models["Scripted"])
        await here.client.switch(session, "mode", "plan")
        await until(lambda: conversation.status.mode == "plan")


async def test_nothing_is_lost_or_repeated_when_the_connection_drops(served: Served):
    async with Proxy(served.daemon.address) as proxy, served.talk(proxy.address) as here:
        script = served.daemons.model.speech(*WORDS, thoughts=("Hm.",) * 5, pause=0.05)
        key = await here.ask(script)
        for part in (5, 20, 40):
            await until(lambda part=part: (turn := here.turn(key)) and WORDS[part] in said(turn))
            before = proxy.connections
            proxy.cut()
            await until(lambda before=before: proxy.connections > before)
        turn = await here.done(key)
        assert said(turn) == "".join(WORDS)
        assert said(turn, "thought") == "Hm." * 5
        recorded = await written_turn(here.client, here.session, lambda written: len(written.items) >= len(turn.items))
        assert recorded.items == turn.items


@pytest.mark.parametrize("version", NEWEST_FIRST)
async def test_a_killed_daemon_is_reported_and_its_conversation_is_resumed(programs: None, version: str):
    with contextlib.closing(Daemons.make(version)) as daemons:
        daemon = await daemons.start()
        again: private.Daemon | None = None
        try:
            async with talk(daemon.address, str(daemons.home.workspace)) as here:
                first = await here.done(await here.ask(daemons.model.speech("First.")))
                key = await here.ask(daemons.model.speech(*WORDS, pause=0.1))
                await until(lambda: (turn := here.turn(key)) and said(turn))
                daemon.end()
                await until(lambda: here.conversation.status.connection.state == "waiting")
                assert here.conversation.status.connection.retry_in
                again = await daemons.start()
                async with closing(DaemonAgent(again.address)) as client:
                    await client.connect(str(daemons.home.workspace))
                    here.client = client
                    here.place.settings = here.settings()
                    here.connection.again()
                    await until(lambda: here.live)
                    resumed, interrupted = here.conversation.turns
                    assert resumed.items == first.items
                    assert said(interrupted, "user") == said(first, "user").replace("1", "2")
                    assert interrupted.state == "interrupted"
                    turn = await here.done(await here.ask(daemons.model.speech("Third.")))
                    assert said(turn) == "Third."
        finally:
            daemon.end()
            if again:
                again.end()


async def test_two_clients_share_a_session(served: Served):
    async with served.talk() as one:
        first = await one.done(await one.ask(served.daemons.model.speech("For both.")))
        async with served.talk(session_id=one.session.id) as two:
            assert two.session.id == one.session.id
            assert two.conversation.turns[-1].items == first.items
            path = served.daemons.home.workspace / "shared.txt"
            call = Call("write_file", {"file_path": str(path), "content": "x"})
            key = await one.ask(served.daemons.model.script([call]))
            await one.asked()
            await two.vote(await two.asked(), "allow_once")
            for talking in (one, two):
                turn = await talking.done(key)
                [tool] = [item for item in turn.items if isinstance(item, Tool)]
                [answered] = tool.permissions
                assert answered.voter == two.session.client_id
            # A page of the history lacks who has asked, why a turn has ended, and what it has cost.
            ours, theirs = [
                [
                    replace(turn, began=None, cost=Cost(), client=None, stop_reason="")
                    for turn in talking.conversation.turns
                ]
                for talking in (one, two)
            ]
            assert ours == theirs


async def test_sessions_are_listed_renamed_exported_resumed_and_deleted(served: Served):
    async with served.talk() as here:
        session = here.session
        turn = await here.done(await here.ask(served.daemons.model.speech("To keep.")))
        await here.client.rename_session(session, "A name of mine")
        await until(lambda: here.conversation.status.title == "A name of mine")
        end = time.monotonic() + STEP
        # 0.21.2 writes an answer to disk a moment after the end of its turn.
        while "To keep." not in await here.client.export_session(session, "md"):
            assert time.monotonic() < end
            await asyncio.sleep(0.05)
        listed = {each.id: each for each in (await here.client.list_sessions(session.folder)).sessions}
        assert listed[session.id].title == "A name of mine"
        async with served.talk(session_id=session.id) as resumed:
            assert resumed.conversation.turns[0].items == turn.items
            assert {mode.id for mode in resumed.conversation.status.modes} >= {"plan", "default", "yolo"}
        await archived(here)
        await here.client.delete_session(session)
        ended = await until(lambda: here.conversation.status.connection.state == "ended")
        assert ended
        assert session.id not in {each.id for each in (await here.client.list_sessions(session.folder)).sessions}


async def test_one_can_sign_in_at_the_providers_that_the_daemon_names(served: Served):
    """The sign-in itself needs a provider: tests/unit has it."""
    async with served.talk() as here:
        assert await here.client.sign_in_providers() == ["qwen-oauth"]
        with pytest.raises(RefusedError, match=r"device_flow|Device-flow"):
            await here.client.sign_in_progress("none")


async def archived(here: Talk) -> None:
    """Pin a copy of a session, archive it, export it from the archive, and take it out again."""
    client, folder = here.client, here.session.folder
    copy = await client.fork(here.session, "A copy")
    await client.detach(copy)
    await client.pin_session(copy, is_pinned=True)
    first, *_ = (await client.list_sessions(folder)).sessions
    assert (first.id, first.is_pinned, first.is_archived) == (copy.id, True, False)
    await client.archive_session(copy, is_archived=True)
    assert copy.id not in {each.id for each in (await client.list_sessions(folder)).sessions}
    assert copy.id in {each.id for each in (await client.list_sessions(folder, is_archived=True)).sessions}
    assert "To keep." in await client.export_session(copy, "md", is_archived=True)
    await client.archive_session(copy, is_archived=False)
    assert copy.id in {each.id for each in (await client.list_sessions(folder)).sessions}
    if client.can("history"):
        assert here.session.id in {each.session.id for each in await client.search_sessions(folder, "please")}
    else:
        with pytest.raises(MissingFeatureError, match="This Qwen Code can't do that"):
            await client.search_sessions(folder, "please")
    await client.delete_session(copy)


async def test_a_wrong_token_a_wrong_folder_and_a_missing_daemon_are_reported(served: Served, tmp_path: Path):
    for token, words in ((Token("wrong-secret"), "refuses the token"), (None, "wants a token")):
        async with closing(DaemonAgent(Address(served.daemon.address.url, token))) as client:
            with pytest.raises(DaemonError, match=words) as raised:
                await client.connect(served.folder)
            assert "wrong-secret" not in str(raised.value)
    async with closing(DaemonAgent(served.daemon.address)) as client:
        with pytest.raises(DaemonError, match="The daemon works in"):
            await client.connect(str(tmp_path))
        with pytest.raises(DaemonError, match="The daemon works in"):
            await client.create(str(tmp_path))
        link = tmp_path / "link"
        link.symlink_to(served.folder, target_is_directory=True)
        assert await client.connect(str(link)) == served.folder
    async with closing(DaemonAgent(Address("http://127.0.0.1:9"))) as client:
        with pytest.raises(TemporaryError, match="No daemon answers"):
            await client.connect(served.folder)


async def test_the_token_is_in_no_log_and_no_list_of_processes(served: Served, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    async with served.talk() as here:
        await here.done(await here.ask(served.daemons.model.speech("Hush.")))
    assert served.daemon.address.token
    secret = served.daemon.address.token.reveal()
    assert len(secret) == 64
    for text in (caplog.text, processes(), repr(served.daemon), str(served.daemon)):
        assert secret not in text


async def test_a_slow_view_neither_delays_the_reader_nor_fills_the_memory(served: Served):
    pieces = [f"{number:06d} " for number in range(10_000)]
    async with served.talk() as here:
        looks = 0
        longest = 0

        async def look() -> None:
            nonlocal looks, longest
            async for view in snapshots(here.conversation):
                looks += 1
                longest = max(longest, *(len(said(turn)) for turn in view.changed), 0)
                await asyncio.to_thread(time.sleep, 0.1)

        slow = asyncio.create_task(look())
        tracemalloc.start()
        key = await here.ask(served.daemons.model.speech(*pieces))
        turn = await here.done(key)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert said(turn) == "".join(pieces)
        await until(lambda: longest == len("".join(pieces)))
        slow.cancel()
        # 10,000 snapshots would take 1,000 s.
        assert looks < 1000
        assert peak < 20_000_000


@pytest.mark.parametrize("version", NEWEST_FIRST)
async def test_a_daemon_ends_with_every_process_that_it_has_started(programs: None, version: str):
    with contextlib.closing(Daemons.make(version)) as daemons:
        daemon = await daemons.start()
        try:
            async with talk(daemon.address, str(daemons.home.workspace)):
                started = psutil.Process(daemon.pid).children(recursive=True)
                assert started
                assert daemon.is_running
        finally:
            await asyncio.to_thread(daemon.end, private.STOP_LIMIT)
        assert not daemon.is_running
        assert [process for process in started if process.is_running() and process.status() != "zombie"] == []
    assert not daemons.home.root.exists()
