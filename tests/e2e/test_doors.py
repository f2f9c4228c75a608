"""What Claude Code, Copilot CLI and OpenCode do beside the editor; the tests of each have what only one does."""

from __future__ import annotations

import contextlib
import platform
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from .places import ClaudePlace, CopilotPlace, OpenCodePlace, Place
from .session import GREET
from .test_acp import write_section

CONNECTS = ("connects by itself", "sends the selection to the model", "stays connected over a reload")
PROPOSES = (
    "opens a diff",
    "the accepted text is in the file",
    "the edited text is in the file",
    "a rejected diff changes nothing",
    "a closed diff changes nothing",
    "an open diff goes on after a reload",
    "each window has diffs of its own",
)
HEADING = "## Claude Code, Copilot CLI and OpenCode"
Did = Callable[[str], None]
HELLO = GREET.replace('"hi"', '"hello"')
MINE = GREET.replace('"hi"', '"good morning"')
PROPOSING: list[type[Place]] = [ClaudePlace, CopilotPlace]
PLACES = [*PROPOSING, OpenCodePlace]
every = pytest.mark.parametrize("place", PLACES, indirect=True, ids=["claude", "copilot", "opencode"])
each = pytest.mark.parametrize("place", PROPOSING, indirect=True, ids=["claude", "copilot"])


@pytest.fixture(scope="module")
def done() -> Iterator[set[tuple[str, str]]]:
    """Which CLI has done what. The page says so when all were tried."""
    done: set[tuple[str, str]] = set()
    yield done
    names = [place.family.name for place in PLACES]
    proposing = [place.family.name for place in PROPOSING]
    tried = {(name, step) for name in names for step in CONNECTS}
    if done == tried | {(name, step) for name in proposing for step in PROPOSES}:
        titles = [f"{place.family.name} {place.version()}" for place in PLACES]
        rows = [
            f"| {step} | {' | '.join('yes' if (name, step) in done else '–' for name in names)} |"
            for step in (*CONNECTS, *PROPOSES)
        ]
        intro = (
            f"Written by a run of `scripts/test tests/e2e/test_doors.py` on {platform.system()}: the published CLIs run"
        )
        more = "in a terminal, Claude Code as *Run Claude Code* starts it, with a scripted model."
        table = [f"| | {' | '.join(titles)} |", f"|---|{'---|' * len(titles)}", *rows]
        write_section(HEADING, "\n".join([HEADING, "", intro, more, "", *table, ""]))


@pytest.fixture
def did(done: set[tuple[str, str]], place: Place) -> Did:
    """Notes what its CLI has done."""
    return lambda step: done.add((place.family.name, step))


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with contextlib.closing(request.param()) as place:
        yield place


@every
def test_it_connects_by_itself_and_its_model_hears_of_the_selection_also_after_a_reload(place: Place, did: Did) -> None:
    cli = place.run()
    did(CONNECTS[0])
    for step in CONNECTS[1:]:
        if step == CONNECTS[2]:
            place.editor.do("reload_package")
            place.wait_connected()
        place.select(1)
        script = cli.ask("What is it")
        cli.wait_done(script)
        heard = place.heard(script)
        assert "greet.py" in heard
        assert 'print(\\\\\\"hi\\\\\\")' in heard or 'print(\\"hi\\")' in heard
        did(step)


@each
def test_proposals_are_answered_in_the_editor(place: Place, did: Did) -> None:
    """One after the other. The edited one is the last, since its model hears of that from then on."""
    cli = place.run()
    for how in ("rejected", "closed", "accepted", "edited"):
        path = place.home.write(f"{how}.py", GREET)
        script = cli.ask_to_edit(path, '"hi"', '"hello"')
        proposal = place.editor.wait_diff(path)
        assert proposal["text"] == HELLO
        did(PROPOSES[0])
        if how == "edited":
            place.editor.do("set_text", view=proposal["id"], text=MINE)
        if how == "closed":
            place.editor.do("close_view", view=proposal["id"])
        elif how == "rejected":
            place.editor.reject(proposal)
        else:
            place.editor.accept(proposal)
        place.editor.wait_no_diff()
        if how in ("rejected", "closed"):
            cli.wait_idle()
            assert path.read_text() == GREET
            did(f"a {how} diff changes nothing")
            continue
        cli.wait_done(script)
        wanted = HELLO if how == "accepted" else MINE
        place.editor.wait("text", lambda path=path, wanted=wanted: path.read_text() == wanted)
        did(f"the {how} text is in the file")
        if place.family.takes_edits:
            heard = "user modified your proposed changes" in place.heard(script).lower()
            assert heard is (how == "edited")


@each
def test_an_open_proposal_goes_on_after_a_reload(place: Place, did: Did) -> None:
    cli = place.run()
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    before = place.lock()
    place.editor.do("reload_package")
    place.editor.accept(place.editor.wait_diff(place.path))
    cli.wait_done(script)
    assert place.path.read_text() == HELLO
    after = place.lock()
    # The nonce is in the headers, the port in the name.
    for name in ("name", "authToken", "socketPath", "headers"):
        assert after.get(name) == before.get(name)
    again = cli.ask_to_edit(place.path, '"hello"', '"hi"')
    place.editor.accept(place.editor.wait_diff(place.path))
    cli.wait_done(again)
    assert place.path.read_text() == GREET
    did(PROPOSES[5])


@each
def test_a_killed_cli_leaves_a_diff_that_nobody_waits_for_and_the_next_one_connects(place: Place) -> None:
    cli = place.run()
    cli.ask_to_edit(place.path, '"hi"', '"hello"')
    place.editor.wait_diff(place.path)
    for process in cli.terminal.processes()[1:]:
        with contextlib.suppress(psutil.Error):
            process.kill()
    place.editor.wait("status without it", lambda: not place.is_connected())
    assert place.path.read_text() == GREET
    place.run()


@each
def test_two_windows_have_clis_of_their_own(place: Place, did: Did) -> None:
    other = place.home.root / "other"
    other.mkdir()
    (other / "greet.py").write_text(GREET)
    place.editor.do("new_window", folders=[str(other)])
    assert place.lock(other)["name"] != place.lock()["name"]
    cli = place.run(other)
    script = cli.ask_to_edit(other / "greet.py", '"hi"', '"hello"')
    proposal = place.editor.wait_diff(other / "greet.py")
    [window] = [
        window
        for window in place.editor.state()["windows"]
        if any(view["id"] == proposal["id"] for view in window["views"])
    ]
    assert window["folders"] == [str(other)]
    place.editor.accept(proposal)
    cli.wait_done(script)
    assert (other / "greet.py").read_text() == HELLO
    did(PROPOSES[6])


@every
def test_in_a_mode_that_does_not_ask_it_writes_and_no_diff_opens(place: Place) -> None:
    cli = place.run(asks=False)
    script = cli.ask_to_edit(place.path, '"hi"', '"hello"')
    cli.wait_done(script)
    assert place.path.read_text() == HELLO
    time.sleep(0.5)
    assert not place.editor.sides("proposal")
