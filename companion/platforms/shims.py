r"""The batch files by which npm, pnpm and Yarn start a program on Windows, read instead of run.

`cmd.exe` reads the arguments of a batch file as code: `qwen.cmd --workspace C:\R&D\proj` runs `D\proj` from the current
folder. So the program that the batch file names is started itself. One with a line that is not known here is not
resolved. Sources: npm's package `cmd-shim`, pnpm's `@zkochan/cmd-shim`, and `npm.cmd` and `npx.cmd` of Node.js.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from .files import read

MAX_SIZE = 16 * 1024
"""Bytes. A larger batch file is none of npm's."""

_KNOWN = re.compile(
    r"""\s*+@?(
      | (rem\b|::).*
      | echo\ off | setlocal | endlocal | exit\ /b(\ %errorlevel%)?
      | goto\ :?start | :(start|find_dp0) | call\ :find_dp0
      | set\ "?dp0=%~dp0"?
      | (if\ (not\ )?(exist\ "[^"]*"|defined\ node_path)\ |\)\ else\ )?\(
      | \)
      | set\ "?(PATHEXT|NODE_PATH)=[^&|<>]*
      | for\ /f\ "delims="\ %%F\ in\ \('call\ "%NODE_EXE%"\ "%NPM_PREFIX_JS%"'\)\ do\ \(
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_SET = re.compile(r'\s*@?set "(_prog|\w+_EXE|\w+_JS)=([^"]*)"\s*', re.IGNORECASE)
_RUN = re.compile(
    r"\s*@?(endlocal\ &\ goto\ \#_undefined_\#\ 2>NUL\ \|\|\ title\ %COMSPEC%\ &\ )?"
    r'(?P<words>(?:"[^"]*"|[^\s"&|<>^]+)(?:\s+(?:"[^"]*"|[^\s"&|<>^]+))*?)\s+%\*\s*',
    re.IGNORECASE,
)
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_VARIABLE = re.compile(r"%~?(\w+)%?")
_OPTION = re.compile(r"--?[\w.:=/-]+")


def resolve(path: str, find: Callable[[str], str | None]) -> list[str] | None:
    """The program of a shim, with the arguments before the caller's own; None if the batch file is something else.

    Args:
        path: the absolute path of the batch file.
        find: where a program is that the shim takes from the PATH.
    """
    try:
        data = read(path, MAX_SIZE, follows_links=True).data
    except OSError:
        return None
    lines = data.decode("utf-8", "replace").splitlines()
    folder = os.path.join(os.path.dirname(path), "")
    values: dict[str, list[str]] = {"dp0": [folder]}
    runs: list[str] = []
    for line in lines:
        if found := _SET.fullmatch(line):
            values.setdefault(found[1].lower(), []).append(found[2])
        elif run := _RUN.fullmatch(line):
            runs.append(run["words"])
        elif not _KNOWN.fullmatch(line):
            return None
    candidates = (_command(run, values, find) for run in runs)
    return next((command for command in candidates if command), None)


def _command(line: str, values: dict[str, list[str]], find: Callable[[str], str | None]) -> list[str] | None:
    """The command of a line that runs the program; None if it names something that is not there."""
    words = [quoted or plain for quoted, plain in _WORD.findall(line)]
    program = next((found for each in _expanded(words[0], values) if (found := _program(each, find))), None)
    if program is None:
        return None
    *options, script = words[1:] or [""]
    if not script:
        return [program]
    found = next((each for each in map(_native, _expanded(script, values)) if os.path.isfile(each)), None)
    if found is None or not all(map(_OPTION.fullmatch, options)):
        return None
    return [program, *options, found]


def _program(word: str, find: Callable[[str], str | None]) -> str | None:
    if "\\" not in word and "/" not in word:
        found = find(word)
        return None if found is None or found.lower().endswith((".cmd", ".bat")) else found
    path = _native(word)
    return path if path.lower().endswith(".exe") and os.path.isfile(path) else None


def _expanded(word: str, values: dict[str, list[str]]) -> Iterator[str]:
    """A word with each of the values that its variable may have, in the order of the batch file."""
    found = _VARIABLE.search(word)
    if found is None:
        yield word
        return
    for value in values.get(found[1].lower(), ()):
        if f"%{found[1].lower()}%" not in value.lower():
            yield from _expanded(word[: found.start()] + value + word[found.end() :], values)


def _native(path: str) -> str:
    return os.path.normpath(path.replace("\\", os.sep))
