"""Turns of an agent in a folder, and what is asked about its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from companion.exclusion import Sharing
from companion.provenance.calls import ReportedTurn, TextReplacement, WritingCall
from companion.provenance.log import ProvenanceLog, Reason
from companion.provenance.why import log_save, log_turn, reasons

Edit = tuple[str | None, str, str]
"""What was there, what is there then, and what was said before."""


@dataclass
class Desk:
    """A folder in which an agent and a person write, with its log."""

    folder: Path
    stores: Path
    exclude: tuple[str, ...] = ()
    turns: int = 0

    @property
    def log(self) -> ProvenanceLog:
        """A new one each time: nothing is kept but what is on the disk."""
        return ProvenanceLog(str(self.stores))

    @property
    def sharing(self) -> Sharing:
        return Sharing(exclude=self.exclude, folders=(str(self.folder),))

    def text(self, name: str = "a.py") -> str:
        return (self.folder / name).read_text()

    def write(self, text: str, name: str = "a.py") -> None:
        """Whoever it is, nobody is told."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def save(self, text: str, name: str = "a.py") -> None:
        """The person saves a file in the editor."""
        path = self.folder / name
        before = path.read_text() if path.exists() else ""
        path.write_text(text)
        log_save(self.log, self.sharing, str(path), before, text)

    def turn(
        self,
        prompt: str,
        *edits: Edit,
        name: str = "a.py",
        agent: str = "Agent",
        writes: bool = True,
        seen: bool = True,
        meanwhile: str | None = None,
        before: str | None = None,
        began: float = 0.0,
    ) -> None:
        """A prompt and its tool calls, one after the other.

        `writes` is False for calls that only say so; `seen` is False without snapshots. `meanwhile` is what somebody
        else has made of the file when the turn ends.
        """
        self.turns += 1
        path = self.folder / name
        start = before if before is not None else path.read_text() if path.exists() else ""
        now = path.read_text() if path.exists() else ""
        calls: list[WritingCall] = []
        for at, (old, new, said) in enumerate(edits):
            calls.append(WritingCall(f"call-{at}", "edit", (TextReplacement(str(path), old, new),), said))
            now = new if old in (None, now) else now.replace(old or "", new, 1)
        if writes:
            self.write(now, name)
        if meanwhile is not None:
            self.write(meanwhile, name)
        turn = ReportedTurn(agent, prompt, tuple(calls), "model-1", "session-1", f"turn-{self.turns}", str(self.folder))
        turn = replace(turn, began=began)
        texts = [(str(path.resolve()), start, path.read_text())] if seen else None
        log_turn(self.log, [self.sharing], turn, texts)

    def why(self, *rows: int, name: str = "a.py", text: str | None = None, told: Sharing | None = None) -> list[Reason]:
        """The reasons of lines, from 0."""
        path = str(self.folder / name)
        shown = text if text is not None else self.text(name)
        return reasons(self.log, told or self.sharing, path, shown, rows, is_saved=text is None)

    def said(self, line: str, name: str = "a.py", text: str | None = None) -> list[tuple[str, str]]:
        """For each line with these words: the prompt and what was said; empty where nothing is known."""
        shown = text if text is not None else self.text(name)
        found: list[tuple[str, str]] = []
        for row, each in enumerate(shown.split("\n")):
            if line in each:
                reason = self.why(row, name=name, text=text)
                found.append((reason[0].turn.prompt, reason[0].call.reason) if reason else ("", ""))
        return found


def numbered(count: int, word: str = "line") -> str:
    """Lines that are like no other ones."""
    return "".join(f"{word} number {number} of {count}\n" for number in range(count))


def edits(*pairs: tuple[str, str, str]) -> Sequence[Edit]:
    return pairs
