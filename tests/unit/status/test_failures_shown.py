"""The status report never says that nothing is wrong beside something that is, and a warning goes when it is over."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from companion import companion as companion_module
from companion.clis import discovery
from companion.editor import WindowId
from companion.server import endpoint as endpoint_module
from companion.status import survey
from companion.status.facts import DiscoveryFile, PublishedFolder, Served
from companion.status.findings import SHOW_TERMINAL, findings, report

from ..conftest import Running, until
from ..memory_editor import MemoryEditor
from .test_status import PORT, START, cli, facts, only


def failing(monkeypatch: pytest.MonkeyPatch, error: Callable[[], OSError]) -> list[bool]:
    """Make the writing of discovery files fail while the list holds something."""
    fails = [True]
    write = discovery.write_file

    def fail(*arguments: object, **named: object) -> None:
        if fails:
            raise error()
        write(*arguments, **named)  # pyright: ignore[reportArgumentType, reportCallIssue]

    monkeypatch.setattr(discovery, "write_file", fail)
    return fails


def test_a_full_disk_is_a_finding_and_its_warning_goes_when_there_is_room(
    editor: MemoryEditor, start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(companion_module, "TICK", 0.05)
    fails = failing(monkeypatch, lambda: OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    running = start()
    said = until(lambda: [message for message, _ in editor.said])
    assert all("[Errno" not in message for message in said)
    assert any(
        message.endswith(f"{os.strerror(errno.ENOSPC)[:1].lower()}{os.strerror(errno.ENOSPC)[1:]}.") for message in said
    )
    files = running.do(lambda it: survey.discovery_files(it._windows[WindowId(1)].endpoint))
    found = findings(facts(served=Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), files)))
    assert all("can't find this editor through" in one.wrong for one in found)
    assert "no space left on device. The companion tries again" in found[0].text
    assert editor.settled == []
    fails.clear()
    until(lambda: sorted(editor.settled) == sorted(message for message, _ in editor.said))
    files = running.do(lambda it: survey.discovery_files(it._windows[WindowId(1)].endpoint))
    assert not any(file.failed for file in files)


def test_a_window_that_gets_a_port_settles_its_warning(
    editor: MemoryEditor, start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(companion_module, "TICK", 0.05)
    running = start()
    running.lock()
    with monkeypatch.context() as full:
        full.setattr(endpoint_module, "listen", _no_port)
        running.open_window(WindowId(2))
        until(lambda: editor.said)
    until(lambda: editor.settled == [message for message, _ in editor.said])


def _no_port(port: int = 0) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    ("folder", "why"),
    [(f"/srv/a{os.pathsep}b", f"contains “{os.pathsep}”"), ("/srv/caf\udce9", "is not UTF-8")],
)
def test_a_folder_that_a_cli_can_not_be_told_of_is_a_finding(folder: str, why: str):
    served = Served(PORT, (PublishedFolder(folder, folder, START), PublishedFolder("/srv/app", "/srv/app", START)))
    finding = only(facts(served=served))
    assert why in finding.text
    assert re.search(r"Gemini CLI.* can't be told of", finding.text)
    text = report(facts(served=served))
    assert "Nothing is wrong" not in text


def test_the_mode_of_a_cli_whose_diff_is_open_is_no_finding():
    """It has just asked."""
    silent = cli(approval=None, ports=frozenset({PORT}))
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),))
    assert only(facts(silent, served=served)).offers == (SHOW_TERMINAL,)
    asked = replace(served, diffs=("/srv/app/a.py (Qwen Code)",))
    assert findings(facts(silent, served=asked)) == []
    others = replace(served, diffs=("/srv/app/a.py (Gemini CLI)",))
    assert only(facts(silent, served=others)).offers == (SHOW_TERMINAL,)


def test_a_refused_folder_is_told_once_and_not_as_a_failure_as_well():
    file = DiscoveryFile("Qwen Code", "/x/1.lock", "missing", None, "it is not a folder", "not a directory")
    served = Served(PORT, (PublishedFolder("/srv/app", "/srv/app", START),), (file,))
    assert "it is not a folder" in only(facts(served=served)).text
