"""A long conversation with the real `qwen serve`: its end first, then what came earlier."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from companion.backends.daemon import private
from companion.conversation.events import MOST_TURNS

from .daemon import NEWEST_FIRST, Daemons, said, talk, until

TURNS = 300


@pytest.fixture(scope="module", params=NEWEST_FIRST)
def daemons(programs: None, request: pytest.FixtureRequest) -> Iterator[Daemons]:
    daemons = Daemons.make(request.param)
    yield daemons
    daemons.close()


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def lengthen(short: Path) -> str:
    """Write a long conversation, whose turns are all like the second one of a short one. Returns its id."""
    known, session, last = records(short), str(uuid.uuid4()), None
    prompts = [at for at, record in enumerate(known) if record["type"] == "user"]
    lines: list[str] = []

    def add(record: dict[str, Any], number: int, prompt: str) -> None:
        nonlocal last
        record = {**record, "uuid": str(uuid.uuid4()), "parentUuid": last, "sessionId": session}
        if "daemonPromptId" in record:
            record["daemonPromptId"] = prompt
        last = record["uuid"]
        lines.append(json.dumps(record).replace("Answer 1.", f"Answer {number}."))

    for record in known[: prompts[0]]:
        add(record, 0, "")
    for number in range(TURNS):
        prompt = str(uuid.uuid4())
        for record in known[prompts[1] : prompts[2]]:
            add(record, number, prompt)
    short.with_name(f"{session}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return session


async def test_a_long_conversation_shows_its_end_first_and_then_all_that_came_earlier(daemons: Daemons):
    daemon = await daemons.start()
    folder = str(daemons.home.workspace)
    try:
        async with talk(daemon.address, folder) as here:
            for number in range(3):
                await here.done(await here.ask(daemons.model.speech(f"Answer {number}.")))
            [short] = daemons.home.qwen_home.rglob(f"{here.session.id}.jsonl")
            await until(lambda: sum(record["type"] == "user" for record in records(short)) == 3)
        async with talk(daemon.address, folder, session_id=lengthen(short)) as here:
            conversation = here.conversation
            assert len(conversation.snapshot().order) <= MOST_TURNS
            pages = 0
            while conversation.status.has_earlier:
                if not conversation.show_earlier():
                    page, has_more = await here.client.earlier(here.session, conversation.oldest)
                    conversation.prepend(page, has_more=has_more)
                pages += 1
                assert [said(turn) for turn in conversation.turns][-1] == f"Answer {TURNS - 1}."
            assert pages >= TURNS // MOST_TURNS - 1
            assert [said(turn) for turn in conversation.turns] == [f"Answer {at}." for at in range(TURNS)]
            assert len(conversation.snapshot().order) == TURNS
    finally:
        await asyncio.to_thread(daemon.end, private.STOP_LIMIT)
