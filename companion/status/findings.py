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
from typing import NamedTuple

from ..clis.elsewhere import ABLE
from ..clis.families import FAMILIES, CliFamily
from ..clis.shell import on_the_path
from ..editor import WindowId
from ..exclusion import is_encodable, shortened
from ..log import SECRET
from ..visible import visible_name
from .facts import Cli, Facts, PublishedFolder, Served, ShownWindow

CLOCK = 1.5
"""Seconds by which a process may seem older than it is: the system rounds the boot time to seconds."""

MOST_IGNORED = 5
"""Settings of a project that are named."""
INSTALL = f"npm install -g {FAMILIES[0].launch.npm_package}"


class Offer(NamedTuple):
    """A command of the editor that helps, to be clicked or picked by key."""

    caption: str
    command: str
    args: tuple[tuple[str, str], ...] = ()


OPEN_SETTINGS = Offer(
    "Open Settings",
    "edit_settings",
    (
        ("base_file", "${packages}/QwenCompanion/QwenCompanion.sublime-settings"),
        ("default", "// Your own settings of QwenCompanion\n{\n\t$0\n}\n"),
    ),
)
EDIT_PROJECT = Offer("Edit Project", "open_file", (("file", "${project}"),))
ADD_FOLDER = Offer("Add Folder to Project…", "prompt_add_folder")
REPAIR = Offer("Repair Libraries", "qwen_companion_repair_libraries")
GO_TO_CHAT = Offer("Go to the Chat", "qwen_companion_chat")
SHOW_TERMINAL = Offer("Show Terminal", "qwen_companion_show_terminal")
COPY_ENVIRONMENT = Offer("Copy Terminal Environment…", "qwen_companion_copy_environment")
READ_TRANSCRIPTS = Offer("Read Transcripts…", "qwen_companion_read_transcripts")
CONNECT_ELSEWHERE = Offer("Connect a CLI Elsewhere…", "qwen_companion_connect_elsewhere")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, and what to do about it."""

    wrong: str
    """One or more sentences, like `remedy`."""
    remedy: str = ""
    """Empty if `wrong` says it, too."""
    types: str = ""
    """What the person types for that, if it is worth copying."""
    offers: tuple[Offer, ...] = ()
    reason: str = ""
    """Why a CLI isn't connected, in a few words for its own line; empty if there is no more to say."""

    @property
    def text(self) -> str:
        """All that is said of it, in one line, whatever the names in it are."""
        return visible_name(f"{self.wrong} {self.remedy}".rstrip())


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
            wrong = f"{family.name} runs {len(here)} times in folders of this editor, but is connected from {connected}"
            remedy = f"Type “{connect}” in each: it says whether it is connected, and connects it."
            finding = Finding(f"{wrong} of them.", remedy, connect, (SHOW_TERMINAL,))
            found[here[0]] = replace(found[here[0]], findings=(*found[here[0]].findings, finding))
    return found


def findings(facts: Facts) -> list[Finding]:
    """Everything that is wrong."""
    found = [*_of_companion(facts), *_of_machine(facts), *_of_transcripts(facts)]
    for window in facts.windows:
        found += _of_window(window, facts)
    for verdict in verdicts(facts):
        found += verdict.findings
    return list(dict.fromkeys([*found, *_of_remote(facts)]))


def _of_companion(facts: Facts) -> Iterator[Finding]:
    if stopped := facts.stopped:
        yield Finding(stopped.why, offers=(REPAIR,) if stopped.is_of_libraries else ())
    for text in facts.settings:
        yield Finding(text, offers=(OPEN_SETTINGS,))
    for window in facts.windows:
        if window.ignored:
            named = ", ".join(f"“{shortened(name)}”" for name in window.ignored[:MOST_IGNORED])
            more = f" and {len(window.ignored) - MOST_IGNORED} more" if len(window.ignored) > MOST_IGNORED else ""
            wrong = f"{window.title}: its project sets {named}{more}, which no project can."
            yield Finding(wrong, "It is ignored; remove it there.", offers=(EDIT_PROJECT,))


def _of_remote(facts: Facts) -> Iterator[Finding]:
    *others, last = (family.name for family in ABLE)
    remedy = f"“Qwen: Connect a CLI Elsewhere…” connects {', '.join(others)} or {last} there."
    for remote in facts.remote:
        wrong = f"{remote.program} (process {remote.pid}) works {remote.where}: a CLI there does not find this editor."
        yield Finding(wrong, remedy, offers=(CONNECT_ELSEWHERE,))


def _of_machine(facts: Facts) -> Iterator[Finding]:
    for folder in facts.full:
        wrong = f"The disk of {folder} is full. What is accepted or kept there can't be written."
        yield Finding(wrong, "Free some space.")
    is_used = facts.clis or any(one.sessions for one in facts.served.values())
    if facts.clis is not None and not facts.has_cli and not is_used:
        programs = " nor ".join(f"“{family.launch.key}”" for family in FAMILIES)
        wrong = f"No CLI is installed: neither {programs} is {on_the_path()}."
        yield Finding(wrong, f"Install one, for example with: {INSTALL}", INSTALL)
    if facts.clis is not None and facts.lacks_terminus and not is_used:
        wrong = "The package Terminus is not installed, or is disabled, so a CLI can't run in the editor."
        yield Finding(wrong, "Install it: Package Control → Install Package.")
    if facts.lacks_git:
        wrong = "Git is not on the PATH of Sublime Text, so what agents write without a diff can't be reviewed."
        yield Finding(wrong, "Install it, or set “review” to “off”.")


def _of_transcripts(facts: Facts) -> Iterator[Finding]:
    if facts.asked:
        yield Finding(facts.asked, offers=(READ_TRANSCRIPTS,))
    for one in facts.strange:
        running = {dotted(cli.version) for cli in facts.clis or () if cli.family.name == one.cli and cli.version}
        version = one.version or " or ".join(sorted(running)) or "of an unknown version"
        wrong = f"The transcript of {one.cli} {version} isn't understood, so nothing is said of it:"
        yield Finding(f"{wrong} {one.path}.", "An update of QwenCompanion may know its form.")


def _of_window(window: ShownWindow, facts: Facts) -> Iterator[Finding]:
    for chat in window.chats:
        if chat.trouble:
            yield Finding(f"{chat.title}: {chat.trouble}", offers=(GO_TO_CHAT,))
    served = facts.served.get(window.number)
    if served is None:
        if why := facts.unserved.get(window.number):
            yield Finding(f"{window.title}: {why}")
        elif not facts.note and not facts.stopped:
            yield Finding(f"{window.title} has no port.", "Save your work and restart Sublime Text.")
        return
    if not window.folders:
        finds = "only a CLI that runs beside one of its files finds it" if served.folders else "no CLI can find it"
        wrong = f"{window.title} has no folder, so {finds}."
        yield Finding(wrong, "Open one: Project → Add Folder to Project…", offers=(ADD_FOLDER,))
    yield from _of_files(served)
    yield from map(Finding, served.troubles)
    for rival in served.rivals:
        connect = rival.family.habits.connect
        editor = f"{rival.editor} (port {rival.port})"
        # Where the port is told by a variable, a newer file changes nothing: two of them are one too many.
        if rival.family.own_variables:
            wrong = f"{editor} has a lock file for {rival.folder}, too ({rival.path})."
            remedy = f"{rival.family.name} does not choose by itself then: type “{connect}” in it."
            yield Finding(wrong, remedy, connect, (SHOW_TERMINAL,))
        elif rival.is_newer:
            wrong = f"{editor} has a newer lock file for {rival.folder}, which a CLI prefers."
            remedy = f"Click into {window.title}, then start the CLI or type “{connect}” in it."
            yield Finding(wrong, remedy, connect, (SHOW_TERMINAL,))
    yield from _of_terminals(window, facts)


def _of_files(served: Served) -> Iterator[Finding]:
    """Why a CLI can't find the editor or a folder of it."""
    for file in served.files:
        wrong = f"{file.cli} can't find this editor through {PurePath(file.path).parent}:"
        if file.refused:
            remedy = "Put a folder there that belongs to you and that you can write to."
            yield Finding(f"{wrong} {file.refused}.", remedy)
        elif file.failed:
            yield Finding(f"{wrong} {file.failed}.", "The companion tries again every few seconds.")
    for folder in served.folders:
        if not folder.is_there:
            wrong = f"{folder.path} is not on the disk, so no CLI can run in it."
            yield Finding(wrong, "Remove it: Project → Remove Folder.")
        if unable := [family.name for family in FAMILIES if not family.can_name(folder.path)]:
            why = f"contains “{os.pathsep}”" if is_encodable(folder.path) else "is not UTF-8"
            wrong = f"{' and '.join(unable)} can't be told of {folder.path}, because its name {why}."
            yield Finding(wrong, "Rename it.")


def _of_terminals(window: ShownWindow, facts: Facts) -> Iterator[Finding]:
    ports = {str(one.port) for one in facts.served.values()}
    for terminal in window.terminals:
        if old := sorted({port for port in terminal.variables.values() if port.isdigit() and port not in ports}):
            wrong = f"The terminal “{terminal.title}” has the port {old[0]} of an earlier session."
            remedy = "Close it, open a new one and start the CLI there."
            yield Finding(wrong, remedy, offers=(SHOW_TERMINAL, COPY_ENVIRONMENT))


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
    cwd, habits = cli.running.cwd, cli.family.habits
    if cli.version and cli.version < habits.sends_token_since:
        wrong = f"{cli.name} {dotted(cli.version)} sends no token, so it is not let in."
        return [Finding(wrong, f"Update it to {dotted(habits.sends_token_since)} or later.", reason="is too old")]
    if cwd is None:
        wrong = f"The folder of {cli.name} can't be seen."
        return [Finding(wrong, f"Type “{habits.tells}” in it.", reason="its folder can't be seen")]
    folders = [folder for served in facts.served.values() for folder in served.folders]
    here = [folder for folder in folders if is_inside(cwd, folder.real)]
    if not here:
        return [_outside(cli, cwd, folders)]
    if taken := _taken(cli, facts):
        return [taken]
    if found := list(_hindrances(cli, here, facts)):
        return found
    do = f"Type “{habits.connect}” in it" if habits.connect else "It tries again every few seconds"
    wrong = f"{cli.name} can reach this editor but is not connected."
    remedy = f"{do}; if it still finds no editor, quit it and start it again."
    return [Finding(wrong, remedy, habits.connect, (SHOW_TERMINAL,))]


def _outside(cli: Cli, cwd: str, folders: Sequence[PublishedFolder]) -> Finding:
    if below := [folder.path for folder in folders if is_inside(folder.real, cwd)]:
        wrong = f"{cli.name} runs in {cwd}, above {below[0]}."
        remedy = f"Start it in {below[0]}, or open {cwd}."
        return Finding(wrong, remedy, offers=(SHOW_TERMINAL,), reason="runs above the folder")
    wrong = f"{cli.name} runs in {cwd}, which no window has open."
    remedy = "Open that folder, or start it in one that is open."
    return Finding(wrong, remedy, offers=(ADD_FOLDER,), reason="runs in another folder")


def _taken(cli: Cli, facts: Facts) -> Finding | None:
    """Another editor on the same folder has the CLI."""
    habits = cli.family.habits
    for window in facts.windows:
        served = facts.served.get(window.number)
        for rival in served.rivals if served else ():
            if rival.port in (cli.running.ports or ()):
                wrong = f"{cli.name} is connected to {rival.editor} (port {rival.port}), which has its folder open too."
                remedy = f"Click into {window.title}, then {habits.connect_anew}."
                return Finding(wrong, remedy, habits.connect, (SHOW_TERMINAL,), "is connected to another editor")
    return None


def _hindrances(cli: Cli, here: Sequence[PublishedFolder], facts: Facts) -> Iterator[Finding]:
    """Why a CLI in one of our folders, `here`, can't find or doesn't want an editor."""
    if cli.looks_in:
        wrong = f"{cli.name} looks for editors in {cli.looks_in}, since its variables differ from Sublime Text's."
        remedy = "Start both from a terminal with the same variables."
        yield Finding(wrong, remedy, reason="looks elsewhere for editors")
        return
    habits, started, since = cli.family.habits, cli.running.started, min(folder.since for folder in here)
    if started < since - CLOCK and not habits.looks_again:
        could = f"before it could find {here[0].path} here ({clock(since)}), and it looks only once."
        wrong = f"{cli.name} was started at {clock(started)}, {could}"
        remedy = "Quit it and start it again."
        yield Finding(wrong, remedy, offers=(SHOW_TERMINAL,), reason="was started before")
    if cli.ide_mode is False:
        wrong = f"{cli.name} has its IDE mode off (“ide.enabled” in {cli.settings_path})."
        remedy = f"Type “{habits.connect}” in it."
        if not habits.yes_enables:
            remedy += " When it asks whether to connect, “Yes” does not help: it looks for an installer and stays off."
        yield Finding(wrong, remedy, habits.connect, (SHOW_TERMINAL,), "its IDE mode is off")
    variables = cli.running.variables
    if variables is None:
        return
    port = variables.get(cli.family.port_variable)
    if port and port not in {str(served.port) for served in facts.served.values()}:
        wrong = f"{cli.name} was started with the port {port}, which belongs to no window here."
        remedy = "Open a new terminal and start it there."
        yield Finding(wrong, remedy, offers=(SHOW_TERMINAL, COPY_ENVIRONMENT), reason="has an old port")
    until = habits.needs_variables_until
    if not port and until and cli.version and cli.version < until:
        wrong = f"{cli.name} {dotted(cli.version)} finds an editor by its variables alone."
        remedy = f"Run it from the palette (“Run {cli.family.name}”), or update it to {dotted(until)} or later."
        yield Finding(wrong, remedy, offers=(COPY_ENVIRONMENT,), reason="lacks the package's variables")


def _approval(cli: Cli) -> Iterator[Finding]:
    (mode, why), habits = approval_mode(cli), cli.family.habits
    if mode in cli.family.silent_modes:
        wrong = f"{cli.name} was started in the approval mode “{mode}” ({why}), which changes files without a diff."
        remedy = f"To be asked, {habits.to_be_asked}"
        option = f"{habits.mode_option} default" if habits.mode_option else ""
        if option:
            remedy += f" or start it with “{option}”; “{habits.approval_setting}”: “default” in {cli.settings_path}"
            remedy += " sets it for good"
        yield Finding(wrong, f"{remedy}.", option, (SHOW_TERMINAL,))


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
    return "".join(f"{visible_name(line)}\n" for line in lines)


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
        else:
            reasons = ", ".join(dict.fromkeys(one.reason for one in verdict.findings if one.reason))
            state = f"not connected: {reasons}" if reasons else "can reach this editor, is not connected"
        lines.append(f"  {cli.family.name}{version}, process {cli.running.pid}, since {clock(cli.running.started)},")
        lines.append(f"    in {where}: {state}")
    return lines or ["  none"]


def _table(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [f"  {name:{width}}  {text}" for name, text in rows]


def without_secrets(text: str, home: str, user: str) -> str:
    """A report that can be shown to others: without tokens and user name, with `~` for the home folder."""
    text = SECRET.sub("…", text)
    if len(home) > 1:
        text = re.sub(rf"{re.escape(home)}(?![\w-]|\.\w)", "~", text, flags=re.IGNORECASE)
    if user:
        text = re.sub(rf"(?<=[/\\]){re.escape(user)}(?!\w)", "USER", text, flags=re.IGNORECASE)
    return text
