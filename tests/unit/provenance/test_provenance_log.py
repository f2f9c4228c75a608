"""The log on the disk: what it holds, how long, and what it passes over."""

from __future__ import annotations

import json
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from companion.changes import places
from companion.platforms import files
from companion.provenance import log as log_module
from companion.provenance.log import (
    DAYS,
    MAX_LINES,
    MAX_PROMPT,
    MAX_REASON,
    LoggedCall,
    LoggedTurn,
    ProvenanceLog,
    Run,
    hash_of,
)

from .turns import Desk

RUN = Run((), (hash_of("one line"),), ())


def turn(at: float = 1e9, prompt: str = "Write", path: str = "a.py", **more: Any) -> LoggedTurn:
    return LoggedTurn(at, "Agent", (LoggedCall(path, (RUN,), "1", "edit", "so"),), prompt=prompt, **more)


def file_of(desk: Desk) -> Path:
    [found] = desk.stores.glob("*.why")
    return found


def prompts(desk: Desk, name: str = "a.py") -> list[str]:
    return [each.prompt for _, each in desk.log.turns(str(desk.folder / name))]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_only_this_user_can_read_the_log_and_enter_its_folder(desk: Desk) -> None:
    desk.log.add(str(desk.folder), turn())
    assert stat.S_IMODE(os.stat(file_of(desk)).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(desk.stores).st_mode) == 0o700


def test_no_line_of_a_file_is_in_the_log(desk: Desk) -> None:
    desk.turn("Write", (None, "a_line_of_the_file = 1\n", "so"))
    assert b"a_line_of_the_file" not in file_of(desk).read_bytes()


def test_what_is_written_is_read_again_as_it_was(desk: Desk) -> None:
    written = LoggedTurn(
        1.5,
        "Agent \u2028 “x”",
        (LoggedCall("a b/ü.py", (Run(("x",), ("y", "z"), ()),), "id", "edit", 'so\n"', "and then"),),
        *("model", "session", "turn", "prompt\n\0\ud800", "/place", "command"),
        is_chat=False,
    )
    desk.log.add(str(desk.folder), written)
    assert desk.log.turns(str(desk.folder / "a b" / "ü.py")) == [(str(desk.folder), written)]


def test_a_torn_or_foreign_line_is_passed_over(desk: Desk) -> None:
    desk.log.add(str(desk.folder), turn(1, "first"))
    good = file_of(desk).read_bytes()
    foreign: list[object] = [
        *(1, None, [], "a.py", {}, {"v": 1}, {"v": 2, "path": "a.py"}),
        json.loads(good) | {"calls": "a.py"},
        json.loads(good) | {"calls": [{"path": "a.py"}]},
        json.loads(good) | {"at": "a.py"},
        json.loads(good) | {"calls": [json.loads(good)["calls"][0] | {"lines": [["a", 1, "c"]]}]},
        json.loads(good) | {"prompt": ["a.py"]},
    ]
    lines = [json.dumps(each).encode() for each in foreign]
    lines += [b'"a.py"' * 10, b"[" * 100_000 + b'"a.py"', b"\xff\xfe\0 a.py", good[: len(good) // 2]]
    file_of(desk).write_bytes(b"\n".join([*lines, good.strip(), b'{"torn": "a.py"']))
    desk.log.add(str(desk.folder), turn(2, "second"))
    assert prompts(desk) == ["first", "second"]


@pytest.mark.parametrize("piece", [1, 7, 100, 1_000_000])
def test_a_log_is_read_in_pieces_of_any_size(desk: Desk, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    for number in range(5):
        desk.log.add(str(desk.folder), turn(number, f'About "a.py" and {number}', "a.py" if number % 2 else "ba.py"))
    path = file_of(desk)
    path.write_bytes(b"\n" + path.read_bytes().rstrip(b"\n"))
    monkeypatch.setattr(files, "_CHUNK", piece)
    found = [each.prompt for _, each in desk.log.turns(str(desk.folder / "a.py"))]
    assert found == ['About "a.py" and 1', 'About "a.py" and 3']


def test_a_turn_in_several_files_tells_each_its_own_calls(desk: Desk) -> None:
    calls = tuple(LoggedCall(name, (RUN,), name) for name in ("a.py", "b.py", "a.py", "sub/a.py"))
    desk.log.add(str(desk.folder), LoggedTurn(1.0, "Agent", calls))
    for name, many in (("a.py", 2), ("b.py", 1), ("sub/a.py", 1), ("c.py", 0)):
        turns = desk.log.turns(str(desk.folder / name))
        assert [call.path for _, each in turns for call in each.calls] == [name] * many


def test_prompts_reasons_and_lines_have_a_limit(desk: Desk) -> None:
    many = Run((), tuple(f"{number}" for number in range(MAX_LINES)), ())
    calls = LoggedCall("a.py", (many,), "i" * 9999, "n", "r" * 9999), LoggedCall("a.py", (RUN,))
    desk.log.add(str(desk.folder), LoggedTurn(1, "a" * 9999, calls, prompt="p" * 9999))
    [(_, found)] = desk.log.turns(str(desk.folder / "a.py"))
    assert len(found.prompt) == MAX_PROMPT
    assert [len(call.reason) for call in found.calls] == [MAX_REASON]
    assert len(found.agent) == len(found.calls[0].id) == 200


def test_a_log_that_is_too_large_loses_its_oldest_turns(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "SIZE", 3_000)
    monkeypatch.setattr(log_module, "KEPT", 2_000)
    for number in range(30):
        desk.log.add(str(desk.folder), turn(number, f"prompt {number}"))
        assert file_of(desk).stat().st_size <= 3_000
    assert prompts(desk)[-1] == "prompt 29"
    assert "prompt 0" not in prompts(desk)
    assert stat.S_IMODE(os.stat(file_of(desk)).st_mode) & 0o077 == 0 or sys.platform == "win32"


def test_a_turn_goes_after_a_year_and_a_log_that_nobody_has_written_in_for_a_year(desk: Desk) -> None:
    day = 86_400
    now = 2_000_000_000.0
    other = desk.folder / "other"
    desk.log.add(str(desk.folder), turn(now - (DAYS + 1) * day, "old"))
    desk.log.add(str(desk.folder), turn(now - 5 * day, "new"))
    desk.log.add(str(other), turn(1, "older"))
    for path in desk.stores.glob("*.why"):
        os.utime(path, (now, now))
    os.utime(desk.stores / f"{places.store_name(str(other))}.why", (1, 1))
    desk.log.forget_old(now)
    assert prompts(desk) == ["new"]
    assert len(list(desk.stores.glob("*.why"))) == 1


def test_the_log_outlives_the_snapshots_and_goes_when_the_person_has_them_forgotten(desk: Desk) -> None:
    desk.log.add(str(desk.folder), turn())
    places.hold(str(desk.folder), str(desk.stores)).release()
    store = desk.stores / places.store_name(str(desk.folder))
    store.mkdir()
    places.shrink(str(desk.stores), everything=True)
    assert not store.exists()
    assert prompts(desk) == ["Write"]
    assert desk.log.forget() == 1
    assert prompts(desk) == []
    assert not [path for path in desk.stores.iterdir() if ".why" in path.name]


def test_two_editors_write_into_one_log_at_once(desk: Desk) -> None:
    def write(word: str) -> None:
        log = ProvenanceLog(str(desk.stores))
        for number in range(20):
            log.add(str(desk.folder), turn(number, f"{word} {number}"))

    threads = [threading.Thread(target=write, args=(word,)) for word in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(prompts(desk)) == sorted(f"{word} {number}" for word in ("one", "two") for number in range(20))


@pytest.mark.skipif(sys.platform == "win32", reason="Links need a right there")
def test_a_link_in_the_place_of_a_log_is_neither_written_nor_read(desk: Desk, tmp_path: Path) -> None:
    desk.log.add(str(desk.folder), turn())
    theirs = tmp_path / "theirs"
    theirs.write_bytes(file_of(desk).read_bytes())
    file_of(desk).unlink()
    os.symlink(theirs, desk.stores / f"{places.store_name(str(desk.folder))}.why")
    with pytest.raises(OSError, match=r".*"):
        desk.log.add(str(desk.folder), turn(2, "more"))
    assert b"more" not in theirs.read_bytes()
    assert prompts(desk) == []
