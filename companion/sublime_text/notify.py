"""Notifications of the system, shown by a program that each system has. Where there is none, nothing happens.

The texts say that something waits, never what: they are on the screen while nobody is there.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress

import sublime

from ..platforms import programs

LIMIT = 15.0
"""Seconds for the program."""
TITLE = "Sublime Text"
_SCRIPT = (
    "on run argv",
    "display notification (item 2 of argv) with title (item 1 of argv)",
    "end run",
)
_TOAST = """
$ErrorActionPreference = 'Stop'
[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$kind = [Windows.UI.Notifications.ToastTemplateType]::ToastText02
$toast = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent($kind)
$texts = $toast.GetElementsByTagName('text')
[void]$texts.Item(0).AppendChild($toast.CreateTextNode($env:QWEN_COMPANION_TITLE))
[void]$texts.Item(1).AppendChild($toast.CreateTextNode($env:QWEN_COMPANION_TEXT))
$shown = [Windows.UI.Notifications.ToastNotification]::new($toast)
$program = '{1AC14E77-02E7-4E5D-B744-2EB1AE5198B7}\\WindowsPowerShell\\v1.0\\powershell.exe'
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier($program).Show($shown)
"""


def command(system: str, text: str) -> tuple[list[str], Mapping[str, str]]:
    """The command that shows a notification on a system, and the variables that it needs. Texts are never code."""
    match system:
        case "osx":
            lines = [argument for line in _SCRIPT for argument in ("-e", line)]
            return ["osascript", *lines, TITLE, text], {}
        case "windows":
            variables = {"QWEN_COMPANION_TITLE": TITLE, "QWEN_COMPANION_TEXT": text}
            return ["powershell", "-NoProfile", "-NonInteractive", "-Command", _TOAST], variables
        case _:
            return ["notify-send", "--app-name", TITLE, "--", TITLE, text], {}


def notify(text: str) -> threading.Thread:
    """Show a notification, from a thread of its own: the program may take seconds."""
    words, variables = command(sublime.platform(), text)
    thread = threading.Thread(target=_run, args=(words, variables), name="QwenCompanion notification", daemon=True)
    thread.start()
    return thread


def _run(words: list[str], variables: Mapping[str, str]) -> None:
    program = programs.find(words[0], os.environ)
    if program is None:
        return
    with suppress(OSError, subprocess.SubprocessError):
        programs.run([program, *words[1:]], {**os.environ, **variables}, LIMIT)
