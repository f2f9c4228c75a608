"""What can be done at once about what the status report finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import sublime

from ...status.findings import INSTALL, Finding, Kind
from ...visible import ShownText
from ..notices import NOTICES
from ..panels import to_clipboard

SETTINGS = {
    "base_file": "${packages}/QwenCompanion/QwenCompanion.sublime-settings",
    "default": "// Your own settings of QwenCompanion\n{\n\t$0\n}\n",
}


class Remedy(NamedTuple):
    """Something to click, or to pick by key."""

    caption: str
    apply: Callable[[sublime.Window], object]


def remedies(finding: Finding) -> tuple[Remedy, ...]:
    """The remedies of a finding; none if the person has to do it elsewhere."""
    return _REMEDIES.get(finding.kind, ())


def _copy(text: str) -> Remedy:
    def apply(window: sublime.Window) -> None:
        to_clipboard(ShownText(text))
        NOTICES.add(f"“{text}” was copied.", window)

    return Remedy(f"Copy “{text}”", apply)


def _command(caption: str, name: str, args: dict[str, object] | None = None) -> Remedy:
    return Remedy(caption, lambda window: window.run_command(name, args))  # pyright: ignore[reportArgumentType]


WITH_THE_REPORT = (_command("Copy Report", "qwen_companion_copy_report"),)
"""What can be done with every report."""
_ENABLE = _copy("/ide enable")
_TERMINAL = _command("Show Terminal", "qwen_companion_show_terminal")
_ENVIRONMENT = _command("Copy Terminal Environment…", "qwen_companion_copy_environment")
_FOLDER = _command("Add Folder to Project…", "prompt_add_folder")
_REMEDIES: dict[Kind, tuple[Remedy, ...]] = {
    "setting": (_command("Open Settings", "edit_settings", {**SETTINGS}),),
    "libraries": (_command("Repair Libraries", "qwen_companion_repair_libraries"),),
    "chat": (_command("Go to the Chat", "qwen_companion_chat"),),
    "ignored": (_command("Edit Project", "open_file", {"file": "${project}"}),),
    "no folder": (_FOLDER,),
    "no cli": (_copy(INSTALL),),
    "elsewhere": (_FOLDER,),
    "above": (_TERMINAL,),
    "before": (_TERMINAL,),
    "ide mode": (_ENABLE, _TERMINAL),
    "not connected": (_ENABLE, _TERMINAL),
    "rival": (_ENABLE, _TERMINAL),
    "old port": (_TERMINAL, _ENVIRONMENT),
    "variables": (_ENVIRONMENT,),
    "approval": (_copy("--approval-mode default"), _TERMINAL),
    "transcripts": (_command("Read Transcripts…", "qwen_companion_read_transcripts"),),
    "remote": (_command("Connect a CLI Elsewhere…", "qwen_companion_connect_elsewhere"),),
}
