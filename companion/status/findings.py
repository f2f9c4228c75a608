"""What is wrong, and what to do about it: findings made from facts, and the report as text. Without side effects.

Why a CLI finds no editor: docs/protocols/qwen-ide.md#discovery and docs/protocols/gemini-ide.md#discovery.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

from ..clis.elsewhere import ABLE
from ..clis.families import FAMILIES, CliFamily
from ..clis.shell import on_the_path
from ..editor import WindowId
from ..exclusion import is_encodable, printable, shortened
from ..log import SECRET
from .facts import Cli, Facts, PublishedFolder, Served, ShownWindow

CLOCK = 1.5
"""Seconds by which a process may seem older than it is: the system rounds the boot time to seconds."""

MOST_IGNORED = 5
"""Settings of a project that are named."""
INSTALL = f"npm install -g {FAMILIES[0].launch.npm_package}"
Kind = Literal[
    "above",
    "approval",
    "before",
    "changes",
    "chat",
    "disk",
    "elsewhere",
    "folder refused",
    "hidden",
    "ignored",
    "ide mode",
    "libraries",
    "no cli",
    "no folder",
    "no git",
    "no terminus",
    "not connected",
    "not served",
    "remote",
    "old port",
    "other folder",
    "rival",
    "setting",
    "strange",
    "too old",
    "transcripts",
    "variables",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, and its remedy."""

    kind: Kind
    text: str
    types: str = ""
    """What the person types for that, if it is worth copying."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A running CLI with the window that it is connected to, or the reasons why it isn't connected."""

    cli: Cli
    window: WindowId | None
    findings: tuple[Finding, ...]
    is_sure: bool = True
    """Whether it is this one that is connected: another one in its folder may be."""


def verdicts(facts: Facts) -> list[Verdict]:
    """For each running CLI: is it connected, and if not, why."""
    found = [_verdict(cli, facts) for cli in facts.clis or ()]
    # A Unix socket does not say who is at its other end: the folder does, in which several may run.
    for family in (one for one in FAMILIES if one.door == "socket"):
        here = [at for at, one in enumerate(found) if one.cli.family is family and one.window is not None]
        connected = sum(_sessions(family, served) for served in facts.served.values())
        if connected < len(here):
            for at in here:
                found[at] = replace(found[at], is_sure=False)
            connect = family.habits.connect
            text = f"{family.name} runs {len(here)} times in folders of this editor, but is connected from {connected}"
            text += f" of them. Type “{connect}” in each: it says whether it is connected, and connects it."
            finding = Finding("not connected", text, connect)
            found[here[0]] = replace(found[here[0]], findings=(*found[here[0]].findings, finding))
    return found


def findings(facts: Facts) -> list[Finding]:
    """Everything that is wrong."""
    found = [Finding("setting", text) for text in facts.settings]
    if stopped := facts.stopped:
        found.insert(0, Finding("libraries" if stopped.is_of_libraries else "not served", stopped.why))
    found += [_ignored(window) for window in facts.windows if window.ignored]
    found += [*_of_machine(facts), *_of_transcripts(facts)]
    for window in facts.windows:
        found += [Finding("chat", f"{chat.title}: {chat.trouble}") for chat in window.chats if chat.trouble]
        found += _of_window(window, facts)
    for verdict in verdicts(facts):
        found += verdict.findings
    for remote in facts.remote:
        text = f"{remote.program} (process {remote.pid}) works {remote.where}: a CLI there does not find this editor."
        *others, last = (family.name for family in ABLE)
        able = f"{', '.join(others)} or {last}"
        found.append(Finding("remote", f"{text} “Qwen: Connect a CLI Elsewhere…” connects {able} there."))
    return list(dict.fromkeys(found))


def _of_machine(facts: Facts) -> Iterator[Finding]:
    for folder in facts.full:
        text = f"The disk of {folder} is full. What is accepted or kept there can't be written."
        yield Finding("disk", f"{text} Free some space.")
    is_used = facts.clis or any(one.sessions for one in facts.served.values())
    if facts.clis is not None and not facts.has_cli and not is_used:
        programs = " nor ".join(f"“{family.launch.key}”" for family in FAMILIES)
        text = f"No CLI is installed: neither {programs} is {on_the_path()}."
        yield Finding("no cli", f"{text} Install one, for example with: {INSTALL}", INSTALL)
    if facts.clis is not None and facts.lacks_terminus and not is_used:
        text = "The package Terminus is not installed, or is disabled, so a CLI can't run in the editor."
        yield Finding("no terminus", f"{text} Install it: Package Control → Install Package.")
    if facts.lacks_git:
        text = "Git is not on the PATH of Sublime Text, so what agents write without a diff can't be reviewed."
        yield Finding("no git", f"{text} Install it, or set “review” to “off”.")


def _of_transcripts(facts: Facts) -> Iterator[Finding]:
    if facts.asked:
        yield Finding("transcripts", facts.asked)
    for one in facts.strange:
        running = {dotted(cli.version) for cli in facts.clis or () if cli.family.name == one.cli and cli.version}
        version = one.version or " or ".join(sorted(running)) or "of an unknown version"
        text = f"The transcript of {one.cli} {version} isn't understood, so nothing is said of it"
        yield Finding("strange", f"{text}: {printable(one.path)}. An update of QwenCompanion may know its form.")


def _of_window(window: ShownWindow, facts: Facts) -> Iterator[Finding]:
    served = facts.served.get(window.number)
    if served is None:
        if why := facts.unserved.get(window.number):
            yield Finding("not served", f"{window.title}: {why}")
        elif not facts.note and not facts.stopped:
            yield Finding("not served", f"{window.title} has no port. Save your work and restart Sublime Text.")
        return
    if not window.folders:
        finds = "only a CLI that runs beside one of its files finds it" if served.folders else "no CLI can find it"
        text = f"{window.title} has no folder, so {finds}. Open one: Project → Add Folder to Project…"
        yield Finding("no folder", text)
    yield from _of_files(served)
    for trouble in served.troubles:
        yield Finding("changes", trouble)
    for rival in served.rivals:
        connect = rival.family.habits.connect
        # Where the port is told by a variable, a newer file changes nothing: two of them are one too many.
        if rival.family.own_variables:
            text = f"{rival.editor} (port {rival.port}) has a lock file for {rival.folder}, too ({rival.path})."
            text += f" {rival.family.name} does not choose by itself then: type “{connect}” in it."
            yield Finding("rival", text, connect)
        elif rival.is_newer:
            text = f"{rival.editor} (port {rival.port}) has a newer lock file for {rival.folder}, which a CLI prefers."
            text += f" Click into {window.title}, then start the CLI or type “{connect}” in it."
            yield Finding("rival", text, connect)
    yield from _of_terminals(window, facts)


def _of_files(served: Served) -> Iterator[Finding]:
    """Why a CLI can't find the editor or a folder of it."""
    for file in served.files:
        if file.refused:
            folder = PurePath(file.path).parent
            text = f"{file.cli} can't find this editor through {folder}: {file.refused}."
            yield Finding("folder refused", f"{text} Put a folder there that belongs to you and that you can write to.")
        elif file.failed:
            text = f"{file.cli} can't find this editor through {PurePath(file.path).parent}: {file.failed}."
            yield Finding("folder refused", f"{text} The companion tries again every few seconds.")
    for folder in served.folders:
        if not folder.is_there:
            text = f"{printable(folder.path)} is not on the disk, so no CLI can run in it."
            yield Finding("no folder", f"{text} Remove it: Project → Remove Folder.")
        if unable := [family.name for family in FAMILIES if not family.can_name(folder.path)]:
            why = f"contains “{os.pathsep}”" if is_encodable(folder.path) else "is not UTF-8"
            text = (
                f"{' and '.join(unable)} can't be told of {printable(folder.path)}, because its name {why}. Rename it."
            )
            yield Finding("no folder", text)


def _of_terminals(window: ShownWindow, facts: Facts) -> Iterator[Finding]:
    ports = {str(one.port) for one in facts.served.values()}
    for terminal in window.terminals:
        if old := sorted({port for port in terminal.variables.values() if port.isdigit() and port not in ports}):
            text = f"The terminal “{terminal.title}” has the port {old[0]} of an earlier session."
            yield Finding("old port", f"{text} Close it, open a new one and start the CLI there.")


def _verdict(cli: Cli, facts: Facts) -> Verdict:
    connected = [number for number, served in facts.served.items() if _is_connected(cli, served)]
    window = connected[0] if connected else None
    shows_diff = window is not None and any(
        diff.endswith(f"({cli.family.name})") for diff in facts.served[window].diffs
    )
    found = [] if shows_diff or _is_reviewed_after(cli, window, facts) else list(_approval(cli))
    if window is None:
        found = [*_unreachable(cli, facts), *found]
    return Verdict(cli, window, tuple(found))


def _is_connected(cli: Cli, served: Served) -> bool:
    """Whether a CLI is connected to a window, or one like it in its folder."""
    if cli.family.door == "socket":
        return _sessions(cli.family, served) > 0 and any(
            is_inside(cli.running.cwd or os.sep, folder.real) for folder in served.folders
        )
    return served.port in (cli.running.ports or ())


def _sessions(family: CliFamily, served: Served) -> int:
    return sum(session.cli == family.name and session.listens for session in served.sessions)


def _is_reviewed_after(cli: Cli, window: WindowId | None, facts: Facts) -> bool:
    """Whether the person has chosen to review afterwards what is written where a CLI runs."""
    served = [facts.served[window]] if window is not None else facts.served.values()
    cwd = cli.running.cwd or os.sep
    having = [one for one in served if window is not None or any(is_inside(cwd, each.real) for each in one.folders)]
    return bool(having) and all(one.review == "after" for one in having)


def _unreachable(cli: Cli, facts: Facts) -> list[Finding]:
    """Why a CLI isn't connected; at least one reason."""
    running, cwd = cli.running, cli.running.cwd
    if cli.version and cli.version < cli.family.habits.sends_token_since:
        since = ".".join(map(str, cli.family.habits.sends_token_since))
        text = f"{cli.name} {dotted(cli.version)} sends no token, so it is not let in. Update it to {since} or later."
        return [Finding("too old", text)]
    if cwd is None:
        text = f"The folder of {cli.name} can't be seen. Type “{cli.family.habits.tells}” in it."
        return [Finding("hidden", text)]
    folders = [folder for served in facts.served.values() for folder in served.folders]
    here = [folder for folder in folders if is_inside(cwd, folder.real)]
    if not here:
        return [_outside(cli, cwd, folders)]
    if taken := _taken(cli, facts):
        return [taken]
    if cli.looks_in:
        text = f"{cli.name} looks for editors in {cli.looks_in}, since its variables differ from Sublime Text's."
        return [Finding("other folder", f"{text} Start both from a terminal with the same variables.")]
    found: list[Finding] = []
    since = min(folder.since for folder in here)
    if running.started < since - CLOCK and not cli.family.habits.looks_again:
        text = (
            f"{cli.name} was started at {clock(running.started)}, before it could find {here[0].path} here "
            f"({clock(since)}), and it looks only once. Quit it and start it again."
        )
        found.append(Finding("before", text))
    if cli.ide_mode is False:
        do = f"Type “{cli.family.habits.connect}” in it."
        text = f"{cli.name} has its IDE mode off (“ide.enabled” in {cli.settings_path}). {do}"
        if not cli.family.habits.yes_enables:
            text += " When it asks whether to connect, “Yes” does not help: it looks for an installer and stays off."
        found.append(Finding("ide mode", text, cli.family.habits.connect))
    found += _wrong_port(cli, facts)
    if not found:
        connect = cli.family.habits.connect
        do = f"Type “{connect}” in it" if connect else "It tries again every few seconds"
        text = f"{cli.name} can reach this editor but is not connected. {do}"
        text += "; if it still finds no editor, quit it and start it again."
        found.append(Finding("not connected", text, connect))
    return found


def _outside(cli: Cli, cwd: str, folders: Sequence[PublishedFolder]) -> Finding:
    below = [folder for folder in folders if is_inside(folder.real, cwd)]
    if below:
        text = f"{cli.name} runs in {cwd}, above {below[0].path}. Start it in {below[0].path}, or open {cwd}."
        return Finding("above", text)
    text = f"{cli.name} runs in {cwd}, which no window has open. Open that folder, or start it in one that is open."
    return Finding("elsewhere", text)


def _taken(cli: Cli, facts: Facts) -> Finding | None:
    """Another editor on the same folder has the CLI."""
    for window in facts.windows:
        served = facts.served.get(window.number)
        for rival in served.rivals if served else ():
            if rival.port in (cli.running.ports or ()):
                text = f"{cli.name} is connected to {rival.editor} (port {rival.port}), which has its folder open too."
                habits = cli.family.habits
                text += f" Click into {window.title}, then {habits.connect_anew}."
                return Finding("rival", text, habits.connect)
    return None


def _wrong_port(cli: Cli, facts: Facts) -> Iterator[Finding]:
    variables = cli.running.variables
    if variables is None:
        return
    port = variables.get(cli.family.port_variable)
    if port and port not in {str(served.port) for served in facts.served.values()}:
        text = f"{cli.name} was started with the port {port}, which belongs to no window here."
        yield Finding("old port", f"{text} Open a new terminal and start it there.")
    until = cli.family.habits.needs_variables_until
    if not port and until and cli.version and cli.version < until:
        text = f"{cli.name} {dotted(cli.version)} finds an editor by its variables alone. Run it from the palette"
        yield Finding("variables", f"{text} (“Run {cli.family.name}”), or update it to {dotted(until)} or later.")


def _approval(cli: Cli) -> Iterator[Finding]:
    (mode, why), habits = approval_mode(cli), cli.family.habits
    if mode in cli.family.silent_modes:
        text = (
            f"{cli.name} was started in the approval mode “{mode}” ({why}), which changes files without a diff. "
            f"To be asked, {habits.to_be_asked}"
        )
        option = f"{habits.mode_option} default" if habits.mode_option else ""
        if option:
            text += (
                f" or start it with “{option}”; "
                f"“{habits.approval_setting}”: “default” in {cli.settings_path} sets it for good"
            )
        yield Finding("approval", f"{text}.", option)


def _ignored(window: ShownWindow) -> Finding:
    """A project that would make views of ours."""
    named = ", ".join(f"“{shortened(name)}”" for name in window.ignored[:MOST_IGNORED])
    more = f" and {len(window.ignored) - MOST_IGNORED} more" if len(window.ignored) > MOST_IGNORED else ""
    text = f"{window.title}: its project sets {named}{more}, which no project can. It is ignored; remove it there."
    return Finding("ignored", text)


def approval_mode(cli: Cli) -> tuple[str, str]:
    """The approval mode that a CLI was started in, and where it comes from."""
    arguments = cli.running.arguments
    for i, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == cli.family.habits.mode_option:
            return (value if equals else "".join(arguments[i + 1 : i + 2])), name
        for option in (argument, "=".join(arguments[i : i + 2])):
            if option in cli.family.silent_options:
                return ("yolo" if option == "-y" else option.removeprefix("--")), option
    if cli.approval:
        variables = cli.running.variables or {}
        named = [name for name in cli.family.habits.mode_variables if variables.get(name)]
        return cli.approval, named[0] if named else "its settings"
    silent_since = cli.family.habits.silent_since
    if silent_since is not None and (cli.version is None or cli.version >= silent_since):
        return "auto", f"its default since {dotted(silent_since)}" if silent_since else "its default"
    return "default", "its default"


def is_inside(path: str, folder: str) -> bool:
    """Whether a path is in a folder or is that folder. Both must be without links."""
    return PurePath(path).is_relative_to(folder)


def clock(at: float) -> str:
    """A Unix time as the local time of day."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def dotted(version: Sequence[int]) -> str:
    """A version with dots."""
    return ".".join(map(str, version))


# The status report as text, for reading and, without secrets, for passing on.


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
