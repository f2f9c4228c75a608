"""The links of a diff: in its headers and beside its changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..panels import say
from .answers import Answers
from .change_actions import ChangeActions
from .diff_marks import ANY_GENERATION

if TYPE_CHECKING:
    from .diff_view import DiffView


def follow(href: str, diff: DiffView, answers: Answers, actions: ChangeActions) -> None:
    """Do what a link of a diff says."""
    what, _, of = href.partition(":")
    match what:
        case "accept":
            answers.accept(diff, by_key=True)
        case "reject":
            answers.reject(diff, by_key=True)
        case "next":
            actions.move(1)
        case "previous":
            actions.move(-1)
        case "revert" | "restore":
            generation, _, fingerprint = of.partition(":")
            if generation in (str(diff.generation), ANY_GENERATION):
                actions.follow(what, fingerprint)
            else:
                say(diff.window, "This link is out of date.")
        case "endings":
            actions.keep_endings(keeps=of == "revert")
        case "warnings":
            diff.say_warnings()
        case "reload":
            actions.read_again()
        case _:
            pass
