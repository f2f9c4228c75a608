"""Hears of each turn that is over and of what the person saves, and says why a line is there, and why one is proposed.

`Provenance` runs on the companion thread and touches no file: that is done on other threads, one turn at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import time
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from ..background import answered
from ..changes.change_screen import Listing
from ..changes.lines import MAX_COMPARED, differences
from ..changes.places import PlaceError
from ..changes.rounds import Rounds
from ..changes.rows import ChangeRow
from ..comments import code_span
from ..editor import ChatId, Messages, ReviewId, ViewId, WindowId
from ..exclusion import Sharing
from ..platforms import files
from ..settings import ReadTranscripts
from ..visible import visible
from .calls import ReportedTurn, TextReplacement, below, real_path
from .lines import Effort, Found, LoggedLines, ReplayStep, TooMuchError, added_runs, is_seen, runs_of
from .log import MAX_REASON, TEXTS, LoggedCall, LoggedTurn, ProvenanceLog, Reason
from .notes import noted
from .transcripts import (
    KINDS,
    LATE,
    CliTranscript,
    Kind,
    Reader,
    StrangeTranscript,
    Transcripts,
    TranscriptTurn,
    WaitingCall,
)

logger = logging.getLogger(__name__)

MAX_WORDS = 200
"""Characters of a prompt that name a checkpoint."""
MOST_UNTIED = 3
"""Turns of a transcript that wait until it is known whose it is."""
SILENT = 600.0
"""Seconds without a new line after which a turn in a transcript counts as over: its CLI may have been ended."""
TEXTS_WITHIN = 60.0
"""Seconds that the texts of a turn are waited for: their disk may hang, and nothing else is logged meanwhile."""
MOST_ROWS = 1_000
"""Lines that are asked about at once."""


TERMINAL = ChatId(ViewId(0))
"""Stands for the CLIs in terminals where a chat is named."""


QUESTION = (
    "{cli} keeps a transcript of what is said in its terminal. If you allow it, it is read to say why a line is here. "
    "Please answer: “Qwen: Read Transcripts…”"
)
NOT_KEPT = "The answer can't be kept, so no transcript is read: {reason}"


Texts = Sequence[tuple[str, str, str]]
"""Path, old and new text of each file that was changed in a turn."""


class Provenance:
    """The reasons of all windows. `stores` is the folder of the snapshots; None for the user's own."""

    def __init__(
        self,
        turns: Rounds,
        sharing: Callable[[WindowId], Sharing],
        background: Callable[[Coroutine[Any, Any, object]], asyncio.Future[object]],
        messages: Messages,
        explain: Callable[[ReviewId, str], object],
        stores: str | None = None,
    ) -> None:
        """`sharing` gives what may be told of a window's files, and its folders.

        `explain` is given the reason of a proposal.
        """
        self.log = ProvenanceLog(stores)
        self._turns = turns
        self._sharing = sharing
        self._background = background
        self._messages = messages
        self._transcripts = Transcripts(stores)
        self._explain = explain
        self._proposed = ProposalReasons()
        self.question = ""
        """What the person is asked before the first transcript is read; empty if that needs no answer now."""
        self.strange: tuple[StrangeTranscript, ...] = ()
        """The transcripts that aren't understood."""
        self._tied: set[str] = set()
        """The transcripts of which a call has left a file as it says, to the byte."""
        self._untied: dict[str, list[tuple[ReportedTurn, Texts | None]]] = {}
        """The last turns of others. A prompt that comes soon may change a file before that was looked at."""
        self._running: dict[str, Reader] = {}
        """The turns of transcripts that run, by their keys."""
        self._busy = False
        self._one = asyncio.Lock()
        """Held while something is written, in the order in which it has come."""

    def start(self) -> None:
        """Remove what is older than a year."""
        self._background(asyncio.to_thread(self.log.forget_old))

    def turn_over(self, window: WindowId, turn: ReportedTurn) -> None:
        """A turn is over."""
        if turn.calls:
            self._log([window], turn)

    def _log(self, windows: Sequence[WindowId], turn: ReportedTurn) -> None:
        # By the time that it is written, a window may have closed, and has no folders then.
        self._background(self._log_turn(windows, [self._sharing(window) for window in windows], turn))

    async def _log_turn(self, windows: Sequence[WindowId], sharings: Sequence[Sharing], turn: ReportedTurn) -> None:
        async with self._one:
            texts = None
            try:
                async with asyncio.timeout(TEXTS_WITHIN):
                    texts = await self._texts(windows, turn.turn)
            except TimeoutError:
                logger.warning("What was changed in a turn of %s is logged without its texts", turn.agent)
            turns = [(turn, texts)]
            if not turn.is_chat:
                turns = self._untied[turn.place] = [*self._untied.get(turn.place, ()), *turns][-MOST_UNTIED:]
                if turn.place not in self._tied:
                    if not await asyncio.to_thread(is_tied, turn, texts):
                        return
                    self._tied.add(turn.place)
                del self._untied[turn.place]
            for each in turns:
                await asyncio.to_thread(log_turn, self.log, sharings, *each)

    async def _texts(self, windows: Sequence[WindowId], turn: str) -> Texts | None:
        """What was changed in a turn in the files of some windows; None if no snapshots were taken of it in any."""
        found: dict[str, tuple[str, str, str]] | None = None
        for window in windows:
            if (texts := await self._turns.turn_texts(window, turn)) is not None:
                found = (found or {}) | {each[0]: each for each in texts}
        return None if found is None else [*found.values()]

    def look(
        self,
        wanted: Mapping[Reader, ReadTranscripts],
        chats: Collection[str],
        proposals: Sequence[CliProposal] = (),
    ) -> None:
        """Read what is new in the transcripts of some CLIs, each for a window, as far as the person allows it.

        `wanted` has what the setting says, `chats` are the sessions of chats, `proposals` is what waits for an answer.
        """
        if not self._busy and (wanted or self._running or self.question):
            self._busy = True
            self._background(self._look(wanted, chats, proposals))

    def answer(self, window: WindowId, *, may: bool) -> None:
        """The person has said whether transcripts may be read."""
        self._background(self._answer(window, may=may))

    async def _answer(self, window: WindowId, *, may: bool) -> None:
        try:
            await asyncio.to_thread(self._transcripts.keep_answer, may=may)
        except OSError as error:
            self._messages.say(NOT_KEPT.format(reason=error), window)
        else:
            self._answered()

    def _answered(self) -> None:
        if self.question:
            self._messages.settle(self.question)
            self.question = ""

    async def _look(
        self, wanted: Mapping[Reader, ReadTranscripts], chats: Collection[str], proposals: Sequence[CliProposal]
    ) -> None:
        try:
            await asyncio.to_thread(self._proposed.look, proposals)  # their texts may be large
            allowed = await asyncio.to_thread(self._transcripts.allow, wanted)
            await self._ask_first(wanted, allowed)
            found: dict[str, tuple[CliTranscript, list[WindowId]]] = {}
            for kind, window in sorted(allowed):
                read, since = await asyncio.to_thread(_read, self._transcripts, kind, window, self._sharing(window))
                for transcript in read:
                    if transcript.talk.session in chats:
                        transcript.leave_turns()
                read = [transcript for transcript in read if transcript.talk.session not in chats]
                for transcript in read:
                    found.setdefault(transcript.path, (transcript, []))[1].append(window)
                    self._follow(window, transcript, since)  # before the next window dates its turns
                if own := [each for each in proposals if each.reader == (kind, window)]:
                    reasons = await asyncio.to_thread(self._proposed.reasons, own, read, self._sharing(window))
                    for number, reason in reasons.items():
                        self._explain(number, reason)
            told = {key for seen in found.values() for key in self._log_fresh(*seen)}
            for key, reader in list(self._running.items()):
                if key not in told or reader not in allowed:  # the transcript has gone, its folder, or the CLI
                    self._end(key)
            self.strange = self._transcripts.strange
        finally:
            self._busy = False

    async def _ask_first(self, wanted: Mapping[Reader, ReadTranscripts], allowed: Collection[Reader]) -> None:
        """Ask the person whether transcripts may be read, if some are not read for the lack of an answer."""
        unread = [reader for reader, mode in wanted.items() if mode == "connected" and reader not in allowed]
        if not unread and not self.question:
            return
        if await asyncio.to_thread(lambda: self._transcripts.answer) is not None:
            self._answered()
        elif not self.question:
            kind, window = min(unread)
            self.question = QUESTION.format(cli=KINDS[kind])
            self._messages.say(self.question, window)

    def _follow(self, window: WindowId, transcript: CliTranscript, since: int) -> None:
        """Take on which turns of a transcript have begun and ended. Of several windows the first one has them.

        `since` is when the window looked before, as `Transcripts.look` has it.
        """
        for turn in transcript.talk.turns:
            reported = transcript.reported(turn)
            if turn.state == "new":
                turn.state, turn.began = "running", time.time()
                words = " ".join(turn.prompt.split())[:MAX_WORDS]
                self._running[reported.turn] = transcript.kind, window
                self._turns.turn_began(window, TERMINAL, reported.agent, reported.turn, words, _sent(turn, since))
            is_over = turn.is_over or time.monotonic() - transcript.grown_at > SILENT
            if turn.state == "running" and is_over and transcript.has_all_of(turn):
                turn.state = "ended"
                self._end(reported.turn)

    def _log_fresh(self, transcript: CliTranscript, windows: Sequence[WindowId]) -> Iterator[str]:
        """Log what the turns of a transcript have done since, for the windows that see it. Gives those that run."""
        for turn in transcript.talk.turns:
            reported = transcript.reported(turn)
            fresh = {call.id for call in turn.calls} - turn.logged
            if fresh and turn.state != "old" and transcript.has_all_of(turn):
                turn.logged |= fresh
                self._log(windows, reported)
            if turn.state == "running":
                yield reported.turn

    def _end(self, turn: str) -> None:
        if reader := self._running.pop(turn, None):
            self._turns.turn_ended(reader[1], TERMINAL, turn)

    def saved(self, window: WindowId, path: str, before: str, after: str) -> None:
        """The person has saved a file: a line that an agent has written once, and they have written anew, is theirs."""
        if before != after:
            self._background(self._log_save(window, path, before, after))

    async def _log_save(self, window: WindowId, path: str, before: str, after: str) -> None:
        async with self._one:
            await asyncio.to_thread(log_save, self.log, self._sharing(window), path, before, after)

    async def why(
        self, window: WindowId, path: str, text: str | None, rows: Sequence[int], *, is_saved: bool
    ) -> list[Reason]:
        """Why lines of a file are there, from 0, as far as that is known.

        `text` is what its view has, with plain line feeds, or None for what the disk has; a line that was not saved yet
        is the person's. What the log doesn't know is looked for in the notes of commits.
        """
        sharing = self._sharing(window)
        return await answered(path, lambda: reasons(self.log, sharing, path, text, rows, is_saved=is_saved))

    async def turns(self, window: WindowId, since: float) -> list[LoggedTurn]:
        """The turns in the folders of a window since a Unix time, the oldest first."""
        folders = self._sharing(window).folders

        def every() -> list[LoggedTurn]:
            roots = dict.fromkeys(map(os.path.realpath, folders))
            return sorted((turn for root in roots for turn in self.log.every(root, since)), key=lambda turn: turn.at)

        return await asyncio.to_thread(every)

    async def forget(self) -> None:
        """Remove all logs."""
        async with self._one:
            await asyncio.to_thread(self.log.forget)


def is_tied(turn: ReportedTurn, texts: Texts | None) -> bool:
    """Whether a turn of a transcript has left a file as it says, to the byte: it may be anybody's. It blocks."""
    known = {os.path.normcase(path): (before, after) for path, before, after in texts or ()}
    steps = _steps(turn, [os.path.dirname(path) for path, _, _ in texts or ()])
    return any(is_seen(*known[path], steps[path]) for path in steps.keys() & known.keys())


def log_turn(
    log: ProvenanceLog, sharings: Sequence[Sharing], turn: ReportedTurn, texts: Texts | None
) -> list[LoggedTurn]:
    """Write a turn into the log of each folder in which it has written. Returns what was written. It blocks.

    `sharings` are of the windows that know of the turn: a file is in the log of the first one that may name it. A turn
    may be told several times, as after a reload, and more of it each time: a call that is in the log is not written
    again, over what the person has done with its lines since.
    """
    logged: dict[str, dict[int, list[LoggedCall]]] = {}
    for root, number, call in _written(log, sharings, turn, texts):
        logged.setdefault(root, {}).setdefault(number, []).append(call)
    written: list[LoggedTurn] = []
    for root, calls in logged.items():
        own = tuple(call for _, found in sorted(calls.items()) for call in found)
        texts_of_turn = {name: getattr(turn, name) for name in TEXTS}
        each = LoggedTurn(time.time(), calls=own, is_chat=turn.is_chat, **texts_of_turn)
        _add(log, root, each)
        written.append(each)
    return written


def _written(
    log: ProvenanceLog, sharings: Sequence[Sharing], turn: ReportedTurn, texts: Texts | None
) -> Iterator[tuple[str, int, LoggedCall]]:
    """What each call has written: the folder, the call's number, and what is logged of it."""
    known = {os.path.normcase(path): (before, after) for path, before, after in texts or ()}
    steps = _steps(turn, [folder for sharing in sharings for folder in sharing.folders])
    for path, done in steps.items():
        root = next(filter(None, (_root_of(path, sharing) for sharing in sharings)), None)
        if root is None:
            continue
        if path in known:
            before, after = known[path]
        elif turn.is_chat and (text := _text(path)) is not None:
            before, after = None, text
        else:
            continue  # nobody has seen that it was written
        name = os.path.relpath(path, root).replace(os.sep, "/")
        logged, others = set[str](), set[str]()
        for _, each in log.turns(path):
            if (each.session, each.turn) == (turn.session, turn.turn):
                logged.update(call.id for call in each.calls)
            elif each.at > turn.began > 0:
                others.update(line for call in each.calls for run in call.runs for line in run.added)
        for number, runs in runs_of(before, after, done, others).items():
            call = turn.calls[number]
            if call.id not in logged:
                yield root, number, LoggedCall(name, runs, call.id, call.name, call.reason, call.asked)


def _root_of(path: str, sharing: Sharing) -> str | None:
    """The folder of a window in whose log a file is; None if it has none with it, or excludes it."""
    roots = [os.path.realpath(folder) for folder in sharing.folders]
    root = below(path, roots)
    return None if root is None or sharing.is_excluded(path, roots) else root


def _steps(turn: ReportedTurn, folders: Sequence[str]) -> dict[str, list[ReplayStep]]:
    """What the calls of a turn say that they have replaced, by the file's real path."""
    steps: dict[str, list[ReplayStep]] = {}
    for number, call in enumerate(turn.calls):
        for replaced in call.replaced:
            if path := real_path(replaced.path, folders):
                steps.setdefault(path, []).append(ReplayStep(number, replaced))
    return steps


def log_save(log: ProvenanceLog, sharing: Sharing, path: str, before: str, after: str) -> None:
    """Write down which lines that an agent has written once the person has written anew. It blocks."""
    path = os.path.normcase(os.path.realpath(path))
    turns = log.turns(path)
    known = frozenset(each for _, turn in turns for call in turn.calls for run in call.runs for each in run.added)
    if not known or max(len(before), len(after)) > MAX_COMPARED:
        return
    roots = [os.path.realpath(folder) for folder in sharing.folders]
    if sharing.is_excluded(path, roots):
        return
    root = below(path, roots) or turns[-1][0]
    if runs := added_runs(before, after, known):
        name = os.path.relpath(path, root).replace(os.sep, "/")
        _add(log, root, LoggedTurn(time.time(), "", (LoggedCall(name, runs),)))


def reasons(
    log: ProvenanceLog, sharing: Sharing, path: str, text: str | None, rows: Sequence[int], *, is_saved: bool
) -> list[Reason]:
    """Why lines of a file are there: see `Provenance.why`. It blocks."""
    real = os.path.realpath(path)
    roots = [os.path.realpath(folder) for folder in sharing.folders]
    if sharing.is_excluded(real, roots):
        return []
    turns, is_ours = log.turns(os.path.normcase(real)), below(real, roots) is not None
    if not turns and not is_ours:
        return []
    disk = _text(real) if text is None or not is_saved else ""
    if disk is None:
        return []
    there = disk.replace("\r\n", "\n").split("\n")
    lines = there if text is None else text.split("\n")
    unsaved: set[int] = set()
    if not is_saved:
        changed = differences(there, lines)
        unsaved = {row for each in changed for row in range(each.new_start, each.new_end)}
    logged = LoggedLines(lines, turns)
    found: dict[tuple[int, int], tuple[Found, list[int]]] = {}
    unknown: list[int] = []
    for row in rows[:MOST_ROWS]:
        if row in unsaved:
            continue
        if (who := logged.of(row)) is None:
            unknown += [] if logged.may_be_the_persons(row) else [row]
        elif who.turn.agent:
            found.setdefault((id(who.turn), id(who.call)), (who, []))[1].append(row)
    known = [Reason(tuple(own), who.turn, who.call) for who, own in found.values()]
    return [*known, *noted(real, lines, unknown)] if unknown and is_ours else known


def _sent(turn: TranscriptTurn, since: int) -> int:
    """After which time a new prompt was sent, in nanoseconds of Unix time; 0 if that isn't known.

    It was not in the transcript at `since`, but may have been on its way there, and have changed files already.
    """
    told = int(turn.at * 1e9) or since
    return max(turn.after, min(since, max(told, since - LATE)))


def _read(transcripts: Transcripts, kind: Kind, window: WindowId, sharing: Sharing) -> tuple[list[CliTranscript], int]:
    folders = [os.path.realpath(folder) for folder in sharing.folders]
    return transcripts.look(kind, window, [folder for folder in folders if not sharing.is_excluded(folder, folders)])


def _add(log: ProvenanceLog, root: str, turn: LoggedTurn) -> None:
    try:
        log.add(root, turn)
    except (OSError, PlaceError) as error:
        logger.warning("Why lines were written in %s can't be logged: %s", root, error)


def _text(path: str) -> str | None:
    """The text of a file; None if there is none that can be compared."""
    try:
        data = files.read(path, MAX_COMPARED, follows_links=True).data
    except OSError:
        return None
    return None if b"\0" in data else data.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class CliProposal:
    """What a CLI in a terminal proposes for a file. It waits for an answer."""

    reader: Reader
    number: ReviewId
    path: str
    old: tuple[str, ...]
    """What the CLI may have read: the file with its line endings, and with line feeds."""
    new: str
    since: float
    """When the CLI has connected, in Unix time: what was written down before that is another one's."""


class ProposalReasons:
    """Finds why a CLI proposes something: the call in its transcript that waits for just that text.

    Nothing but the texts tells which call a diff belongs to: the connection has no id that the transcript has. So there
    is a reason only if a single call fits in all transcripts, to the byte, no other diff that waits has the same text,
    and the call has not fitted to a diff before. It knows those that wait; what was proposed before, the calls know.
    """

    def __init__(self) -> None:
        self._waiting: set[ReviewId] = set()
        self._ready: Collection[ReviewId] = ()
        self._unsure: set[ReviewId] = set()
        """Those that wait and have ever had another one of the same path and text beside them."""

    def look(self, proposals: Sequence[CliProposal]) -> None:
        """Take on what is proposed. A transcript has had time to tell of what was there at the look before."""
        numbers, alike = {each.number for each in proposals}, dict[tuple[str, bytes], set[ReviewId]]()
        for each in proposals:
            alike.setdefault(_key(each), set()).add(each.number)
        self._unsure &= numbers
        self._unsure.update(*(same for same in alike.values() if len(same) > 1))
        self._ready, self._waiting = numbers & self._waiting, numbers

    def reasons(
        self, proposals: Sequence[CliProposal], transcripts: Sequence[CliTranscript], sharing: Sharing
    ) -> dict[ReviewId, str]:
        """Why something is proposed, as far as the transcripts of that CLI in that window tell. It blocks.

        A reason is empty if it isn't sure any more: it takes another one back.
        """
        known: dict[ReviewId, str] = {}
        roots = [os.path.realpath(folder) for folder in sharing.folders]
        for each in proposals:
            path = real_path(each.path, sharing.folders)
            if below(path, roots) is None or sharing.is_excluded(path, roots):
                continue
            try:
                found = list(_fitting(each, path, transcripts))
            except TooMuchError:
                known[each.number] = ""
                continue
            for call in found:
                call.proposal = call.proposal or each.number
            if each.number in self._unsure or len(found) > 1:
                known[each.number] = ""
            elif found:
                call = found[0]
                known[each.number] = call.reason[-MAX_REASON:] if call.proposal == each.number else ""
        return {number: reason for number, reason in known.items() if number in self._ready}


def _key(proposal: CliProposal) -> tuple[str, bytes]:
    return proposal.path, blake2b(proposal.new.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _fitting(proposal: CliProposal, path: str, transcripts: Sequence[CliTranscript]) -> Iterator[WaitingCall]:
    """The calls that would make the proposal. Raises TooMuchError."""
    effort = Effort()
    for transcript in transcripts:
        for call in transcript.talk.waiting(proposal.since):
            named = {each.path for each in call.replaced}
            folder, name = os.path.split(proposal.path)
            is_alike = len(named) == 1 and os.path.basename(min(named)) == name
            is_there = is_alike and real_path(min(named), [folder]) == path
            if is_there and any(_done(old, call.replaced, effort) == proposal.new for old in proposal.old):
                yield call


def _done(text: str, replaced: Sequence[TextReplacement], effort: Effort) -> str | None:
    """The text after all of some replacements; None if it isn't sure what they replace."""
    for each in replaced:
        effort.spend(len(text))
        if each.old is None:
            text = each.new
            continue
        many = text.count(each.old)
        if many != 1 and not (many and each.is_everywhere):
            return None
        effort.spend(many * len(each.new))
        text = text.replace(each.old, each.new)
    return text


_MEANS = re.compile(r"([\\`*_\[\]<>#|~!])")


def review_report(turns: Sequence[LoggedTurn], listing: Listing, comments: str, now: float) -> str:
    """A review as Markdown: the turns with their prompts and reasons, what was decided, and the comments.

    `comments` are Markdown already, `now` is a Unix time.
    """
    parts = [f"# Review of {_time(now)}"]
    parts += [_turn(turn) for turn in turns if turn.agent]
    waiting = [f"- {code_span(row.path)} {_count(row)}" for row in listing.rows]
    decided = [f"- {code_span(row.path)} {_count(row)}: {word}" for row, word in listing.done]
    parts += [_section("Waits for a review", waiting), _section("Reviewed", decided)]
    parts += [f"## Comments\n\n{comments}"] if comments else []
    return "\n\n".join(filter(None, parts)) + "\n"


def _turn(turn: LoggedTurn) -> str:
    heading = " · ".join(filter(None, (_plain(turn.agent), _plain(turn.model), _time(turn.at))))
    said = [f"## {heading}"]
    said += [_quoted(turn.prompt)] if turn.prompt.strip() else []
    calls: list[str] = []
    for call in turn.calls:
        lines = sum(len(run.added) for run in call.runs)
        asked = f" (asked: {_plain(call.asked)})" if call.asked.strip() else ""
        reason = f": {_plain(call.reason)}" if call.reason.strip() else ""
        calls.append(f"- {code_span(call.path)}, {lines} line{'s' * (lines != 1)}{asked}{reason}")
    return "\n\n".join([*said, "\n".join(calls)])


def _section(name: str, lines: Sequence[str]) -> str:
    return f"## {name}\n\n" + "\n".join(lines) if lines else ""


def _quoted(text: str) -> str:
    lines = _MEANS.sub(r"\\\1", visible(text.strip())).split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _plain(text: str) -> str:
    """A text in one line in which nothing is Markdown."""
    return _MEANS.sub(r"\\\1", " ".join(visible(text).split()))


def _count(row: ChangeRow) -> str:
    return f"+{row.inserted} −{row.deleted}"


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
