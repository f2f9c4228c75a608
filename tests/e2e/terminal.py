"""A program in a pseudo-terminal, with the screen that a person would see.

The processes form the same tree as in a terminal inside an editor: shell → program. A terminal's processes are ended by
their ids, never by a name.
"""

from __future__ import annotations

import codecs
import contextlib
import importlib
import os
import re
import select
import shlex
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psutil
import pyte

#: ptyprocess, or pywinpty, which offers the same class.
PTY: Any = importlib.import_module("winpty" if sys.platform == "win32" else "ptyprocess")
COLUMNS, ROWS = 130, 60
#: Seconds between asking a tree of processes to end and killing it.
ENDING_GRACE = 3.0
#: Seconds until a typed line is on the screen, on a busy machine.
TYPED = 60.0
#: Seconds. The CLI ignores Enter for about 0.5 s after what looks like a paste (docs/protocols/qwen-ide.md#terminal).
PAUSE_AFTER_PASTE = 0.8
#: pyte drops the rest of a line after these variation selectors of emoji (docs/protocols/qwen-ide.md#terminal).
VARIATION_SELECTORS = re.compile("[\ufe00-\ufe0f]")

T = TypeVar("T")


class WaitedError(AssertionError):
    """Something did not happen in time. The message shows the screen."""


class PseudoTerminal(Protocol):
    """What differs between the systems."""

    pid: int

    def read(self) -> str | None:
        """The next piece of output: "" if there is none yet, None at the end."""

    def write(self, text: str) -> None: ...

    def close(self) -> None: ...


class PosixTerminal:
    """ptyprocess, read with a time limit so that the reader can be stopped."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        with warnings.catch_warnings():
            # Python 3.12 and later warn about forking while other threads run. The child only calls exec.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pty = PTY.PtyProcess.spawn(list(argv), cwd=str(cwd), env=dict(env), dimensions=(ROWS, COLUMNS))
        self.pid: int = self._pty.pid
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self) -> str | None:
        readable, _, _ = select.select([self._pty.fd], [], [], 0.1)
        if not readable:
            return ""
        try:
            return self._decoder.decode(os.read(self._pty.fd, 65536)) or None
        except OSError:  # EIO: the last process of the terminal has ended
            return None

    def write(self, text: str) -> None:
        os.write(self._pty.fd, text.encode())

    def close(self) -> None:
        with contextlib.suppress(PTY.PtyProcessError):  # psutil has already waited for the shell
            self._pty.close(force=True)


class WindowsTerminal:
    """pywinpty (ConPTY)."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._pty = PTY.PtyProcess.spawn(list(argv), cwd=str(cwd), env=dict(env), dimensions=(ROWS, COLUMNS))
        self.pid: int = self._pty.pid

    def read(self) -> str | None:
        try:
            return self._pty.read(65536)
        except EOFError:
            return None

    def write(self, text: str) -> None:
        self._pty.write(text)

    def close(self) -> None:
        self._pty.close(force=True)


class Screen(pyte.Screen):
    """pyte's screen, which would fail on private sequences of xterm (CSI > … m)."""

    def report_device_status(self, mode: int, *, private: bool = False) -> None:
        """Answer what is asked. Copilot CLI asks for more, privately, which pyte doesn't know."""
        if not private:
            super().report_device_status(mode)

    def select_graphic_rendition(self, *attrs: int, private: bool = False) -> None:
        if not private:
            super().select_graphic_rendition(*attrs)


#: A program that runs a command and waits for it: a process between the terminal's shell and its editor.
BETWEEN = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"


class Terminal:
    """A command line run by a shell in a pseudo-terminal of 130 × 60 cells.

    Args:
        inside: whether to imitate a terminal inside an editor, with one more process above the shell. This
            process is then the shell's grandparent, which CLIs take for the editor
            (docs/protocols/qwen-ide.md#process-id).
    """

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], inside: bool = False) -> None:
        self._screen = Screen(COLUMNS, ROWS)
        self._stream = pyte.Stream(self._screen)
        self._lock = threading.Lock()
        self._changed_at = time.monotonic()
        self._pty: PseudoTerminal
        if sys.platform == "win32":
            self._pty = WindowsTerminal(["cmd.exe", "/d", "/c", subprocess.list2cmdline(command)], cwd, env)
        else:
            # Without "; exit" the shell would not stay a process of its own: its last command would replace it.
            between = [sys.executable, "-c", BETWEEN] if inside else []
            shell = ["/bin/bash", "--norc", "--noprofile", "-c", shlex.join(command) + "; exit $?"]
            self._pty = PosixTerminal([*between, *shell], cwd, env)
        self.pid = self._pty.pid
        self._reader = threading.Thread(target=self._pump, name="terminal reader", daemon=True)
        self._reader.start()

    def _pump(self) -> None:
        while True:
            try:
                text = self._pty.read()
            except (OSError, ValueError):
                return
            if text is None:
                return
            if text:
                with self._lock:
                    self._stream.feed(VARIATION_SELECTORS.sub("", text))
                    self._changed_at = time.monotonic()

    @property
    def running(self) -> bool:
        """Whether the shell is still running."""
        try:
            return psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def lines(self) -> list[str]:
        """The screen's lines without the blanks at their ends, down to the last one that is not empty."""
        with self._lock:
            lines = [line.rstrip() for line in self._screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def text(self) -> str:
        """The screen's lines that are not empty."""
        return "\n".join(filter(None, self.lines()))

    def quiet_for(self) -> float:
        """Seconds since the last output."""
        return time.monotonic() - self._changed_at

    def wait(self, what: str, condition: Callable[[], T], timeout: float = 60.0) -> T:
        """Check `condition` every 50 ms, and return its first true value.

        Raises:
            WaitedError: it was not true within `timeout` seconds, or the terminal's program has ended.
        """
        end = time.monotonic() + timeout
        while True:
            running = self.running
            value = condition()
            if value:
                return value
            if not running:
                raise WaitedError(f"the terminal's program ended while waiting for {what}; its screen:\n{self.text()}")
            if time.monotonic() > end:
                raise WaitedError(f"no {what} within {timeout:g} s; the screen:\n{self.text()}")
            time.sleep(0.05)

    def wait_text(self, text: str, timeout: float = 60.0) -> None:
        """Wait until the screen shows `text`."""
        self.wait(f"{text!r} on the screen", lambda: text in self.text(), timeout)

    def wait_drawn(self, text: str, timeout: float = 60.0) -> None:
        """Wait until the screen shows `text` and has not changed for a second: a CLI takes no key while it draws."""
        self.wait(f"{text!r} at rest", lambda: text in self.text() and self.quiet_for() > 1.0, timeout)

    def press(self, keys: str) -> None:
        """Send keys as they are."""
        self._pty.write(keys)

    def type(self, text: str, empty: str = "") -> None:
        """Type one line and press Enter, late enough that the CLI doesn't take the line for a paste.

        `empty` is what the screen shows as long as nothing is typed: an earlier line with the same end may scroll away.
        """
        tail = text[-12:]
        before = self.text().count(tail)

        def is_typed() -> bool:
            now = self.text()
            return now.count(tail) > before or (bool(empty) and empty not in now and tail in now)

        self.press(text)
        self.wait(f"the typed {tail!r}", is_typed, TYPED)
        time.sleep(PAUSE_AFTER_PASTE)
        self.press("\r")

    def processes(self) -> list[psutil.Process]:
        """The shell and everything below it."""
        try:
            shell = psutil.Process(self.pid)
            return [shell, *shell.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def connections(self) -> list[Any]:
        """The network connections of the shell and of everything below it, as psutil has them."""
        found = list[Any]()
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # a CLI runs short programs all the time
                found += process.net_connections()
        return found

    def close(self) -> None:
        """End the whole tree, within about twice `ENDING_GRACE`."""
        end_processes(self.processes())
        self._pty.close()
        self._reader.join(ENDING_GRACE)


def end_processes(processes: Sequence[psutil.Process]) -> None:
    """Ask these processes to end, then kill those that are left. Takes at most twice `ENDING_GRACE`."""
    for process in processes:
        try:
            process.terminate()
        except psutil.NoSuchProcess:
            continue
    alive = _left(processes)
    for process in alive:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    _left(alive)


def _left(processes: Sequence[psutil.Process]) -> list[psutil.Process]:
    """The processes that have not ended within `ENDING_GRACE`.

    A zombie counts as ended: it may take seconds until its new parent has waited for it.
    """
    end = time.monotonic() + ENDING_GRACE
    while (left := [process for process in processes if _runs(process)]) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
