"""Which of the running CLIs change files without asking. Not for an event loop."""

from __future__ import annotations

import os
from collections.abc import Sequence

from .findings import approval_mode, is_inside
from .survey import clis

SILENT = "{name} doesn't ask before it changes files ({why}). {after} To be asked, press Shift+Tab in {name}."
REVIEWED = "What it writes comes up for review."
UNSEEN = "What it writes isn't shown: the setting “review” is “off”."


def silent_clis(folders: Sequence[str]) -> dict[str, str]:
    """The families of which a CLI runs in one of these folders in a mode that doesn't ask, each with the reason."""
    real = [os.path.realpath(folder) for folder in folders]
    found: dict[str, str] = {}
    for cli in clis():
        cwd = os.path.realpath(cli.running.cwd or os.sep)
        mode, why = approval_mode(cli)
        if mode not in cli.family.habits.asking_modes and any(is_inside(cwd, folder) for folder in real):
            found[cli.family.name] = f"{mode}, {why}"
    return found
