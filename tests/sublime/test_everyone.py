"""Nobody needs to tell colours apart."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import sublime

from .companion_case import CompanionCase, Steps, loaded

SIGNS = {
    "inserted": r"\+\d+",
    "deleted": r"−\d+",
    "accept": "✓",
    "reject": r"✗|■ \w+|\w+",
    "allow": r"▸ \w+|↻ \w+|\w+",
    "always": r"\w+",
    "warning": r"⚠ .+|.+\.",
    "quiet": r"\w+",
}
"""What an element of a class says without its colour."""


def review(**more: Any) -> Any:
    about = {"owner": SimpleNamespace(cli="Qwen Code"), "endings": "LF → CRLF", "keeps_endings": False}
    return SimpleNamespace(**about | {"is_editable": False} | more)


def pages() -> list[str]:
    """Everything that has colours: headers of diffs, the chat's bar and questions."""
    values = loaded("conversation.snapshot")
    kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
    options = tuple(values.PermissionOption(kind, f"Name of {kind}", kind) for kind in kinds)
    permission = values.Permission("p", "turn", "tool", "Run it?", "execute", options)
    asks = SimpleNamespace(permission=permission, hidden=0)
    asked = SimpleNamespace(permission=replace(permission, questions=("Which?",)), hidden=5)
    status = values.Status(values.ConnectionStatus("live"), model="m", queue=(values.Queued("q", "later"),))
    where = values.Locality("this computer")
    bars = [
        SimpleNamespace(status=replace(status, running=running, last=last), locality=where, unsent=())
        for running, last in (("turn", None), (None, "interrupted"), (None, "failed"))
    ]
    header, html = loaded("sublime_text.review.header"), loaded("sublime_text.chat.html")
    return [
        *header.original_headers("Current file", ["changed on disk"], offers_reload=True),
        *header.proposal_headers(review(), loaded("review.changes").Count(1, 3, 1, 2), ["Too large to be marked."]),
        *header.proposal_headers(review(keeps_endings=True), None, []),
        header.orphaned_header("Qwen Code"),
        *(html.ask(one, is_first=True) for one in (asks, asked)),
        *(html.bar(bar, ["a.py"]) for bar in bars),
        html.running(SimpleNamespace(terminals=("terminal-1",))),
    ]


def coloured(page: str) -> list[tuple[str, str]]:
    """The classes and texts of the elements of a page."""
    shown = page.partition("</style>")[2] or page
    links = re.findall(r'<a class="(\w+)"[^>]*>(.*?)</a>', shown)
    return [(kind, re.sub("<[^>]*>", "", words)) for kind, words in links] + re.findall(
        r'<span class="(\w+)"[^>]*>([^<]*)</', re.sub("<a .*?</a>", "", shown)
    )


class TestColours(CompanionCase):
    """No meaning by colour alone."""

    def test_every_coloured_word_says_it_without_its_colour(self) -> None:
        found = [each for page in pages() for each in coloured(page)]
        rules = re.findall(r"^(\..*) \{", loaded("sublime_text.minihtml").COLOURS, re.MULTILINE)
        classes = {name for rule in rules for name in re.findall(r"\.(\w+)", rule)}
        self.assertEqual(classes, set(SIGNS))
        self.assertEqual({kind for kind, _ in found}, classes)
        self.assertEqual([each for each in found if not re.match(rf"(?:{SIGNS[each[0]]})", each[1])], [])
        self.assertIsNone(re.match(SIGNS["deleted"], "3"))

    def test_two_links_never_have_the_same_words(self) -> None:
        for page in pages():
            texts = [text for _, text in coloured(page)]
            self.assertEqual(len(set(texts)), len(texts), page)

    def test_changed_lines_have_a_sign_beside_their_colour(self) -> Steps:
        """An icon in the gutter on the side of the file, a link at the change on the side of the proposal."""
        yield from self.open_diff('def greet(name):\n    print("hello")\n')
        yield lambda: self.screen.links(self.proposal)
        self.assertEqual(len(self.screen.annotations(self.proposal)), 1)
        self.assertIn("undo", self.screen.annotations(self.proposal)[0])
        yield lambda: self.screen.icons.get((self.original.id(), "qwen_companion.changes")) == "dot"
        self.screen.click(self.proposal, self.screen.links(self.proposal)[0])
        yield lambda: self.screen.restores(self.proposal)
        yield lambda: self.screen.icons.get((self.proposal.id(), "qwen_companion.reverted")) == "circle"
        yield lambda: not self.original.get_regions("qwen_companion.words")

    def test_changed_words_are_lighter_or_darker_than_their_line(self) -> None:
        """Their fill is seen without its hue. No boxes are drawn around it."""
        marks = loaded("sublime_text.review.diff_marks")
        self.assertFalse(marks._WORDS & sublime.RegionFlags.DRAW_NO_FILL)
        self.assertFalse(marks._LINES & sublime.RegionFlags.DRAW_NO_FILL)
