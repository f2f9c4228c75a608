"""CLIs in a container, in WSL or over SSH, as the status report tells of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from companion.editor import WindowId
from companion.status import survey
from companion.status.facts import Facts, PublishedFolder, Remote, Served, ShownWindow
from companion.status.findings import CONNECT_ELSEWHERE, findings
from companion.status.survey import leads_to

from ..conftest import until


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("ssh buildbox", "over SSH on buildbox"),
        ("/usr/bin/ssh -A -p 2222 ada@buildbox", "over SSH on buildbox"),
        ("ssh -tt ada@buildbox tmux attach", "over SSH on buildbox"),
        ("ssh git@example.org git-upload-pack x", None),
        ("ssh -N -L 80:localhost:80 buildbox", None),
        ("ssh -V", None),
        ("docker exec -it web bash", "in a container"),
        ("podman run --interactive --tty image", "in a container"),
        ("docker exec web true", None),
        ("docker ps", None),
        (r"C:\Windows\System32\wsl.exe -d Ubuntu", "in WSL"),
        ("toolbox enter", "in a container"),
        ("qwen", None),
        ("", None),
    ],
)
def test_a_program_that_opens_a_shell_elsewhere_is_recognized(command: str, where: str | None) -> None:
    assert leads_to(command.split()) == where


def test_the_report_says_that_a_cli_there_does_not_find_the_editor_and_where_the_remedy_is() -> None:
    window = ShownWindow(WindowId(1), "Window 1", ("/srv/app",), ())
    served = {WindowId(1): Served(41535, (PublishedFolder("/srv/app", "/srv/app", 0.0),))}
    remote = (Remote(7, "ssh", "over SSH on buildbox"),)
    [finding] = findings(Facts(0.0, (), (window,), served, (), remote))
    assert finding.offers == (CONNECT_ELSEWHERE,)
    assert "ssh (process 7) works over SSH on buildbox" in finding.text
    assert "“Qwen: Connect a CLI Elsewhere…” connects Qwen Code, Gemini CLI or Claude Code there." in finding.text


def test_a_running_one_is_found() -> None:
    process = subprocess.Popen(
        ["toolbox", "-c", "import time; time.sleep(60)", "enter"],
        executable=sys.executable,
        env=os.environ | {"PYTHONHOME": sys.base_prefix},
    )
    try:
        until(lambda: process.pid in {one.pid for one in survey.remote_programs()})
        [found] = [one for one in survey.remote_programs() if one.pid == process.pid]
        assert found == Remote(process.pid, "toolbox", "in a container")
    finally:
        process.kill()
        process.wait()
