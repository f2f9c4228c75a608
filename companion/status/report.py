"""The status report as text, for reading and, without secrets, for passing on."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from ..log import SECRET
from .facts import Facts, Served, ShownWindow
from .findings import Kind, clock, dotted, findings, verdicts


def report(facts: Facts) -> str:
    """The whole report as plain text."""
    lines = [
        " · ".join(f"{name} {version}" for name, version in facts.about),
        time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.at)),
    ]
    if facts.note:
        lines += ["", facts.note]
    found = [f"  • {finding.text}" for finding in findings(facts)]
    if facts.clis is None and not facts.note:
        found.append("  Looking for the CLIs that run…")
    elif facts.clis is not None and not found:
        found.append("  Nothing is wrong.")
    if found:
        lines += ["", "Findings", *found]
    for i, window in enumerate(facts.windows):
        lines += [
            "",
            window.title if i else f"{window.title}, this one",
            *_window(window, facts.served.get(window.number)),
        ]
    if facts.clis is not None:
        lines += ["", "Running CLIs", *_running(facts)]
    if facts.libraries:
        lines += ["", "Libraries", *_table(facts.libraries)]
    if facts.messages:
        lines += ["", "Messages", *_table([(clock(at), text) for at, text in facts.messages])]
    return "\n".join(lines) + "\n"


def _window(window: ShownWindow, served: Served | None) -> list[str]:
    lines = ["  not served"] if served is None else []
    rows = _served(served) if served else []
    rows += [("chat", f"{chat.title}: {chat.state}, in {chat.folder}") for chat in window.chats]
    rows += [("to review", line) for line in window.written]
    return [*lines, *_table(rows)]


def _served(served: Served) -> list[tuple[str, str]]:
    rows = [("port", str(served.port))]
    rows += [("folder", folder.path) for folder in served.folders] or [("folder", "none")]
    rows.append(("told", served.sharing.summary))
    for file in served.files:
        when = f", written {clock(file.modified)}" if file.modified else ""
        rows.append(("discovery", f"{file.path}: {file.state}{when}"))
    for session in served.sessions:
        if session.listens:
            ping = "no answer" if session.round_trip is None else f"{session.round_trip * 1000:.1f} ms"
        else:
            ping = "its stream is gone"
        since, last = clock(session.since), clock(session.last_message)
        rows.append(("session", f"{session.cli} since {since}, last message {last}, round trip: {ping}"))
    rows += [("diff", path) for path in served.diffs]
    return rows + [("still to copy", line) for line in served.copying]


def _running(facts: Facts) -> list[str]:
    titles = {window.number: window.title for window in facts.windows}
    lines: list[str] = []
    for verdict in verdicts(facts):
        cli = verdict.cli
        version = f" {dotted(cli.version)}" if cli.version else ""
        where = cli.running.cwd or "a folder that can't be seen"
        if verdict.window is not None:
            state = f"connected to {titles.get(verdict.window, 'a window that is gone')}"
            state += "" if verdict.is_sure else ", or another one in its folder is"
        elif verdict.findings[0].kind == "not connected":
            state = "can reach this editor, is not connected"
        else:
            kinds = ", ".join(dict.fromkeys(_WHY[one.kind] for one in verdict.findings if one.kind in _WHY))
            state = f"not connected: {kinds}"
        lines.append(f"  {cli.family.name}{version}, process {cli.running.pid}, since {clock(cli.running.started)},")
        lines.append(f"    in {where}: {state}")
    return lines or ["  none"]


_WHY: dict[Kind, str] = {
    "above": "runs above the folder",
    "before": "was started before",
    "elsewhere": "runs in another folder",
    "hidden": "its folder can't be seen",
    "ide mode": "its IDE mode is off",
    "old port": "has an old port",
    "other folder": "looks elsewhere for editors",
    "rival": "is connected to another editor",
    "too old": "is too old",
    "variables": "lacks the package's variables",
}


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:{width}}  {text}" for name, text in rows]


def without_secrets(text: str, home: str, user: str) -> str:
    """A report that can be shown to others: without tokens and user name, with `~` for the home folder."""
    text = SECRET.sub("…", text)
    if len(home) > 1:
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
    if user:
        text = re.sub(rf"(?<=[/\\]){re.escape(user)}(?=[/\\\s:,]|$)", "USER", text, flags=re.MULTILINE)
    return text
