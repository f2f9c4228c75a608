"""Texts for shells and for the prompts of CLIs: variables, command lines, mentions of files. Standard library alone."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Literal

from .families import TERMINAL_VARIABLES, Launch

Shell = Literal["sh", "fish", "powershell"]
Command = str | Sequence[str]
"""What a person writes into the settings: a program with its arguments, or a line for the shell."""
Lines = tuple[int, int]
"""The first and the last line, from 1."""

NOT_FOUND = 127
"""The exit status of shells whose command is missing."""

_POSIX = {"sh", "bash", "dash", "ksh", "zsh", "fish"}
"""Shells that understand `login_command`; the CLIs know them too where they look for the editor's process."""
_POWERSHELL_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")
"""PowerShell takes typographic single quotes for plain ones."""
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ENDS_MENTION = re.compile(r"[,\s;!?()\[\]{}]|\.$")
"""What ends a path behind an @ in a CLI's prompt unless it is escaped."""
_ESCAPED = re.compile(r"""([ ()\[\]{};|*?$`'"#&<>!~,])""")
"""What both families unescape, elsewhere than on Windows."""
_NOT_UNESCAPED = re.compile(r"[\\]|[^\S ]|\.$")
"""What Qwen Code can't be told behind an @."""


def quoted(text: str, shell: Shell) -> str:
    """A word of a command line that stands for exactly this text."""
    match shell:
        case "sh":
            return shlex.quote(text)
        case "fish":
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case "powershell":
            return "'" + _POWERSHELL_QUOTES.sub(r"\1\1", text) + "'"


def environment_commands(variables: Mapping[str, str], shell: Shell) -> str:
    """The commands, one to a line, that set environment variables in a shell."""
    form = {"sh": "export {}={}\n", "fish": "set -gx {} {}\n", "powershell": "$env:{} = {}\n"}[shell]
    return "".join(form.format(name, quoted(value, shell)) for name, value in variables.items())


def usual_shell(environment: Mapping[str, str]) -> str:
    """The person's own shell, as far as it understands `login_command`; elsewhere than on Windows."""
    shell = environment.get("SHELL", "")
    if os.path.basename(shell) in _POSIX and os.path.isabs(shell):
        return shell
    return next((path for path in ("/bin/bash", "/bin/zsh") if os.path.exists(path)), "/bin/sh")


def options(launch: Launch, words: Sequence[str], *, resume: bool, is_decided: bool = False) -> list[str]:
    """The options that a CLI gets beside those in the person's own command.

    `is_decided`: the person's settings of the CLI say already when it asks.
    """
    given = {word.partition("=")[0] for word in words}
    ask = [] if is_decided or given & launch.unless else list(launch.ask)
    return [*ask, *(launch.resume if resume else ())]


def words_of(command: Command) -> list[str]:
    """The words of a command, as near as they can be told of a line."""
    if not isinstance(command, str):
        return list(command)
    try:
        return shlex.split(command, posix=os.name != "nt")
    except ValueError:
        return command.split()


def login_command(
    shell: str, launch: Launch, command: Command, *, resume: bool = False, is_decided: bool = False
) -> list[str]:
    """The arguments that run a CLI in a login shell, so that the PATH of its start-up files holds.

    The shell stays the CLI's parent, which looks for the editor from there upwards (qwen-ide.md §2); without the
    `exit` it would let the CLI take its place. A missing program is told in one sentence.
    """
    kind: Shell = "fish" if os.path.basename(shell) == "fish" else "sh"
    words = words_of(command) or [launch.key]
    extra = _joined(options(launch, words, resume=resume, is_decided=is_decided), kind)
    line = command if isinstance(command, str) else _joined(words, kind)
    steps = [f"export {name}={value}" for name, value in TERMINAL_VARIABLES.items()]  # Terminus sets its own
    program = words[0]
    if not _is_odd(program):
        complaint = quoted(f"echo {shlex.quote(not_found(launch, program))}; exit {NOT_FOUND}", kind)
        steps.append(f"type {program} >/dev/null 2>&1 || exec /bin/sh -c {complaint}")
    steps += [f"{line} {extra}".rstrip(), "exit"]
    return [shell, "-i", "-l", "-c", "; ".join(steps)]


def windows_command(launch: Launch, command: Command, *, resume: bool = False, is_decided: bool = False) -> list[str]:
    """The same on Windows, where shells have no start-up files that matter. `call` runs `.cmd` files as well."""
    words = [word.strip('"') for word in words_of(command)] or [launch.key]
    steps = [f"set {name}={value}&&" for name, value in TERMINAL_VARIABLES.items()]
    setting = [word for step in steps for word in step.split(" ")]
    return ["cmd.exe", "/c", *setting, "call", *words, *options(launch, words, resume=resume, is_decided=is_decided)]


def not_found(launch: Launch, program: str) -> str:
    """What is said where a CLI is missing."""
    return (
        f"QwenCompanion: {program} was not found. Install it with: npm install -g {launch.npm_package} - "
        f"or name yours in the setting {launch.key}_command."
    )


def mention(
    path: str, folder: str, launch: Launch | None, lines: Sequence[Lines] = (), *, windows: bool = os.name == "nt"
) -> str | None:
    """What names a file, and lines of it, in the prompt of a CLI that runs in a folder; a blank is at its end.

    The CLI puts the file's text into the prompt for a path behind an @. No CLI knows line numbers there: it would look
    for a file of that name (Qwen Code 0.24.4 and Gemini CLI 0.61 alike, `atCommandProcessor`). So they follow in words.
    A path that can't be said behind an @ is quoted, for the model to read. None for a path that would press keys in the
    terminal, such as a line feed. Without a launch, as for any of them.
    """
    if _CONTROLS.search(path):
        return None
    shown = _below(path, folder)
    if windows:
        shown = shown.replace("\\", "/")
    name = _mentioned(shown, launch, windows=windows) or f'"{shown}"'
    numbers = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in lines)
    if not numbers:
        return f"{name} "
    single = len(lines) == 1 and lines[0][0] == lines[0][1]
    return f"{name} {'line' if single else 'lines'} {numbers} "


def _below(path: str, folder: str) -> str:
    """The path as seen from the folder if it is below it."""
    try:
        inside = PurePath(path).relative_to(PurePath(folder)) if folder else None
    except ValueError:
        inside = None
    if inside is None or not inside.parts:
        return path
    # `session:` and the like mean something else to Qwen Code.
    return str(inside) if ":" not in inside.parts[0] else os.path.join(os.curdir, str(inside))


def _mentioned(path: str, launch: Launch | None, *, windows: bool) -> str | None:
    """The path behind an @, None if it can't be said so."""
    if not windows:
        return None if _NOT_UNESCAPED.search(path) else "@" + _ESCAPED.sub(r"\\\1", path)
    if not _ENDS_MENTION.search(path):
        return "@" + path
    # There, Qwen Code doesn't unescape, and knows no quotes.
    return f'@"{path}"' if launch and launch.quotes_paths else None


def _joined(words: Sequence[str], kind: Shell) -> str:
    return " ".join(quoted(word, kind) if _is_odd(word) else word for word in words)


def _is_odd(word: str) -> bool:
    return not re.fullmatch(r"[\w@%+:,./-]+", word, re.ASCII)
