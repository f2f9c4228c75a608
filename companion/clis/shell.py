"""Texts for shells and for the prompts of CLIs: variables, command lines, mentions of files. Standard library only."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Literal

from ..platforms import programs
from ..visible import is_plain, visible_name
from .families import TERMINAL_VARIABLES, Launch

Shell = Literal["sh", "fish", "powershell"]
Command = str | Sequence[str]
"""A command from the settings: a program with its arguments, or a line for the shell."""
Lines = tuple[int, int]
"""The first and the last line; they count from 1."""

NOT_FOUND = 127
"""A shell's exit status if the command is missing."""

_WINDOWS_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
"""There a backslash is part of a path, and quotes keep spaces."""
_CODE = re.compile(r"([&|<>^()%!])")
"""Characters that `cmd.exe` reads as code."""
_POSIX = {"sh", "bash", "dash", "ksh", "zsh", "fish"}
"""Shells that understand `login_command`. The CLIs also know them when they look for the editor's process."""
_POWERSHELL_QUOTES = re.compile("(['\u2018\u2019\u201a\u201b])")
"""PowerShell treats typographic single quotes like plain ones."""
_ENDS_MENTION = re.compile(r"[,\s;!?()\[\]{}]|\.$")
"""Characters that end a path after an @ in a CLI's prompt unless escaped."""
_ESCAPED = re.compile(r"""([ ()\[\]{};|*?$`'"#&<>!~,])""")
"""Characters that both families unescape, except on Windows."""
_NOT_UNESCAPED = re.compile(r"[\\]|[^\S ]|\.$")
"""Paths that Qwen Code can't read after an @."""


def quoted(text: str, shell: Shell) -> str:
    """The text quoted as one word of a command line."""
    match shell:
        case "sh":
            return shlex.quote(text)
        case "fish":
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case "powershell":
            return "'" + _POWERSHELL_QUOTES.sub(r"\1\1", text) + "'"


def environment_commands(variables: Mapping[str, str], shell: Shell) -> str:
    """The commands that set environment variables in a shell, one per line."""
    form = {"sh": "export {}={}\n", "fish": "set -gx {} {}\n", "powershell": "$env:{} = {}\n"}[shell]
    return "".join(form.format(name, quoted(value, shell)) for name, value in variables.items())


def usual_shell(environment: Mapping[str, str]) -> str:
    """The person's shell if it understands `login_command`, else another one. Not for Windows."""
    shell = environment.get("SHELL", "")
    if os.path.basename(shell) in _POSIX and os.path.isabs(shell) and os.access(shell, os.X_OK):
        return shell
    return next((path for path in ("/bin/bash", "/bin/zsh") if os.path.exists(path)), "/bin/sh")


def options(
    launch: Launch, words: Sequence[str], *, resume: bool, is_decided: bool = False, mcp: str = ""
) -> list[str]:
    """The options to add to the person's own command.

    `is_decided`: the person's settings of the CLI already set the approval mode. `mcp`: a file with MCP servers for it.
    """
    ask = [] if is_decided or chooses_mode(launch, words) else list(launch.ask)
    servers = [launch.mcp, mcp] if mcp and launch.mcp not in _names(words) else []
    return [*ask, *servers, *(launch.resume if resume else ())]


def chooses_mode(launch: Launch, words: Sequence[str]) -> bool:
    """Whether the person's own command says already whether the CLI asks."""
    return bool(_names(words) & launch.unless)


def _names(words: Sequence[str]) -> set[str]:
    return {word.partition("=")[0] for word in words}


def words_of(command: Command) -> list[str]:
    """The words of a command; a good guess if it is a line for the shell."""
    if not isinstance(command, str):
        return list(command)
    if sys.platform == "win32":
        return [word.replace('"', "") for word in _WINDOWS_WORD.findall(command)]
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def login_command(
    shell: str, launch: Launch, command: Command, *, resume: bool = False, is_decided: bool = False, mcp: str = ""
) -> list[str]:
    """The arguments that run a CLI in a login shell, so that the PATH from the shell's start-up files is used.

    The shell stays the CLI's parent, since the CLI looks for the editor among its parents
    (docs/protocols/qwen-ide.md#process-id). Without the `exit` the shell would be replaced by the CLI. A program that
    is not on that PATH is looked for on the editor's, too; if it is missing there as well, one sentence says so.
    """
    kind: Shell = "fish" if os.path.basename(shell) == "fish" else "sh"
    words = words_of(command) or [launch.key]
    extra = _joined(options(launch, words, resume=resume, is_decided=is_decided, mcp=mcp), kind)
    line = command if isinstance(command, str) else _joined(words, kind)
    steps = [f"export {name}={value}" for name, value in TERMINAL_VARIABLES.items()]  # Terminus sets its own
    program = words[0]
    if not _needs_quotes(program):
        steps += _beside(program, kind)
        complaint = quoted(f"echo {shlex.quote(not_found(launch, program))}; exit {NOT_FOUND}", kind)
        steps.append(f"type {program} >/dev/null 2>&1 || exec /bin/sh -c {complaint}")
    steps += [f"{line} {extra}".rstrip(), "exit"]
    return [shell, "-i", "-l", "-c", "; ".join(steps)]


def plain_command(shell: str, words: Sequence[str]) -> list[str]:
    """The arguments that run a command in a login shell; a program that isn't on its PATH comes from the editor's."""
    kind: Shell = "fish" if os.path.basename(shell) == "fish" else "sh"
    return [shell, "-i", "-l", "-c", "; ".join([*_beside(words[0], kind), f"exec {_joined(words, kind)}"])]


def _beside(program: str, kind: Shell) -> list[str]:
    """What lets a login shell find a program that only the editor's PATH has."""
    if _needs_quotes(program) or (found := programs.find(program, os.environ)) is None:
        return []
    return [f'type {program} >/dev/null 2>&1 || export PATH="$PATH":{quoted(os.path.dirname(found), kind)}']


def plain_windows_command(words: Sequence[str]) -> list[str]:
    """`plain_command` for Windows, where start-up files don't matter. Raises LookupError with a sentence."""
    found = programs.resolve(words, os.environ)
    if found is None:
        raise LookupError(f"{words[0]} is not {on_the_path()}.")
    return _called(found) if programs.is_batch_file(found[0]) else found


def windows_command(
    launch: Launch, command: Command, *, resume: bool = False, is_decided: bool = False, mcp: str = ""
) -> list[str]:
    """`login_command` for Windows, where start-up files don't matter. Raises LookupError with a sentence."""
    words = words_of(command) or [launch.key]
    found = programs.resolve(words, os.environ)
    if found is None:
        raise LookupError(not_found(launch, words[0]))
    found += options(launch, words, resume=resume, is_decided=is_decided, mcp=mcp)
    steps = [word for name, value in TERMINAL_VARIABLES.items() for word in ("set", f"{name}={value}&&")]
    if programs.is_batch_file(found[0]):
        interpreter, switch, *call = _called(found)
        return [interpreter, switch, *steps, *call]
    # Terminus quotes the words with spaces, and in quotes these characters mean nothing.
    escaped = [word if " " in word else _CODE.sub(r"^\1", word) for word in found]
    return [programs.interpreter(os.environ), "/c", *steps, *escaped]


def _called(words: Sequence[str]) -> list[str]:
    """The command that runs a batch file. Raises LookupError if that would not be safe."""
    try:
        programs.refuse_unsafe(words)
    except programs.BatchFileError as error:
        raise LookupError(str(error)) from None
    return [programs.interpreter(os.environ), "/c", "call", *words]


def on_the_path() -> str:
    """Where a program is looked for, in words: “on …”."""
    if sys.platform == "win32":
        return "on the PATH"
    return "on the PATH of your login shell or of Sublime Text"


def not_found(launch: Launch, program: str) -> str:
    """The message if a CLI is missing."""
    return (
        f"QwenCompanion: {program} is not {on_the_path()}. Install it with: npm install -g {launch.npm_package} - "
        f"or name yours in the setting {launch.key}_command."
    )


def mention(
    path: str, folder: str, launch: Launch | None, lines: Sequence[Lines] = (), *, windows: bool = os.name == "nt"
) -> str | None:
    """The mention of a file and of lines in it for the prompt of a CLI that runs in a folder. It ends with a space.

    The CLI puts the text of the file after an @ into the prompt. No CLI knows line numbers there: it would look for a
    file of that name (`atCommandProcessor` in Qwen Code 0.24.4 and Gemini CLI 0.61). So the lines follow in words. A
    path that doesn't work after an @ is quoted, for the model to read. None for a path with characters that act or hide
    (`visible`). Without a launch, the text suits every CLI.
    """
    if not is_plain(path):
        return None
    shown = below(path, folder)
    if windows:
        shown = shown.replace("\\", "/")
    return _with_lines(_mentioned(shown, launch, windows=windows) or _quoted_name(shown), lines)


def named(path: str, folder: str, launch: Launch | None, lines: Sequence[Lines] = ()) -> str:
    """The mention of a file, or the name of one that has no mention, for the model to read. It ends with a space."""
    return mention(path, folder, launch, lines) or _with_lines(_quoted_name(os.path.basename(path)), lines)


def _quoted_name(name: str) -> str:
    """A name that is no mention, whatever is in it: a CLI takes no @ for one after a backslash."""
    return f'"{visible_name(name)}"'.replace("@", "\\@")


def _with_lines(name: str, lines: Sequence[Lines]) -> str:
    numbers = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in lines)
    if not numbers:
        return f"{name} "
    single = len(lines) == 1 and lines[0][0] == lines[0][1]
    return f"{name} {'line' if single else 'lines'} {numbers} "


def below(path: str, folder: str) -> str:
    """The path relative to the folder if it is below it."""
    try:
        inside = PurePath(path).relative_to(PurePath(folder)) if folder else None
    except ValueError:
        inside = None
    if inside is None or not inside.parts:
        return path
    # `session:` and the like mean something else to Qwen Code.
    return str(inside) if ":" not in inside.parts[0] else os.path.join(os.curdir, str(inside))


def _mentioned(path: str, launch: Launch | None, *, windows: bool) -> str | None:
    """The path after an @; None if that doesn't work for it."""
    if not windows:
        return None if _NOT_UNESCAPED.search(path) else "@" + _ESCAPED.sub(r"\\\1", path)
    if not _ENDS_MENTION.search(path):
        return "@" + path
    # On Windows, Qwen Code neither unescapes nor reads quotes.
    return f'@"{path}"' if launch and launch.quotes_paths else None


def _joined(words: Sequence[str], kind: Shell) -> str:
    return " ".join(quoted(word, kind) if _needs_quotes(word) else word for word in words)


def _needs_quotes(word: str) -> bool:
    return not re.fullmatch(r"[\w@%+:,./-]+", word, re.ASCII)


def has_cli(commands: Sequence[Command], environment: Mapping[str, str]) -> bool:
    """Whether one of the commands of the settings can be run. A line for the shell counts as if it could."""
    if not commands:
        return True
    for command in commands:
        words = words_of(command)
        is_line = isinstance(command, str) and len(words) > 1
        if is_line or (words and programs.find(words[0], environment)):
            return True
    return False
