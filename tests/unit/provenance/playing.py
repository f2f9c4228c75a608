"""A CLI in a terminal that writes its transcript and files, line by line, as a real one has done it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from companion.editor import ReviewId, WindowId
from companion.exclusion import Sharing
from companion.provenance.log import Reason
from companion.provenance.transcripts import Kind, Reader, Transcripts
from companion.provenance.why import CliProposal, Provenance
from companion.settings import ReadTranscripts

WINDOW = WindowId(1)
DATA = Path(__file__).parent / "transcripts"
SHOP = """\
PRICES = {"Dune": 9.0}


def total(order):
    amount = 0.0
    for title, copies in order.items():
        amount += PRICES[title] * copies
    return amount
"""
Object = dict[str, Any]


class Looks:
    """Stands in for the snapshots: the texts of a folder when a turn begins, and now."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.begun: dict[str, dict[str, str]] = {}
        self.events: list[tuple[str, ...]] = []
        self.windows: list[int] = []
        """That of each event."""

    def _texts(self) -> dict[str, str]:
        return {str(path): path.read_text() for path in self.folder.rglob("*") if path.is_file()}

    def turn_began(self, window: int, chat: int, agent: str, turn: str, words: str, sent: int) -> None:
        self.begun[turn] = self._texts()
        self.events.append(("began", agent, words))
        self.windows.append(window)

    def turn_ended(self, window: int, chat: int, turn: str) -> None:
        self.events.append(("ended",))
        self.windows.append(window)

    async def turn_texts(self, window: int, turn: str) -> list[tuple[str, str, str]] | None:
        before, now = self.begun.get(turn), self._texts()
        if before is None:
            return None
        return [(path, before.get(path, ""), text) for path, text in now.items() if before.get(path) != text]


class Screen:
    """Stands in for the editor: what the person is told, and what of it is over."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.settled: list[str] = []

    def say(self, message: str, window: WindowId | None = None) -> None:
        self.said.append(message)

    def settle(self, message: str) -> None:
        self.settled.append(message)


@dataclass
class Terminal:
    """A folder, a home with transcripts, and what reads them."""

    root: Path
    kind: Kind = "qwen"
    more: tuple[str, ...] = ()
    """Further names below the folder of the transcripts."""
    tasks: set[asyncio.Task[object]] = field(default_factory=set[asyncio.Task[object]])
    chats: set[str] = field(default_factory=set[str])
    exclude: tuple[str, ...] = ()
    answer: bool | None = True
    """What the person has said when they were asked whether transcripts may be read."""
    setting: ReadTranscripts = "connected"
    windows: dict[WindowId, str] = field(default_factory=lambda: {WINDOW: "."})
    """The windows in which the CLI is known, and the folder of each below the project."""

    def __post_init__(self) -> None:
        self.folder = self.root / "project"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.home = self.root / "home"
        self.looks: Any = Looks(self.folder)
        self.screen: Any = Screen()
        stores = str(self.root / "stores")
        self.proposals: list[CliProposal] = []
        self.typed: list[str] = []
        """The messages of Gemini CLI."""
        self.added: set[str] = set()
        """Those that it makes up itself."""
        self.explained: dict[int, str] = {}
        """Why something is proposed, by its number."""
        explain = self.explained.__setitem__
        self.reasons = Provenance(self.looks, self._told, self._background, self.screen, explain, stores)
        names = ("QWEN_RUNTIME_DIR", "GEMINI_CLI_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
        self.reasons._transcripts = Transcripts(stores, dict.fromkeys(names, str(self.home)))
        if self.answer is not None:
            self.reasons._transcripts.keep_answer(may=self.answer)
        self.transcript = self.transcript_of("session-1")

    def _told(self, window: WindowId) -> Sharing:
        return Sharing(exclude=self.exclude, folders=(str(self.folder / self.windows[window]),))

    def transcript_of(self, name: str) -> Path:
        """The path of a transcript, whose folder is there."""
        encoded = "".join(each if each.isalnum() else "-" for each in str(self.folder))
        place = {
            "qwen": self.home / "projects" / encoded / "chats",
            "gemini": self.home / ".gemini" / "tmp" / "project" / "chats",
            "claude": self.home / "projects" / encoded,
            "codex": self.home / "sessions" / "2026" / "11" / "26",
            "copilot": self.home / "session-state" / name,
        }[self.kind]
        place.mkdir(parents=True, exist_ok=True)
        if self.kind == "gemini":
            (place.parent / ".project_root").write_text(str(self.folder))
        return place / ("events.jsonl" if self.kind == "copilot" else f"{name}.jsonl")

    def _background(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def look(self, times: int = 1) -> None:
        """The transcripts are looked at, as every two seconds."""
        for _ in range(times):
            wanted: dict[Reader, ReadTranscripts] = {(self.kind, window): self.setting for window in self.windows}
            self.reasons.look(wanted, self.chats, self.proposals)
            await self.done()

    def propose(self, new: str, number: int = 1, name: str = "shop.py", old: str = SHOP, since: float = 0.0) -> None:
        """The CLI opens a diff."""
        path, versions = str(self.folder / name), (old, old.replace("\r\n", "\n"))
        self.proposals.append(CliProposal((self.kind, WINDOW), ReviewId(number), path, versions, new, since))

    async def done(self) -> None:
        """Wait for what goes on in the background."""
        # To wait for what is done gives no other task its turn, since Python 3.12.
        while running := [task for task in self.tasks if not task.done()]:
            await asyncio.gather(*running)

    def say(self, line: Object | str, path: Path | None = None) -> None:
        """The CLI writes a line into its transcript. Gemini CLI writes before that what was typed."""
        if self.kind == "gemini" and isinstance(line, dict) and line.get("type") == "user":
            self.typed.append(text_of(line.get("displayContent", line.get("content"))))
            typed = [{"type": "user", "message": each} for each in self.typed if each not in self.added]
            (self.transcript.parent.parent / "logs.json").write_text(json.dumps(typed))
        text = line if isinstance(line, str) else json.dumps(line)
        with (path or self.transcript).open("a") as file:
            file.write(text + "\n")

    def recorded(self, name: str) -> Iterator[Object]:
        """The lines that a real CLI has written, as if it did so now."""
        text = (DATA / name).read_text().replace("@ROOT@", json.dumps(str(self.folder))[1:-1])
        for line in text.splitlines():
            yield dated(json.loads(line))

    async def play(self, lines: Iterator[Object], each: Callable[[], object] = lambda: None) -> None:
        """The CLI writes lines into its transcript, and what its tools have written onto the disk."""
        for line in lines:
            for name, text in written(line, self.folder):
                path = self.folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            self.say(line)
            each()
            await self.look()
        await self.look(2)

    async def why(self, words: str, name: str = "shop.py") -> list[tuple[str, str]]:
        """For each line with these words: the prompt and what was said; empty where nothing is known."""
        path = self.folder / name
        text = path.read_text()
        found: list[tuple[str, str]] = []
        for row, line in enumerate(text.split("\n")):
            if words in line:
                reasons = await self.reasons.why(WINDOW, str(path), text, [row], is_saved=True)
                found.append(said(reasons))
        return found


def text_of(content: Any) -> str:
    """The first text of a message of Gemini CLI, without what it reads from files."""
    texts = [content] if isinstance(content, str) else [each["text"] for each in content or () if "text" in each]
    return texts[0].partition("\n--- Content from referenced files ---")[0] if texts else ""


def said(reasons: list[Reason]) -> tuple[str, str]:
    return (reasons[0].turn.prompt, reasons[0].call.reason) if reasons else ("", "")


def dated(line: Object) -> Object:
    """A line with the time of now."""
    return {**line, "timestamp": datetime.now(UTC).isoformat()} if "timestamp" in line else line


def written(line: Object, folder: Path) -> Iterator[tuple[str, str]]:
    """What a tool has written, by a line of a transcript."""
    results = [line.get("toolCallResult") or {}, *(line.get("toolCalls") or [])]
    for result in results:
        display = result.get("resultDisplay")
        if isinstance(display, dict) and "fileName" in display and result.get("status") == "success":
            yield display["fileName"], display["newContent"]
    result = line.get("toolUseResult")  # of Claude Code
    if isinstance(result, dict) and "originalFile" in result:
        new = result.get("content")
        if new is None:
            new = result["originalFile"].replace(result["oldString"], result["newString"])
        yield Path(result["filePath"]).name, new
    yield from _by_copilot(line, folder)
    for path, change in line.get("payload", {}).get("item", {}).get("changes", {}).items():  # of Codex
        if change["type"] == "add":
            yield Path(path).name, change["content"]
            continue
        _, *hunks = re.split("^@@.*\n", change["unified_diff"], flags=re.MULTILINE)
        text = (folder / Path(path).name).read_text()
        for hunk in hunks:
            lines = hunk.splitlines(keepends=True)
            old, new = ("".join(each[1:] for each in lines if each[0] in kinds) for kinds in (" -", " +"))
            text = text.replace(old, new)
        yield Path(path).name, text


def _by_copilot(line: Object, folder: Path) -> Iterator[tuple[str, str]]:
    if line.get("type") != "tool.execution_start":
        return
    call = line["data"]["arguments"]
    if "file_text" in call:
        yield Path(call["path"]).name, call["file_text"]
    elif "new_str" in call:
        name = Path(call["path"]).name
        yield name, (folder / name).read_text().replace(call["old_str"], call["new_str"])
