"""The files of an agent: what it reads, what is written, and the proposals that the person has edited."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from companion.backends.acp import client, files
from companion.background import answered
from companion.conversation.failures import (
    AlreadyAnsweredError,
)
from tests.agent_talk import MemoryFiles, Talks, said, tools

EDIT = """
OPTIONS = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
OPTIONS += [{"optionId": "no", "name": "No", "kind": "reject_once"}]
def session_prompt(params):
    path, old, new = json.loads(params["prompt"][-1]["text"])
    call = {"toolCallId": "t", "title": "Edit", "kind": "edit", "status": "pending"}
    call["content"] = [{"type": "diff", "path": path, "oldText": old, "newText": new}]
    answer = ask("session/request_permission", toolCall=call, options=OPTIONS)
    if answer["outcome"].get("optionId") == "yes":
        WRITE
    update(sessionUpdate="tool_call_update", toolCallId="t", status="completed")
    say(json.dumps(answer))
    return {"stopReason": "cancelled" if answer["outcome"]["outcome"] == "cancelled" else "end_turn"}
"""
WRITES = EDIT.replace("WRITE", 'ask("fs/write_text_file", path=path, content=new)')


def edit(path: Path, old: str, new: str) -> str:
    return json.dumps([str(path), old, new])


async def test_an_accepted_edit_is_written_with_the_endings_the_mark_and_the_encoding_of_the_file(
    talks: Talks, project: Path
):
    path = project / "a.txt"
    path.write_bytes("one\r\ntwo é\r\n".encode("cp1252"))
    async with talks(WRITES) as talk:
        key = await talk.ask(edit(path, "one\ntwo é\n", "one\n2 é\nthree\n"))
        permission = await talk.asked()
        assert (permission.diffs[0].path, permission.diffs[0].new) == (str(path), "one\n2 é\nthree\n")
        await talk.vote(permission, "allow_once")
        turn = await talk.done(key)
        assert path.read_bytes() == "one\r\n2 é\r\nthree\r\n".encode("cp1252")
        assert tools(turn)[0].permissions[0].state == "selected"
        with pytest.raises(AlreadyAnsweredError):
            await talk.vote(permission, "allow_once")


async def test_a_rejected_edit_is_not_written_and_a_cancel_cancels_the_question(talks: Talks, project: Path):
    path = project / "a.txt"
    path.write_text("one\n")
    async with talks(WRITES) as talk:
        key = await talk.ask(edit(path, "one\n", "two\n"))
        await talk.vote(await talk.asked(), "reject_once")
        assert '"no"' in said(await talk.done(key))
        key = await talk.ask(edit(path, "one\n", "two\n"))
        await talk.asked()
        await talk.client.cancel(talk.session)
        turn = await talk.done(key)
        assert turn.state == "cancelled"
        assert not talk.conversation.status.permissions
        assert path.read_text() == "one\n"


@pytest.mark.parametrize("writes", [True, False], ids=["through the editor", "by itself"])
async def test_an_edited_proposal_is_what_is_written_and_the_agent_is_told(talks: Talks, project: Path, writes: bool):
    path = project / "a.txt"
    path.write_text("one\n")
    own = 'Path = __import__("pathlib").Path; Path(path).write_text(new)'
    script = WRITES if writes else EDIT.replace("WRITE", own)
    script += """
first = session_prompt
def session_prompt(params):
    if params["prompt"][-1]["text"] != "Next":
        return first(params)
    say(params["prompt"][0]["text"])
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask(edit(path, "one\n", "two\n"))
        permission = await talk.asked()
        await talk.client.edited(str(path), "two\n", "mine\n")
        await talk.vote(permission, "allow_once")
        await talk.done(key)
        assert path.read_text() == "mine\n"
        turn = await talk.done(await talk.ask("Next"))
        assert "edited your change" in said(turn)
        assert str(path) in said(turn)
        assert said(turn, "user") == "Next"
        assert not talk.editor.kept


async def test_an_edited_proposal_that_the_agent_writes_otherwise_is_kept(talks: Talks, project: Path):
    path = project / "a.txt"
    path.write_text("one\n")
    other = 'ask("fs/write_text_file", path=path, content="other\\n")'
    async with talks(EDIT.replace("WRITE", other)) as talk:
        key = await talk.ask(edit(path, "one\n", "two\n"))
        permission = await talk.asked()
        await talk.client.edited(str(path), "two\n", "mine\n")
        await talk.vote(permission, "allow_once")
        await talk.done(key)
        assert path.read_text() == "other\n"
        assert talk.editor.kept == ["mine\n"]


async def test_an_edited_proposal_does_not_replace_unsaved_text_in_a_tab(talks: Talks, project: Path):
    """The agent has written the file by itself: the person is asked about the tab, and has the proposal in another."""
    path = project / "a.txt"
    path.write_text("one\n")
    real = os.path.realpath(path)
    own = 'Path = __import__("pathlib").Path; Path(path).write_text(new)'
    async with talks(EDIT.replace("WRITE", own), editor=MemoryFiles({real: "one\ntyped\n"})) as talk:
        key = await talk.ask(edit(path, "one\n", "two\n"))
        permission = await talk.asked()
        await talk.client.edited(str(path), "two\n", "mine\n")
        await talk.vote(permission, "allow_once")
        await talk.done(key)
        assert talk.editor.open == {real: "one\ntyped\n"}
        assert path.read_text() == "two\n"
        assert talk.editor.kept == ["mine\n"]


async def test_what_is_typed_just_before_an_agents_text_comes_to_the_tab_stays(talks: Talks, project: Path):
    path = project / "a.txt"
    path.write_text("one\n")
    real = os.path.realpath(path)

    class Typing(MemoryFiles):
        async def buffer(self, path: str) -> str | None:
            text = await super().buffer(path)
            self.open[real] += "typed\n"
            return text

    editor = Typing({real: "one\n"})
    async with talks(ANY, editor=editor) as talk:
        for content in ("one\n", "two\n"):  # the same text as in the tab, and one that was made of it
            editor.open[real] = "one\n"
            if content == "two\n":
                await talk.done(await talk.ask(json.dumps(["fs/read_text_file", {"path": str(path)}])))
                editor.open[real] = "one\n"
            key = await talk.ask(json.dumps(["fs/write_text_file", {"path": str(path), "content": content}]))
            assert "unsaved changes" in json.loads(said(await talk.done(key)))["message"]
            assert editor.open[real] == "one\ntyped\n"


async def test_an_edited_proposal_is_written_though_the_call_names_a_file_whose_disk_hangs(
    talks: Talks, project: Path, monkeypatch: pytest.MonkeyPatch
):
    path, share, answers, realpath = project / "a.txt", str(project / "share"), threading.Event(), os.path.realpath

    def hanging(name: str, **more: Any) -> str:
        if name.startswith(share):
            answers.wait()
        return realpath(name, **more)

    monkeypatch.setattr(os.path, "realpath", hanging)
    monkeypatch.setattr(files, "answered", partial(answered, limit=0.2))
    path.write_text("one\n")
    more = f'call["content"].append({{"type": "diff", "path": {share + "/x"!r}, "oldText": "a", "newText": "b"}})'
    script = WRITES.replace("    answer = ask", f"    {more}\n    answer = ask", 1)
    try:
        async with talks(script) as talk:
            key = await talk.ask(edit(path, "one\n", "two\n"))
            permission = await talk.asked()
            await talk.client.edited(f"{share}/x", "b", "never\n")
            await talk.client.edited(str(path), "two\n", "mine\n")
            await talk.vote(permission, "allow_once")
            await talk.done(key)
            assert path.read_text() == "mine\n"
            assert talk.editor.kept == ["never\n"]
            assert not await talk.client.is_file("\0")
    finally:
        answers.set()


ANY = """
def session_prompt(params):
    method, fields = json.loads(params["prompt"][-1]["text"])
    say(json.dumps(ask(method, **fields)))
    return {"stopReason": "end_turn"}
"""


async def test_an_unsaved_text_is_read_and_an_open_file_is_written_in_the_editor(talks: Talks, project: Path):
    path = project / "a.txt"
    path.write_text("old\n")
    real = os.path.realpath(path)
    editor = MemoryFiles({real: "one\ntwo\nthree\n"})
    async with talks(ANY, editor=editor) as talk:

        async def ask(method: str, **fields: Any) -> Any:
            return json.loads(said(await talk.done(await talk.ask(json.dumps([method, fields])))))

        assert await ask("fs/read_text_file", path=str(path)) == {"content": "one\ntwo\nthree\n"}
        assert await ask("fs/read_text_file", path=str(path), line=2, limit=1) == {"content": "two"}
        await ask("fs/write_text_file", path=str(path), content="new\r\n")
        assert editor.open == {real: "new\n"}
        assert path.read_text() == "old\n"
        missing = await ask("fs/read_text_file", path=str(project / "none"))
        assert missing["code"] == -32002
        made = project / "new" / "b.txt"
        await ask("fs/write_text_file", path=str(made), content="b\n", _meta={"bom": True, "lineEnding": "crlf"})
        assert made.read_bytes() == b"\xef\xbb\xbfb\r\n"
        made.write_bytes(b"a\0b")
        assert "no text" in (await ask("fs/read_text_file", path=str(made)))["message"]
        assert "absolute" in (await ask("fs/read_text_file", path="a.txt"))["message"]
        assert (await ask("fs/write_text_file", path=str(made)))["code"] == -32602
        assert (await ask("_vendor/anything"))["code"] == -32601
        assert not editor.asked


async def test_an_excluded_file_is_not_read_for_an_agent(talks: Talks, project: Path):
    (project / ".env").write_text("KEY=secret\n")
    async with talks(ANY) as talk:
        turn = await talk.done(await talk.ask(json.dumps(["fs/read_text_file", {"path": str(project / ".env")}])))
        assert "context_exclude" in said(turn)
        assert "secret" not in said(turn)


async def test_a_character_that_the_encoding_lacks_is_refused_and_the_file_stays(talks: Talks, project: Path):
    path = project / "a.txt"
    path.write_bytes("é\n".encode("cp1252"))
    async with talks(ANY) as talk:
        fields = {"path": str(path), "content": "→\n"}
        turn = await talk.done(await talk.ask(json.dumps(["fs/write_text_file", fields])))
        assert "has no" in json.loads(said(turn))["message"]
        assert path.read_bytes() == "é\n".encode("cp1252")


async def test_files_outside_the_folder_are_touched_only_after_a_question_asked_once(
    talks: Talks, project: Path, tmp_path: Path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    secret = outside / "secret.txt"
    secret.write_text("s")
    real = os.path.realpath(secret)
    link = project / "link"
    if sys.platform != "win32":
        link.symlink_to(secret)
    script = """
def session_prompt(params):
    for path in json.loads(params["prompt"][-1]["text"]):
        say(json.dumps(ask("fs/read_text_file", path=path)) + "\\n")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        paths = [str(secret), str(project / ".." / "outside" / "secret.txt"), str(link)]
        for number in range(5):
            (tmp_path / str(number)).mkdir()
            paths.append(str(tmp_path / str(number) / "file"))
        key = await talk.ask(json.dumps(paths if sys.platform != "win32" else paths[:2] + paths[3:]))
        answers = [json.loads(line) for line in said(await talk.done(key)).splitlines()]
        assert all("content" not in answer for answer in answers)
        # One question for the folder, and no more than three in all.
        assert len(talk.editor.asked) == 3
        assert talk.editor.asked[0] == (real, False)
    async with talks(script, editor=MemoryFiles(allows=True)) as talk:
        key = await talk.ask(json.dumps([str(secret)]))
        assert json.loads(said(await talk.done(key))) == {"content": "s"}


READS = """
def session_prompt(params):
    for name, more in json.loads(params["prompt"][-1]["text"]):
        say(json.dumps(ask("fs/read_text_file", path=name, **more)) + "\\n")
    return {"stopReason": "end_turn"}
"""
PARTS = [
    ({"line": 2, "limit": 1}, "b\fB\u2028\x85"),
    ({"line": 2.0, "limit": 2.0}, "b\fB\u2028\x85{end}c"),
    ({"line": 3}, "c{end}"),
    ({"line": 4}, ""),
    ({"line": 5}, ""),
    ({"line": 10**30, "limit": 10**30}, ""),
    ({"line": 0, "limit": 1}, "a"),
    ({"line": -1, "limit": 1}, "a"),
    ({"limit": 0}, ""),
    ({"limit": 4}, "a{end}b\fB\u2028\x85{end}c{end}"),
    ({"limit": 99}, "a{end}b\fB\u2028\x85{end}c{end}"),
    ({"line": None, "limit": -1}, "a{end}b\fB\u2028\x85{end}c{end}"),
    ({"line": "2", "limit": [1]}, "a{end}b\fB\u2028\x85{end}c{end}"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
async def test_lines_are_those_of_the_editor_whatever_their_ending(talks: Talks, project: Path, end: str):
    """A form feed, U+2028 or U+0085 in a line begins no other line."""
    path = project / "a.txt"
    path.write_bytes(f"a{end}b\fB\u2028\x85{end}c{end}".encode())
    async with talks(READS) as talk:
        key = await talk.ask(json.dumps([(str(path), part) for part, _ in PARTS]))
        answers = [json.loads(line)["content"] for line in said(await talk.done(key)).split("\n")[:-1]]
        assert answers == [expected.format(end=end) for _, expected in PARTS]


async def test_what_is_no_readable_file_is_refused_in_a_sentence(talks: Talks, project: Path):
    (project / "binary").write_bytes(b"a\0b")
    (project / "file").write_text("a")
    with (project / "large").open("wb") as file:
        file.truncate(1 << 30)
    wanted = {
        "binary": "is no text",
        "large": "is larger than 64 MB",
        "": "is a folder",
        "file/x": "there is no file",
        "none": "there is no file",
        "\ud800": "must be absolute",
        "a\0b": "must be absolute",
        "x" * 5000: "too long",
    }
    if sys.platform != "win32":
        os.mkfifo(project / "fifo")
        (project / "loop").symlink_to("loop")
        wanted |= {"fifo": "is not a regular file", "loop": "symbolic links"}
    async with talks(READS) as talk:
        key = await talk.ask(json.dumps([(f"{project}{os.sep}{name}", {}) for name in wanted]))
        answers = [json.loads(line) for line in said(await talk.done(key)).splitlines()]
        for answer, why in zip(answers, wanted.values(), strict=True):
            assert why in answer["message"]


async def test_a_file_is_written_as_it_is_or_not_at_all(talks: Talks, project: Path):
    """Endings, mark and encoding are the file's own; what is no file for that stays as it is."""
    before = {
        "mixed": b"a\r\nb\nc\r\n",
        "old mac": b"a\rb\r",
        "marked": b"\xef\xbb\xbfa\n",
        "utf-16": "a\r\nb\r\n".encode("utf-16"),
        "no end": b"a\r\nb",
        "one line": b"a",
        "empty": b"",
        "read-only": b"a\n",
        "binary": b"a\0b",
        "surrogate": b"a\n",
    }
    for name, data in before.items():
        (project / name).write_bytes(data)
    (project / "read-only").chmod(0o444)
    writes = {
        "mixed": ("a\nb\nx\nc\n", b"a\r\nb\nx\r\nc\r\n"),
        "old mac": ("a\nx\n", b"a\rx\r"),
        "marked": ("x\r\n", b"\xef\xbb\xbfx\n"),
        "utf-16": ("é\nb", "é\r\nb".encode("utf-16")),
        "no end": ("a\nb\nc", b"a\r\nb\r\nc"),
        "one line": ("a\r\nb\n", b"a\r\nb\n"),
        "empty": ("x\n", b"x\n"),
        "new/folder/file": ("x\r\n", b"x\r\n"),
        "read-only": ("x\n", "is read-only"),
        "binary": ("x\n", "is no text"),
        "surrogate": ("\ud800", "has no"),
        "empty/x": ("x", "x: "),
        "": ("x", "is a folder"),
    }
    script = """
def session_prompt(params):
    for name, content in json.loads(params["prompt"][-1]["text"]):
        say(json.dumps(ask("fs/write_text_file", path=name, content=content)) + "\\n")
    return {"stopReason": "end_turn"}
"""
    async with talks(script) as talk:
        key = await talk.ask(json.dumps([(f"{project}{os.sep}{name}", text) for name, (text, _) in writes.items()]))
        answers = [json.loads(line) for line in said(await talk.done(key)).splitlines()]
        for (name, (_, after)), answer in zip(writes.items(), answers, strict=True):
            if isinstance(after, bytes):
                assert answer == {}
                assert (project / name).read_bytes() == after
            else:
                assert after in answer["message"]
                assert name not in before or (project / name).read_bytes() == before[name] or name == "empty"
    assert {each.name for each in project.iterdir()} == {*before, "new"}


async def test_a_folder_whose_name_only_begins_like_the_chats_is_outside_and_a_yes_to_reading_is_none_to_writing(
    talks: Talks, project: Path, tmp_path: Path
):
    other = tmp_path / f"{project.name}2"
    other.mkdir()
    path = other / "a"
    path.write_text("a")
    script = """
def session_prompt(params):
    path = params["prompt"][-1]["text"]
    for _ in range(2):
        say(json.dumps(ask("fs/read_text_file", path=path)))
        say(json.dumps(ask("fs/write_text_file", path=path, content="b")))
    return {"stopReason": "end_turn"}
"""
    editor = MemoryFiles(allows=True)
    async with talks(script, editor=editor) as talk:
        turn = await talk.done(await talk.ask(str(path)))
        assert said(turn) == '{"content": "a"}{}{"content": "b"}{}'
        real = os.path.realpath(path)
        assert editor.asked == [(real, False), (real, True)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", ["Src", "Src/lib", "Src/lib/App [1].py", "Src/lib/src"]),
        ("src", ["Src", "Src/lib/src"]),
        ("s/a", ["Src/lib/App [1].py"]),
        ("/SRC//[1]/", ["Src/lib/App [1].py"]),
        ("src/src", ["Src/lib/src"]),
        ("lib/src/a", []),
        ("*.py", []),
    ],
)
def test_files_are_found_by_words_in_their_names_from_the_left(tmp_path: Path, words: str, found: list[str]):
    folder = tmp_path / "here"
    (folder / "Src" / "lib" / "src").mkdir(parents=True)
    (folder / "Src" / "lib" / "App [1].py").touch()
    (folder / "Src" / ".git" / "src").mkdir(parents=True)
    assert [each for each in files.find(str(folder), words, 9, threading.Event()) if ".git" not in each] == found


def test_a_search_in_a_hostile_folder_takes_no_longer_than_its_names(tmp_path: Path):
    """A pattern with four stars would take two seconds for each of these files."""
    deep = tmp_path.joinpath(*["a" * 20] * 8)
    deep.mkdir(parents=True)
    for number in range(9):
        (deep / f"{'a' * 200}{number}").touch()
    start = time.process_time()
    assert files.find(str(tmp_path), "a/a/a/az", 9, threading.Event()) == []
    assert time.process_time() - start < 1


async def test_a_search_ends_in_time_and_when_it_is_given_up(
    talks: Talks, project: Path, monkeypatch: pytest.MonkeyPatch
):
    (project / "a.txt").touch()
    given_up, ended = threading.Event(), threading.Event()
    assert files.find(str(project), "", 9, given_up) == ["a.txt"]
    given_up.set()
    assert files.find(str(project), "", 9, given_up) == []
    monkeypatch.setattr(files, "LIMIT", -1.0)
    assert files.find(str(project), "", 9, threading.Event()) == []

    def search(_folder: str, _words: str, _limit: int, given_up: threading.Event) -> list[str]:
        if given_up.wait(10):
            ended.set()
        return []

    monkeypatch.setattr(client, "find", search)
    async with talks(READS) as talk:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await talk.client.find_files("a", 9)
    assert ended.wait(10)
