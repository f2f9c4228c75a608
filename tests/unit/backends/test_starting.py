"""What is started may hang, and holds up nothing on the loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from companion.backends.acp import process
from companion.backends.children import begun
from companion.backends.daemon.decoder import Capabilities
from companion.backends.wire import read
from companion.platforms import programs

from ..conftest import until
from ..wire import LIMIT


async def test_the_loop_goes_on_while_a_program_on_a_disk_that_hangs_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    start, hangs = programs.start, threading.Event()

    def hanging(*args: Any, **more: Any) -> Any:
        assert hangs.wait(LIMIT)
        return start(*args, **more)

    monkeypatch.setattr(programs, "start", hanging)
    starting = asyncio.create_task(
        process.start_child([sys.executable, "-c", ""], str(tmp_path), {}, is_written_to=False)
    )
    for _ in range(3):
        await asyncio.sleep(0.01)
    assert not starting.done()
    hangs.set()
    started = await starting
    assert await started.wait() == 0
    started.close()


@pytest.mark.parametrize("is_late", [True, False], ids=["while it starts", "once it has started"])
async def test_a_process_that_nobody_waits_for_any_more_is_ended(is_late: bool):
    has_begun, may_start, has_started = threading.Event(), threading.Event(), threading.Event()
    made: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        has_begun.set()
        assert may_start.wait(LIMIT)
        made.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        has_started.set()
        return made[0]

    def end(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()

    starting = asyncio.create_task(begun(start, end))
    while not has_begun.is_set():  # noqa: ASYNC110 - an event of threads; what is cancelled before starts nothing
        await asyncio.sleep(0.001)
    if not is_late:
        may_start.set()
        has_started.wait(LIMIT)  # the loop learns of nothing meanwhile
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    may_start.set()
    until(lambda: made and made[0].poll() is not None)


async def test_looks_at_files_on_a_loop_are_noticed(looks_on_loops: list[str], tmp_path: Path):
    """The fixture that watches over all tests of this folder."""
    found = read(Capabilities, {"features": [], "workspaceCwd": str(tmp_path)})
    assert found
    folder = found.folder
    asyncio.get_running_loop().call_soon(folder, str(tmp_path))
    await asyncio.sleep(0)
    folder(str(tmp_path))  # a test may do that
    await asyncio.to_thread(folder, str(tmp_path))
    assert {each.partition(": ")[2].partition(":")[0] for each in looks_on_loops} == {"backends/daemon/decoder.py"}
    looks_on_loops.clear()
