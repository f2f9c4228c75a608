"""Reads a CLI's own settings files. Standard library only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from .families import CliFamily


def settings_folder(family: CliFamily, variables: Mapping[str, str], cwd: str = "") -> Path:
    """A family's folder in the person's home, by the variables of a process that runs in the folder `cwd`."""
    habits = family.habits
    named = variables.get(habits.home_variable)
    if named and habits.home_is_folder:
        return Path(cwd, os.path.expanduser(named))
    home = variables.get("USERPROFILE" if os.name == "nt" else "HOME")
    return Path(named or home or Path.home(), habits.folder)


def approval_mode(family: CliFamily, values: Mapping[str, Any]) -> str | None:
    """The approval mode in the settings; None if they have none."""
    mode = setting(values, family.habits.approval_setting, setting(values, "tools.approvalMode"))
    return mode if isinstance(mode, str) else None


def setting(values: object, key: str, default: object = None) -> object:
    """The value of a key such as "ide.enabled"."""
    for part in key.split("."):
        values = cast("dict[str, object]", values).get(part) if isinstance(values, dict) else None
    return default if values is None else values
