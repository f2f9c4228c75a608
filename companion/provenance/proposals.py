"""Why a CLI in a terminal proposes something: the call in its transcript that waits for just that text.

Nothing but the texts tells which call a diff belongs to: the connection has no id that the transcript has. So there is
a reason only if a single call fits in all transcripts, to the byte, no other diff that waits has the same text, and the
call has not fitted to a diff before.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from ..editor import ReviewId
from ..exclusion import Sharing
from .calls import TextReplacement, below, real_path
from .log import MAX_REASON
from .replay import Effort, TooMuchError
from .transcripts import CliTranscript, Reader, WaitingCall


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
    """Finds the reasons of proposals. It knows those that wait; what was proposed before, the calls know."""

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
            path = real_path(each.path)
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
            is_alike = len(named) == 1 and os.path.basename(min(named)) == os.path.basename(proposal.path)
            if is_alike and real_path(min(named)) == path and _makes(call.replaced, proposal, effort):
                yield call


def _makes(replaced: Sequence[TextReplacement], proposal: CliProposal, effort: Effort) -> bool:
    return any(_done(old, replaced, effort) == proposal.new for old in proposal.old)


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
