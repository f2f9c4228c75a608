"""What nobody knows about the real editor, or what differs between its versions; the stand-in can behave either way.

A package should do its work under every one. `headless-sublime test --variation NAME=VALUE` chooses one,
`--variations random --seed N` chooses all of them by chance. The choice holds for the whole process.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Variation:
    """One question about the editor, with the behaviours that may be the answer; the first is the default."""

    name: str
    about: str
    behaviours: tuple[str, ...]
    source: str = "none"
    """The evidence for either behaviour. I#n is an issue of sublimehq/sublime_text."""

    @property
    def default(self) -> str:
        """What is done unless another behaviour is chosen."""
        return self.behaviours[0]


REGISTRY = {
    each.name: each
    for each in (
        Variation(
            "replace-moves-regions",
            "Do the regions of add_regions move with View.replace as carets do?",
            ("no", "yes"),
            "I#4144 tells of carets alone",
        ),
        Variation(
            "nested-on-modified",
            "Is an edit that a listener makes in on_modified told at once, or after all have heard of the first one?",
            ("at-once", "afterwards"),
        ),
        Variation(
            "activated-before-load",
            "Does on_activated of a file that is opened come before its on_load?",
            ("yes", "no"),
        ),
        Variation(
            "newline-fills-row",
            "Does a region that includes its line feed fill the row up to the right edge?",
            ("yes", "no"),
        ),
        Variation(
            "phantom-height",
            "Is a phantom exactly as high as the lines that it stands for?",
            ("exact", "taller", "shorter"),
        ),
        Variation(
            "viewport-lags",
            "Does viewport_position give the old position until the view has been drawn again?",
            ("no", "yes"),
        ),
        Variation(
            "inline-diff",
            "Does toggle_inline_diff show the lines that are gone?",
            ("shown", "nothing"),
            "I#2666, I#2728, I#4747: not always",
        ),
        Variation(
            "focus-raises-window",
            "Do focus_view and focus_sheet bring their window to the front?",
            ("no", "yes"),
            "I#4407: yes",
        ),
        Variation(
            "restores-flags",
            "Are views scratch and read-only again after a restart?",
            ("no", "yes"),
        ),
        Variation(
            "select-sheets-elsewhere",
            "Do groups without any of the sheets given to select_sheets keep several selected tabs?",
            ("keep", "only-active"),
        ),
        Variation(
            "select-sheets-groups",
            "Does select_sheets with tabs of several groups select in each of them?",
            ("each", "first-group"),
        ),
        Variation(
            "panel-focus",
            "Does focus_view give the focus back to a panel that is shown?",
            ("yes", "no"),
            "I#3349: not always",
        ),
        Variation(
            "close-selected",
            "Does the command `close` close all tabs that are selected in the group, or the focused one?",
            ("all", "one"),
            "I#4643: all",
        ),
        Variation(
            "hidden-annotations",
            "Are annotations removed by erase_regions in a view that is not shown?",
            ("removed", "stay"),
            "I#5511, I#5566: they stay",
        ),
        Variation(
            "phantom-at-insertion",
            "Is a phantom pushed along by text that is inserted at its place?",
            ("moves", "stays"),
        ),
        Variation(
            "first-tab",
            "Does a new window begin with an untitled tab?",
            ("yes", "no"),
            "tests of LSP and sublime_lib: yes",
        ),
        Variation(
            "typed-letters",
            "Are letters that are typed one after the other one step of the undo history?",
            ("one-step", "each-a-step"),
        ),
        Variation(
            "rewritten-commands",
            "Are listeners asked again about a command that a listener has put in the place of another?",
            ("asked-again", "run-at-once"),
        ),
    )
}

_chosen: dict[str, str] = {}


def chosen(name: str) -> str:
    """The behaviour that is chosen for a variation."""
    return _chosen.get(name, REGISTRY[name].default)


def choose(settings: Iterable[str]) -> None:
    """Choose behaviours, each given as `NAME=VALUE`.

    Raises ValueError for an unknown name or value.
    """
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in REGISTRY:
            raise ValueError(f"there is no variation {name!r}; there are {', '.join(REGISTRY)}")
        if value not in REGISTRY[name].behaviours:
            raise ValueError(f"the variation {name} is one of {', '.join(REGISTRY[name].behaviours)}, not {value!r}")
        _chosen[name] = value


def reset() -> None:
    """Choose all defaults."""
    _chosen.clear()


def alone() -> Iterator[str]:
    """Each behaviour other than a default, in the form that `choose` takes."""
    for variation in REGISTRY.values():
        for behaviour in variation.behaviours[1:]:
            yield f"{variation.name}={behaviour}"


def mix(seed: int) -> list[str]:
    """A behaviour for every variation, chosen by chance; the same seed gives the same."""
    chance = random.Random(seed)  # noqa: S311 - for tests
    chosen = {variation.name: chance.choice(variation.behaviours) for variation in REGISTRY.values()}
    if chosen["select-sheets-groups"] == "first-group":
        # Where a call selects in one group only, and takes the others' tabs, nothing shows several tabs in two groups.
        chosen["select-sheets-elsewhere"] = "keep"
    return [f"{name}={behaviour}" for name, behaviour in chosen.items()]
