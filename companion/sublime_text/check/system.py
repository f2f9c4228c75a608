"""Probes of the operating system: sockets, files, programs. Each works on a thread of its own."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator

import sublime

from ...clis.families import FAMILIES
from ...platforms import programs
from ...platforms.files import replace_file
from ...platforms.spelling import own_spelling
from ...server.listener import listen
from ..notify import command
from .bench import PATIENCE, Bench, ProbeResult, Steps, Wait

LOOKS = 6
"""How often a probe waits for its thread, for `PATIENCE` each time."""
TEXT = "a text of the check\n"


def listener_duplicated(_: Bench) -> Steps:
    return (yield from _apart(_listener_duplicated))


def port_reused(_: Bench) -> Steps:
    return (yield from _apart(_port_reused))


def open_file_replaced(bench: Bench) -> Steps:
    view = bench.file("replaced.txt", "old\n")
    yield lambda: not view.is_loading()
    path = view.file_name() or ""
    found = yield from _apart(lambda: _open_file_replaced(path))
    yield lambda: bench.text(view) == TEXT
    return ProbeResult(found.holds, f"{found.seen}; the view {'has' if bench.text(view) == TEXT else 'lacks'} its text")


def one_spelling(bench: Bench) -> Steps:
    return (yield from _apart(lambda: _one_spelling(bench.folder)))


def path_of_login_shell(_: Bench) -> Steps:
    return (yield from _apart(_path_of_login_shell))


def notification_program(_: Bench) -> Steps:
    name = command(sublime.platform(), "")[0][0]
    found = yield from _apart(lambda: ProbeResult(programs.find(name, os.environ) is not None))
    return ProbeResult(found.holds, f"{name} was {'found' if found.holds else 'not found'}")


def _apart(look: Callable[[], ProbeResult]) -> Generator[Wait, None, ProbeResult]:
    """Look at the system on a thread, since it may take its time."""
    found: list[ProbeResult] = []

    def work() -> None:
        try:
            found.append(look())
        except Exception as error:  # noqa: BLE001 - whatever the system raises is a finding
            found.append(ProbeResult(False, f"{type(error).__name__}: {error}"))

    threading.Thread(target=work, name="QwenCompanion check", daemon=True).start()
    for _ in range(LOOKS):
        if not found:
            yield lambda: found
    return found[0] if found else ProbeResult(False, f"no answer in {LOOKS * PATIENCE / 1000:g} s")


def _listener_duplicated() -> ProbeResult:
    with listen() as first:
        port: int = first.getsockname()[1]
        before = socket.create_connection(("127.0.0.1", port), timeout=1)
        second = first.dup()
    with second, before, socket.create_connection(("127.0.0.1", port), timeout=1) as after:
        second.settimeout(1)
        served = 0
        for client in (before, after):
            connection, _ = second.accept()
            with connection:
                connection.sendall(b"x")
            client.settimeout(1)
            served += client.recv(1) == b"x"
    return ProbeResult(served == 2, f"{served} of 2 clients were served")


def _port_reused() -> ProbeResult:
    with listen() as first:
        port: int = first.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port), timeout=1) as client:
            first.settimeout(1)
            # Who closes first keeps the port for a while, in the state TIME_WAIT.
            first.accept()[0].close()
            client.recv(1)
    with listen(port) as second:
        again: int = second.getsockname()[1]
    return ProbeResult(again == port, f"{'the same' if again == port else 'another'} port after a server's end")


def _open_file_replaced(path: str) -> ProbeResult:
    before = os.stat(path)
    with open(path, encoding="utf-8"):
        replace_file(path, TEXT.encode())
    with open(path, encoding="utf-8") as file:
        text = file.read()
    how = "in place" if os.stat(path).st_ino == before.st_ino else "by a new file"
    return ProbeResult(text == TEXT, f"it was written {how}")


def _one_spelling(folder: str) -> ProbeResult:
    made = os.path.join(folder, "Spelling é")
    os.mkdir(made)
    others = {"case": os.path.join(folder, "SPELLING é"), "NFD": unicodedata.normalize("NFD", made)}
    ignored = [name for name, path in others.items() if os.path.isdir(path)]
    wrong = [name for name in ignored if own_spelling(others[name]) != own_spelling(made)]
    real = [name for name in ignored if os.path.realpath(others[name]) != os.path.realpath(made)]
    shutil.rmtree(made)
    seen = f"names that differ in {' and '.join(ignored) or 'anything'} are {'one' if ignored else 'two'}"
    return ProbeResult(not wrong, f"{seen}; realpath keeps {' and '.join(real) or 'nothing'} apart")


def _path_of_login_shell() -> ProbeResult:
    from ...clis.environment import read_login_environment  # noqa: PLC0415 - it imports asyncio

    login, own = read_login_environment(), dict(os.environ)
    more = set(login.get("PATH", "").split(os.pathsep)) - set(own.get("PATH", "").split(os.pathsep))
    home = os.path.expanduser("~")
    where: list[str] = []
    for name in ("node", *(family.launch.key for family in FAMILIES)):
        found = programs.resolve([name], login)
        where.append(f"{name}: {' '.join(found).replace(home, '~') if found else 'not found'}")
    shell = "no login shell" if sys.platform == "win32" else f"{len(more)} folders only in that of the shell"
    return ProbeResult(not more, f"{shell}; {', '.join(where)}")
