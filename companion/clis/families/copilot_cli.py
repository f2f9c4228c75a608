"""Copilot CLI. Unofficial: nobody has specified how it finds an editor. Facts: docs/protocols/copilot-ide.md."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from .. import screen
from .family import CliFamily, DiscoveryName, DoorAddress, Habits, Launch


def copilot_home() -> Path:
    """`$COPILOT_HOME`, else `~/.copilot`."""
    named = os.environ.get("COPILOT_HOME")
    return Path(os.path.abspath(os.path.expanduser(named))) if named else Path.home() / ".copilot"


def lock(address: DoorAddress) -> dict[str, Any]:
    """What it reads in a lock file, besides the editor's name."""
    return {
        "socketPath": address.socket,
        "scheme": "pipe",
        "headers": {"Authorization": f"Nonce {address.token}"},
        "pid": os.getpid(),
        "timestamp": int(time.time() * 1000),
        "workspaceFolders": list(address.folders),
    }


COPILOT_CLI = CliFamily(
    name="Copilot CLI",
    port_variable="",
    workspace_variable="",
    # Others name the file by a random UUID. Here its last digits say which window it is.
    files=(DiscoveryName(copilot_home, ("ide",), "7b0ca9b1-1de0-4d5e-8c0b-0000000{port}.lock"),),
    launch=Launch(
        key="copilot",
        npm_package="@github/copilot",
        resume=("--continue",),
        unless=frozenset({"--allow-all-tools", "--allow-all", "--yolo", "--allow-tool=write"}),
        without_editor=frozenset({"-p", "--prompt", "login"}),
    ),
    habits=Habits(
        folder=".copilot",
        home_variable="COPILOT_HOME",
        home_is_folder=True,
        approval_setting="",  # it has no such setting
        silent_modes=frozenset(),
        mode_variables={"COPILOT_ALLOW_ALL": "allow-all"},
        silent_since=None,
        sends_token_since=(0,),
        needs_variables_until=None,
        yes_enables=True,
        mode_option="",
        to_be_asked="start it without that",
        connect="/ide",
        connect_anew="type “/ide” in the CLI",
        tells="/ide",
        looks_again=True,
    ),
    layouts=(screen.COPILOT,),
    reads_json_folders=True,
    door="socket",
    lock=lock,
    watches_file=True,
    takes_edits=False,
)
