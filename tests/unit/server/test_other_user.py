"""Another user of the machine, with processes of their own. Becoming another user needs root."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from companion.editor import WindowId
from companion.server.endpoint import Endpoint
from companion.server.window_screen import ServedWindow

from ..conftest import Alone, lock_in
from ..wire import LIMIT, Cli

PYTHON = "/usr/bin/python3"
"""A Python that every user may run. The one that runs the tests may be in a folder of root's."""
pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0 or not os.path.exists(PYTHON),
    reason=f"Another user: this needs root and {PYTHON}",
)
OTHER = 65534
"""The user id of nobody."""
SHARED = ("qwen", "gemini")
"""What the companion makes in the folder that all users share."""


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder like /tmp: everybody may write there, and only remove what is theirs."""
    with tempfile.TemporaryDirectory(prefix="qc", dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


@pytest.fixture
def endpoint(shared: Path, project: Path) -> Iterator[Endpoint]:
    endpoint = Endpoint.open(ServedWindow(WindowId(1), (str(project),)))
    yield endpoint
    endpoint.close()


def program(source: str, *arguments: object) -> list[str]:
    """A command that the other user can run, who can't read our folders: it needs nothing of them."""
    return [PYTHON, "-I", "-c", source, *map(str, arguments)]


def other(source: str, *arguments: object) -> str:
    """What a program of the other user prints."""
    done = subprocess.run(
        program(source, *arguments), user=OTHER, group=OTHER, extra_groups=[], cwd="/", env={},
        capture_output=True, text=True, timeout=3 * LIMIT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def ours(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*") if one.is_file() and not one.is_symlink()]


def is_theirs(folder: Path) -> bool:
    """Whether the other user's folder is there at this moment."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == OTHER


def test_folders_that_another_user_made_first_are_refused(endpoint: Endpoint, shared: Path) -> None:
    """Nothing is written there, the person hears it, and the file in the home folder is there."""
    other("import os, sys\nfor name in ('qwen', 'gemini'): os.mkdir(f'{sys.argv[1]}/{name}', 0o777)", shared)
    problems = endpoint.publish()
    assert len(problems) == 2
    assert all("belongs to another user" in problem for problem in problems)
    assert ours(shared / "qwen") == ours(shared / "gemini") == []
    assert lock_in(Path(os.environ["QWEN_HOME"], "ide"))["port"] == endpoint.port


def test_folders_that_another_user_linked_first_are_refused(endpoint: Endpoint, shared: Path) -> None:
    """The link leads to a folder that the other user reads."""
    other(
        "import os, sys\n"
        "os.mkdir(f'{sys.argv[1]}/trap', 0o777)\n"
        "for name in ('qwen', 'gemini'): os.symlink('trap', f'{sys.argv[1]}/{name}')",
        shared,
    )
    assert len(endpoint.publish()) == 2
    assert ours(shared / "trap") == []


def test_another_user_reads_no_token(endpoint: Endpoint, shared: Path) -> None:
    """Neither the files nor their names."""
    endpoint.publish()
    files = ours(shared)
    assert len(files) >= 2
    read = (
        "import os, sys\n"
        "for path in sys.argv[1:]:\n"
        "    for attempt in (lambda: open(path).read(), lambda: os.listdir(os.path.dirname(path))):\n"
        "        try: print(attempt())\n"
        "        except PermissionError: pass\n"
    )
    assert other(read, *files) == ""


def test_another_user_who_races_gets_nothing(endpoint: Endpoint, shared: Path) -> None:
    """Links and folders come and go in the places of ours, while the files are written again and again."""
    race = (
        "import os, sys\n"
        "trap = f'{sys.argv[1]}/trap'\n"
        "os.mkdir(trap, 0o777)\n"
        "print('ready', flush=True)\n"
        "while not os.path.exists(f'{sys.argv[1]}/stop'):\n"
        "    for name in ('qwen', 'gemini'):\n"
        "        path = f'{sys.argv[1]}/{name}'\n"
        "        link = lambda: os.symlink('trap', path)\n"
        "        for make, remove in ((link, os.unlink), (lambda: os.mkdir(path, 0o777), os.rmdir)):\n"
        "            try: make()\n"
        "            except OSError: continue\n"
        "            try: remove(path)\n"
        "            except OSError: pass\n"
    )
    with subprocess.Popen(
        program(race, shared), user=OTHER, group=OTHER, extra_groups=[], cwd="/", env={}, stdout=subprocess.PIPE
    ) as racing:
        try:
            assert racing.stdout
            assert racing.stdout.readline() == b"ready\n"
            found: set[Path] = set()
            for _ in range(300):
                endpoint.publish()
                found |= set(ours(shared / "trap"))
                for one in SHARED:
                    with contextlib.suppress(FileNotFoundError):  # they may remove it just now
                        if is_theirs(shared / one):
                            found |= set(ours(shared / one))
                endpoint.withdraw()
                for one in SHARED:
                    if not (shared / one).is_symlink():
                        shutil.rmtree(shared / one, ignore_errors=True)
            (shared / "stop").touch()
            assert racing.wait(LIMIT) == 0
        finally:
            racing.kill()  # otherwise a failure would wait for it for ever
    assert found == set()


def test_another_user_without_a_token_is_refused(alone_shared: Alone, lock_folder: Path) -> None:
    """Everybody on the machine can connect."""
    alone_shared.wait_for("listening")
    port = lock_in(lock_folder)["port"]
    ask = (
        "import http.client, sys\n"
        "c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))\n"
        "c.request('POST', '/mcp', '{}', {'content-type': 'application/json'})\n"
        "print(c.getresponse().status)\n"
    )
    assert other(ask, port) == "401\n"


def test_another_user_sees_no_token_in_the_list_of_processes(alone_shared: Alone, lock_folder: Path) -> None:
    """/proc shows everybody the arguments of all processes, and its environment only to its own user."""
    alone_shared.wait_for("listening")
    token = lock_in(lock_folder)["authToken"]
    with Cli(lock_in(lock_folder)) as cli:
        assert cli.connect().tools()
        look = (
            "import glob\n"
            "for path in glob.glob('/proc/[0-9]*/cmdline') + glob.glob('/proc/[0-9]*/environ'):\n"
            "    try: print(open(path, 'rb').read())\n"
            "    except OSError: pass\n"
        )
        seen = other(look)
    assert "alone.py" in seen
    assert token not in seen


@pytest.fixture
def alone_shared(shared: Path, project: Path) -> Iterator[Alone]:
    process = Alone(project)
    yield process
    process.close()
