"""Two real agents beside each other in one window, a tab each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .pair import Pair
from .test_chat_agents import agent_processes

pytestmark = pytest.mark.usefixtures("programs", "gemini_program")


@pytest.fixture
def room() -> Iterator[Pair]:
    room = Pair()
    yield room
    room.close()


def test_they_answer_at_the_same_time_each_in_its_own_tab(room: Pair):
    assert len(agent_processes(room.editor)) == 2
    slow = room.model.speech(*["word "] * 600, pause=0.1)
    room.one.ask(slow, "Talk", until="word word")
    quick = room.model.script()
    room.two.ask(quick, "Quick", until=quick.done)
    assert "word word" not in room.two.text
    assert quick.done not in room.one.text
    room.two.wait_idle()
    # The last one with the focus is the other, in which nothing runs.
    room.one.press("escape")
    room.one.wait_idle()


def test_a_permission_is_answered_where_it_is_asked_while_the_other_one_waits(room: Pair):
    a, b = room.home.write("a.py", "x = 1\n"), room.home.write("b.py", "y = 1\n")
    first, second = room.qwen.changes(a, "x = 1", "x = 2"), room.gemini.changes(b, "y = 1", "y = 2")
    room.one.ask(first)
    of_a = room.editor.wait_diff(a)
    room.two.ask(second)
    of_b = room.editor.wait_next_diff(b)
    room.editor.do("focus", view=room.one.view["id"])
    room.editor.set_text(of_b, "y = 3  # mine\n")
    room.editor.do("focus", view=of_b["id"])
    room.editor.accept(of_b)
    room.two.wait_text(second.done)
    assert (a.read_text(), b.read_text()) == ("x = 1\n", "y = 3  # mine\n")
    assert [view["id"] for view in room.one.diffs] == [of_a["id"]]
    assert room.one.view["name"].startswith("? ")
    assert not room.two.view["name"].startswith("? ")
    room.one.answer("n")
    room.one.wait_no_diff()
    room.one.wait_idle()
    assert a.read_text() == "x = 1\n"


def test_the_end_of_one_tab_ends_its_agent_alone_and_a_reload_brings_the_rest_back(room: Pair):
    script = room.model.script()
    room.one.ask(script, until=script.done)
    room.one.wait_idle()
    both = agent_processes(room.editor)
    room.editor.do("close_view", view=room.two.tab)
    room.editor.wait("end of one agent", lambda: 0 < len(agent_processes(room.editor)) < len(both))
    left = agent_processes(room.editor)
    room.editor.do("reload_package")
    room.wait_live(room.one, room.qwen)
    assert agent_processes(room.editor) == left
    room.one.wait_text(script.done)
    again = room.model.script()
    room.one.ask(again, "Again", until=again.done)
    assert room.tabs() == [room.one.tab]
