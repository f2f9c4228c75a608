"""Commands written as text: for completions, links and menus."""

from __future__ import annotations

import html
import urllib.parse

from headless import jsonc
from headless.api.types import CommandArgsLike


def format_command(cmd: str, args: CommandArgsLike | None = None) -> str:
    """The command and its arguments as one string: `name {json}`."""
    return cmd if args is None else f"{cmd} {jsonc.dumps(args)}"


def html_format_command(cmd: str, args: CommandArgsLike | None = None) -> str:
    """As `format_command`, escaped for an HTML attribute."""
    return html.escape(format_command(cmd, args), quote=True)


def command_url(cmd: str, args: CommandArgsLike | None = None) -> str:
    """A link that runs the command: `subl:name {json}`, escaped for an HTML attribute."""
    return f"subl:{html_format_command(cmd, args)}"


def parse_command(text: str) -> tuple[str, dict[str, object]]:
    """The command and arguments in a string made by `format_command` or `command_url`.

    Raises ValueError if the arguments are not JSON.
    """
    text = urllib.parse.unquote(html.unescape(text)).removeprefix("subl:")
    name, _, args = text.partition(" ")
    return name, dict(jsonc.loads(args)) if args.strip() else {}
