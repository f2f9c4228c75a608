"""Installing again: what is there stays usable whatever fails, and nothing of a failure is left over."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from companion.editor import WindowId
from companion.platforms import files
from companion.registry import entries as module
from companion.registry.entries import InstallError, InstallPlan, prepare
from tests.agent_talk import run

from .serving import PROGRAM, Place, entry, from_archive, tar

OTHER = b"#!/bin/sh\necho another\n"


class Crash(BaseException):
    """The end of the process."""


@pytest.fixture
def plan(place: Place) -> InstallPlan:
    """An agent that was installed with `PROGRAM`; the next one that comes is `OTHER`."""
    data = tar({"bin/agent": PROGRAM})
    place.serve(from_archive(place.served.put("/a", data)))
    run(place.install())
    place.served.put("/a", tar({"bin/agent": OTHER, "bin/more": b""}))
    return run(place.plan())


@pytest.fixture
def folder(place: Place, plan: InstallPlan) -> Path:
    """Where the versions of the agent are."""
    found = place.home / "data" / "agents" / "mine"
    assert str(found / "1.2.3") == plan.folder
    return found


def fail(monkeypatch: pytest.MonkeyPatch, *calls: int, error: BaseException | None = None) -> list[str]:
    """Let these calls of `rename` fail, the first being 1. Returns what was asked of it."""
    real, asked = module.rename, []

    def rename(source: str, target: str) -> None:
        asked.append(f"{os.path.basename(source)} > {os.path.basename(target)}")
        if len(asked) in calls:
            raise error or PermissionError(13, "It is in use")
        real(source, target)

    monkeypatch.setattr(module, "rename", rename)
    return asked


def test_an_agent_that_is_installed_again_is_the_new_one_alone(place: Place, plan: InstallPlan, folder: Path):
    run(place.registry.install(plan, WindowId(1)))
    assert (folder / "1.2.3" / "bin" / "agent").read_bytes() == OTHER
    assert os.listdir(folder) == ["1.2.3"]


@pytest.mark.parametrize("call", [1, 2])
def test_what_was_there_is_there_still_if_the_new_one_can_not_take_its_place(
    place: Place, plan: InstallPlan, folder: Path, monkeypatch: pytest.MonkeyPatch, call: int
):
    asked = fail(monkeypatch, call)
    with pytest.raises(InstallError, match="It is in use"):
        run(place.registry.install(plan, WindowId(1)))
    assert len(asked) >= call
    assert (folder / "1.2.3" / "bin" / "agent").read_bytes() == PROGRAM
    assert not (folder / "1.2.3" / "bin" / "more").exists()
    assert os.listdir(folder) == ["1.2.3"]


def test_it_is_said_that_a_program_that_runs_is_in_the_way_on_windows(
    place: Place, plan: InstallPlan, monkeypatch: pytest.MonkeyPatch
):
    error = PermissionError(13, "Access is denied", plan.folder)
    error.winerror = 5  # type: ignore[attr-defined]
    fail(monkeypatch, 1, error=error)
    monkeypatch.setattr(files, "BUSY_LIMIT", 0)
    with pytest.raises(InstallError) as caught:
        run(place.registry.install(plan, WindowId(1)))
    assert str(caught.value) == "Mine can't be installed: Access is denied. Close its chats first."


@pytest.mark.parametrize("again", ["start", "install", "failing install"])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_crash_between_two_steps_loses_nothing(
    place: Place, plan: InstallPlan, folder: Path, monkeypatch: pytest.MonkeyPatch, call: int, again: str
):
    with monkeypatch.context() as patched:
        fail(patched, call, error=Crash())
        if call == 3:  # after both renames
            patched.setattr(module, "remove", crash_at_aside)
        patched.setattr("companion.registry.registry.remove", lambda _: None)
        with pytest.raises(Crash):
            run(place.registry.install(plan, WindowId(1)))
    if again == "start":
        prepare(plan.command)
    elif again == "install":
        run(place.registry.install(plan, WindowId(1)))
    else:
        place.served.put("/a", b"no archive")
        with pytest.raises(Exception, match="refused"):
            run(place.registry.install(plan, WindowId(1)))
    is_new = again == "install" or call == 3
    assert (folder / "1.2.3" / "bin" / "agent").read_bytes() == (OTHER if is_new else PROGRAM)
    if again != "start":
        assert os.listdir(folder) == ["1.2.3"]


def crash_at_aside(path: str) -> None:
    if path.endswith(module.ASIDE) and os.path.exists(path):
        raise Crash
    shutil.rmtree(path, ignore_errors=True)


def test_what_could_not_be_put_back_is_put_back_at_the_next_start(
    place: Place, plan: InstallPlan, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        fail(patched, 2, 3)
        with pytest.raises(InstallError):
            run(place.registry.install(plan, WindowId(1)))
    assert not (folder / "1.2.3").exists()
    prepare(plan.command)
    assert (folder / "1.2.3" / "bin" / "agent").read_bytes() == PROGRAM
    assert os.listdir(folder) == ["1.2.3"]


@pytest.mark.parametrize("runs", [False, True])
async def test_a_package_that_takes_the_place_of_an_archive_leaves_none(place: Place, folder: Path, runs: bool):
    """Codex came as an archive first, and then from npm."""
    place.serve(entry(version="2.0.0"))
    plan = (await place.look(anew=True)).plans["mine"]
    await place.registry.install(plan, WindowId(1), str(folder / "1.2.3") if runs else "")
    assert folder.exists() == runs
    assert (folder.parent / "no-project").is_dir()


def test_a_command_that_is_not_of_an_archive_moves_nothing(place: Place, plan: InstallPlan, folder: Path):
    (folder / "1.2.3").rename(folder / f".1.2.3{module.ASIDE}")
    for command in (("npx", "--yes", "a"), (str(folder),), (str(place.home / "elsewhere" / "a"),), ()):
        prepare(command)
    assert os.listdir(folder) == [f".1.2.3{module.ASIDE}"]
