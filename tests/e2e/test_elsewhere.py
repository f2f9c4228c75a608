"""The real CLIs over SSH, and Qwen Code in a container, connected by the lines that *Connect a CLI Elsewhere…* shows.

The other side is a network and a mount namespace of its own: its loopback is another one, its home is another one, and
the project is mounted under another name. For SSH a real `sshd` runs there; in the container a relay stands in for the
one by which Docker Desktop leads host.docker.internal to the loopback of this computer.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from . import claude, gemini, qwen
from .cli import START, Cli
from .clis import NOT_IN_A_CONTAINER, pinned
from .editor import Editor
from .gemini import StartedGemini
from .model import Model
from .qwen import Home, StartedQwen, pinned_command
from .session import GREET, GREET_BETTER
from .terminal import Terminal

NAMESPACES = ["unshare", "--mount", "--net"]
SSHD = "/usr/sbin/sshd"
DAEMON = """
HostKey {keys}/host
AuthorizedKeysFile {keys}/authorized
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
AllowTcpForwarding yes
ForceCommand {script}
"""
CLIENT = """
Host buildbox
  User root
  IdentityFile {keys}/user
  IdentitiesOnly yes
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
  RemoteForward {port} 127.0.0.1:{port}
  ProxyCommand {proxy}
"""


def has_namespaces() -> bool:
    """Whether this user may make namespaces, as root may."""
    tried = [*NAMESPACES, "mount", "-t", "tmpfs", "none", "/run"]
    try:
        return subprocess.run(tried, capture_output=True, check=False, timeout=20).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not has_namespaces(), reason="needs namespaces of Linux, and to be root"
)


class StartedClaude(claude.Claude):
    """Claude Code in a shell."""

    def __init__(self, model: Model, terminal: Terminal) -> None:
        Cli.__init__(self, model, terminal)


Started = StartedQwen | StartedGemini


class OtherSide:
    """An editor with the project, and a place elsewhere that has it under another name."""

    def __init__(self, stack: ExitStack) -> None:
        self.stack = stack
        self.home = Home.make()
        stack.callback(self.home.remove)
        self.file = self.home.write("greet.py", GREET)
        self.there = self.home.root / "there"
        self.mounted = self.home.root / "srv" / "app"
        for folder in (self.there / "tmp", self.mounted):
            folder.mkdir(parents=True)
        for name, settings in ((".qwen", qwen.settings()), (".gemini", gemini.settings())):
            (self.there / name).mkdir()
            (self.there / name / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        claude.settle(self.there, self.mounted)
        self.model = Model()
        stack.callback(self.model.close)
        self.model_port = int(self.model.base_url.rpartition(":")[2].partition("/")[0])
        self.editor = Editor(self.home, [self.home.workspace])
        stack.callback(self.editor.kill)
        self.port: int = self.editor.lock()["port"]
        self.editor.open_file(self.file)

    def lines(self, **args: Any) -> list[str]:
        """The lines of the last step, which the command has put into the clipboard."""
        folders = {str(self.home.workspace): str(self.mounted)}
        self.editor.do("command", name="qwen_companion_connect_elsewhere", args={**args, "folders": folders})
        self.editor.wait("lines", lambda: "Waiting for the connection" in self.panel())
        return str(self.editor.state()["clipboard"]).splitlines()

    def panel(self) -> str:
        panels = self.editor.state(text=True)["windows"][0]["panels"]
        return str(panels.get("output.QwenCompanion Elsewhere", {}).get("text", ""))

    def script(self) -> Path:
        """What makes the place: the project under another name, a home, and an interactive shell."""
        command = pinned_command()
        variables = {
            "HOME": str(self.there),
            "TMPDIR": str(self.there / "tmp"),
            "PATH": f"{Path(command[0]).parent}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "SHELL": "/bin/bash",
            "OPENAI_API_KEY": "none-needed",
            "OPENAI_MODEL": "scripted",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.model_port}/v1",
            "GEMINI_API_KEY": "none-needed",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{self.model_port}",
            "NO_PROXY": "127.0.0.1,localhost",
            "QWEN_CODE_DISABLE_CRON": "1",
            "QWEN_DISABLE_AUTO_TITLE": "1",
            "PS1": "ready> ",
            **claude.variables(self.model),
        }
        steps = [
            "#!/bin/sh",
            f"mount --bind {shlex.quote(str(self.home.workspace))} {shlex.quote(str(self.mounted))}",
            *(f"export {name}={shlex.quote(value)}" for name, value in variables.items()),
            f"cd; echo $$ > {shlex.quote(str(self.there / 'pid'))}",
            "exec /bin/bash --norc --noprofile -i",
        ]
        path = self.home.root / "place.sh"
        path.write_text("\n".join(steps) + "\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def over_ssh(self, line: str) -> Terminal:
        """A terminal with `ssh`, as a line has it, to a real `sshd` in namespaces of its own."""
        keys = self.home.root / "keys"
        keys.mkdir()
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True, timeout=60)
        shutil.copy(keys / "user.pub", keys / "authorized")
        (keys / "sshd_config").write_text(DAEMON.format(keys=keys, script=self.script()), encoding="utf-8")
        within = f"ip link set lo up; mkdir -p /run/sshd; exec {SSHD} -i -f {keys}/sshd_config"
        proxy = f"unshare --mount --net sh -c {shlex.quote(within)}"
        client = CLIENT.format(keys=keys, port=self.model_port, proxy=proxy)
        (keys / "config").write_text(client, encoding="utf-8")
        command = ["ssh", "-F", str(keys / "config"), *shlex.split(line)[1:]]
        return Terminal(command, cwd=self.home.root, env=self.home.environment(TERM="xterm-256color"))

    def paste(self, terminal: Terminal, lines: list[str]) -> None:
        """Paste the lines, the last of which says whether the editor answers."""
        self.stack.callback(terminal.close)
        terminal.wait_text("ready>", START)
        for line in lines:
            terminal.press(f"{line}\r")
            time.sleep(0.2)
        terminal.wait_text("The editor answers.", START)

    def connect(self, terminal: Terminal, lines: list[str], key: str = "qwen") -> Started:
        """Paste the lines, and start a CLI in the same shell."""
        self.paste(terminal, lines)
        if key == "gemini":
            options = f"NODE_OPTIONS={shlex.quote(NOT_IN_A_CONTAINER)}"
            command = [*pinned("gemini", gemini.NEWEST), "-m", "gemini-2.5-flash"]
            terminal.press(f"clear; {options} {shlex.join(command)}\r")
            cli: Started = StartedGemini(self.model, terminal)
        else:
            terminal.press(f"clear; {shlex.join(pinned_command())} --approval-mode default\r")
            cli = StartedQwen(self.model, terminal)
        cli.wait_ready()
        return cli

    def review(self, cli: Started, name: str) -> None:
        """It is connected, knows the file by its own name, and its change is reviewed here."""
        cli.wait_connected()
        self.editor.wait("connection", lambda: f"{name} is connected." in self.panel())
        there = self.mounted / "greet.py"
        script = cli.ask_to_edit(there, GREET, GREET_BETTER)
        proposal = self.editor.wait_diff(self.file)
        assert proposal["text"] == GREET_BETTER
        cli.wait_question()
        self.editor.accept(proposal)
        cli.wait_done(script)
        assert self.file.read_text(encoding="utf-8") == GREET_BETTER
        assert str(there) in str(self.model.requests_of(script)[0].messages)
        self.editor.wait_no_diff()


@pytest.fixture
def other(programs: None) -> Iterator[OtherSide]:
    with ExitStack() as stack:
        yield OtherSide(stack)


@pytest.mark.parametrize(("key", "name"), [("qwen", "Qwen Code"), ("gemini", "Gemini CLI")])
def test_over_ssh_a_change_is_reviewed_here(other: OtherSide, gemini_program: None, key: str, name: str) -> None:
    """A real `sshd`, which leads the port back."""
    lines = other.lines(place="ssh", host="buildbox")
    other.review(other.connect(other.over_ssh(ssh_line(other)), lines, key), f"{name} on buildbox")


def ssh_line(other: OtherSide) -> str:
    """The line for a terminal here."""
    if not os.path.exists(SSHD):
        pytest.skip("sshd is missing: the package openssh-server has it")
    [first] = [line for line in other.panel().splitlines() if line.startswith("ssh -R ")]
    assert first == f"ssh -R {other.port}:127.0.0.1:{other.port} buildbox"
    return first


def test_in_a_container_a_change_is_reviewed_here(other: OtherSide) -> None:
    """It reaches the editor as host.docker.internal alone."""
    other.review(other.connect(*in_a_container(other)), "Qwen Code in a container")


def test_a_proposal_of_claude_code_in_a_container_is_reviewed_here(other: OtherSide) -> None:
    terminal, lines = in_a_container(other)
    # Docker Desktop needs it, so the lines have it where that is.
    more = "export CLAUDE_CODE_IDE_HOST_OVERRIDE=host.docker.internal"
    review_claude(other, terminal, [more, *lines], "Claude Code in a container")


def test_a_proposal_of_claude_code_over_ssh_is_reviewed_here(other: OtherSide) -> None:
    lines = other.lines(place="ssh", host="buildbox")
    review_claude(other, other.over_ssh(ssh_line(other)), lines, "Claude Code on buildbox")


def review_claude(other: OtherSide, terminal: Terminal, lines: list[str], name: str) -> None:
    """It connects by itself, and its own names of the files are those of the other side."""
    other.paste(terminal, lines)
    terminal.press(f"clear; {claude.program()} --permission-mode default\r")
    cli = StartedClaude(other.model, terminal)
    cli.wait_ready()
    other.editor.wait("connection", lambda: f"{name} is connected." in other.panel())
    for old, new in (('"hi"', '"hello"'), ('"hello"', '"good morning"')):
        script = cli.ask_to_edit(other.mounted / "greet.py", old, new)
        proposal = other.editor.wait_diff(other.file)
        other.editor.accept(proposal)
        cli.wait_done(script)
        assert new in other.file.read_text(encoding="utf-8")
        other.editor.wait_no_diff()
    script = cli.ask_to_edit(other.mounted / "greet.py", '"good morning"', '"no"')
    other.editor.reject(other.editor.wait_diff(other.file))
    cli.wait_idle()
    assert '"good morning"' in other.file.read_text(encoding="utf-8")
    other.editor.do(
        "command", name="qwen_companion_send", args={"what": "file"}, view=other.editor.open_file(other.file)
    )
    terminal.wait_text("@greet.py")


def relay(pid: int, address: str, port: int) -> Callable[[], None]:
    """Listen in the network namespace of a process, and lead each connection to the same port of the loopback here.

    Returns what ends it.
    """
    ready: list[socket.socket] = []
    listens = threading.Event()

    def accept() -> None:
        # Only this thread changes its namespace.
        with open(f"/proc/{pid}/ns/net", "rb") as namespace:
            # Python has it as `os.setns` since 3.12.
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), "setns")
        ready.append(listener := socket.create_server((address, port)))
        listens.set()
        with contextlib.suppress(OSError):
            while True:
                incoming.append(listener.accept()[0])
                arrived.release()

    def lead() -> None:
        while True:
            arrived.acquire()
            if not incoming:
                return
            pair = incoming.pop(0), socket.create_connection(("127.0.0.1", port))
            threads.append(thread := threading.Thread(target=_lead, args=pair, daemon=True))
            thread.start()

    incoming: list[socket.socket] = []
    arrived = threading.Semaphore(0)
    threads = [threading.Thread(target=each, daemon=True) for each in (accept, lead)]
    for thread in list(threads):
        thread.start()
    assert listens.wait(10)

    def end() -> None:
        with contextlib.suppress(OSError):
            ready[0].shutdown(socket.SHUT_RDWR)
        ready[0].close()
        arrived.release()
        for thread in threads:
            thread.join(10)

    return end


def _lead(one: socket.socket, other: socket.socket) -> None:
    """Lead what comes on each of two connections to the other one, until both have ended."""
    with one, other:
        back = threading.Thread(target=_copy, args=(other, one), daemon=True)
        back.start()
        _copy(one, other)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for each in (source, target):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def in_a_container(other: OtherSide) -> tuple[Terminal, list[str]]:
    """A shell in a container that reaches the editor as host.docker.internal alone, and the lines for it."""
    hosts = other.home.root / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.0.2 host.docker.internal\n", encoding="utf-8")
    within = (
        "ip link set lo up; mount -t tmpfs none /run; touch /run/.containerenv; "
        f"mount --bind {hosts} /etc/hosts; exec {other.script()}"
    )
    terminal = Terminal([*NAMESPACES, "sh", "-c", within], cwd=other.home.root, env=other.home.environment())
    lines = other.lines(place="container")
    assert f"-v {other.home.workspace}:{other.mounted} IMAGE" in other.panel()
    terminal.wait_text("ready>", START)
    pid = int((other.there / "pid").read_text(encoding="utf-8"))
    for address, port in (("127.0.0.2", other.port), ("127.0.0.1", other.model_port)):
        other.stack.callback(relay(pid, address, port))
    return terminal, lines
