"""Which program reads what is typed into a terminal: with real terminals and a program that is called as a CLI is."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from companion.clis.families import GEMINI_CLI, QWEN_CODE
from companion.clis.processes import cli_in_front
from companion.platforms.programs import terminal_readers

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no foreground groups")
CLI = "(exec -a qwen sleep 600)"
PATIENCE = 20.0


class Terminal:
    """A shell with job control in a pseudo-terminal."""

    def __init__(self) -> None:
        import ptyprocess  # noqa: PLC0415 - not on Windows

        shell = shutil.which("bash") or "bash"
        self._pty: Any = ptyprocess.PtyProcess.spawn(
            [shell, "--norc", "--noprofile", "-i"], env={**os.environ, "PS1": "$ "}, preexec_fn=_with_usual_signals
        )
        self.pid: int = self._pty.pid
        self.descriptor: int = self._pty.fd

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def front(self) -> str | None:
        found = cli_in_front(self.pid, self.descriptor)
        return found[0].name if found else None

    def wait(self, is_so: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < end, [
                each.cmdline() for each in psutil.Process(self.pid).children(recursive=True)
            ]
            time.sleep(0.02)

    def runs(self, *names: str) -> bool:
        """Whether all of these programs, by the first words of their commands, run below the shell."""
        found: set[str] = set()
        for each in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found.add((each.cmdline() or [""])[0].rpartition("/")[2])
        return found >= set(names)

    def close(self) -> None:
        for each in psutil.Process(self.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                each.kill()
        self._pty.close(force=True)


def _with_usual_signals() -> None:
    """A shell without job control has what it runs in the background ignore these, which everything inherits."""
    assert sys.platform != "win32"
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    one = Terminal()
    yield one
    one.close()


def test_a_shell_s_prompt_is_no_cli(terminal: Terminal):
    assert terminal.front() is None


def test_a_cli_is_in_front_until_it_ends(terminal: Terminal):
    terminal.type(f"{CLI}\n")
    terminal.wait(lambda: terminal.front() == "Qwen Code")
    terminal.type("\x03")
    terminal.wait(lambda: not terminal.runs("qwen"))
    assert terminal.front() is None


def test_a_cli_that_is_suspended_is_not_in_front(terminal: Terminal):
    terminal.type(f"{CLI}\n")
    terminal.wait(lambda: terminal.front() == "Qwen Code")
    terminal.type("\x1a")
    terminal.wait(lambda: terminal.front() is None)
    assert terminal.runs("qwen")
    terminal.type("fg\n")
    terminal.wait(lambda: terminal.front() == "Qwen Code")


def test_a_cli_that_is_stopped_in_front_is_none(terminal: Terminal):
    terminal.type(f"{CLI}\n")
    terminal.wait(lambda: terminal.front() == "Qwen Code")
    found = cli_in_front(terminal.pid, terminal.descriptor)
    assert found
    psutil.Process(found[1]).suspend()
    terminal.wait(lambda: terminal.front() is None)


@pytest.mark.parametrize("other", ["cat", "python3 -c 'input(1)'", "sh -c 'read x; :'", "(exec -a ssh sleep 600)"])
def test_a_cli_in_the_background_is_not_in_front(terminal: Terminal, other: str):
    """Whatever asks in front of it."""
    terminal.type(f"{CLI} & {other}\n")
    name = "ssh" if "ssh" in other else other.split(maxsplit=1)[0]
    terminal.wait(lambda: terminal.runs("qwen", name))
    for _ in range(20):
        assert terminal.front() is None
        time.sleep(0.01)


def test_a_program_beside_a_cli_in_one_group_may_read_what_is_typed(terminal: Terminal):
    terminal.type(
        "sh -c '(exec -a qwen sleep 600) & cat' \n".replace(
            "(exec -a qwen sleep 600)", 'bash -c "exec -a qwen sleep 600"'
        )
    )
    terminal.wait(lambda: terminal.runs("qwen", "cat"))
    for _ in range(20):
        assert terminal.front() is None
        time.sleep(0.01)


def test_what_starts_a_cli_and_what_it_starts_belong_to_it(terminal: Terminal):
    """As npx and its shell do, and a CLI that starts itself again and runs servers."""
    terminal.type('sh -c \'bash -c "exec -a qwen bash -c \\"(exec -a qwen sleep 600); :\\""; :\'\n')
    terminal.wait(lambda: terminal.front() == "Qwen Code")


@pytest.mark.parametrize("does", ["cat", "cat </dev/tty", "sleep 600 | tail -f 3</dev/tty", "sh -c 'read x; :'"])
def test_an_editor_that_a_cli_has_started_reads_what_is_typed(terminal: Terminal, does: str, tmp_path: Path):
    """As the one does in which a prompt can be written; a pager opens the terminal by its name."""
    (tmp_path / "starts").write_text(f"{does}; :\n")
    terminal.type(f"(exec -a qwen bash {tmp_path / 'starts'})\n")
    name = does.removeprefix("sleep 600 | ").split(maxsplit=1)[0]
    terminal.wait(lambda: terminal.runs("qwen", name))
    for _ in range(20):
        assert terminal.front() is None
        time.sleep(0.01)


@pytest.mark.parametrize("does", ["sleep 600 | cat", "sleep 600 </dev/null", "sleep 600 </dev/null 2>/dev/tty"])
def test_a_server_that_a_cli_has_started_reads_something_else(terminal: Terminal, does: str, tmp_path: Path):
    (tmp_path / "starts").write_text(f"{{ {does}; }} </dev/null; :\n")
    terminal.type(f"(exec -a qwen bash {tmp_path / 'starts'})\n")
    terminal.wait(lambda: terminal.runs("qwen", "sleep"))
    terminal.wait(lambda: terminal.front() == "Qwen Code")


def test_what_reads_a_terminal_is_found_by_lsof_as_well(terminal: Terminal):
    """Which macOS has."""
    lsof = shutil.which("lsof")
    if not lsof:
        pytest.skip("there is no lsof")
    terminal.type("sleep 600 </dev/null & cat\n")
    terminal.wait(lambda: terminal.runs("sleep", "cat"))
    pids = {each.name(): each.pid for each in psutil.Process(terminal.pid).children()}
    asked = [*pids.values(), 2**30]
    assert terminal_readers(asked, lsof) == {pids["cat"], 2**30}
    assert terminal_readers(asked) == {pids["cat"]}
    assert terminal_readers(asked, "/nowhere/lsof") is None
    assert terminal_readers([]) == set()


def test_two_clis_in_one_group_are_none(terminal: Terminal):
    terminal.type("bash -c '(exec -a qwen sleep 600) & (exec -a gemini sleep 600); :'\n")
    terminal.wait(lambda: terminal.runs("qwen", "gemini"))
    assert terminal.front() is None


def test_only_the_families_that_are_looked_for_count(terminal: Terminal):
    terminal.type(f"{CLI}\n")
    terminal.wait(lambda: terminal.front() == "Qwen Code")
    assert cli_in_front(terminal.pid, terminal.descriptor, [GEMINI_CLI]) is None
    assert cli_in_front(terminal.pid, terminal.descriptor, [QWEN_CODE])


def test_the_descriptor_of_another_terminal_or_of_none_says_nothing(terminal: Terminal):
    terminal.type(f"{CLI}\n")
    terminal.wait(lambda: terminal.front() == "Qwen Code")
    other = Terminal()
    try:
        assert cli_in_front(other.pid, terminal.descriptor) is None
        assert cli_in_front(terminal.pid, other.descriptor) is None
    finally:
        other.close()
    with open(os.devnull, "rb") as file:
        assert cli_in_front(terminal.pid, file.fileno()) is None
    assert cli_in_front(terminal.pid, None) is None
    assert cli_in_front(2**30, terminal.descriptor) is None
