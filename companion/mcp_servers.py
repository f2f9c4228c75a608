"""The MCP servers that the person gives to every agent: the setting `agents_mcp_servers`.

No project can set it. Secrets are named, and come from the environment. Standard library only: the UI thread imports
it.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

from .json_text import as_object
from .variables import named_variables
from .web import is_safe

_NAME = re.compile(r"[\w][\w .-]{0,63}")
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_SECRET = re.compile(
    r"TOKEN(?!S(?![a-z]))|SECRET|PASSW|PASSPHRASE|(?<![a-z])(?:PASS|PAT|PWD?|SAS|SIG|JWT)(?![a-z])|(?<![a-z])KEY(?![a-z])"
    r"|(?:AI|API|ACCESS|ACCOUNT|SIGNING|SHARED)[_-]?KEY|SESSION[_-]?ID|AUTH(?!OR(?!I))|BEARER|CREDENTIAL|COOKIE|PRIVATE|SIGNATURE",
    re.IGNORECASE,
)
"""In the name of a variable, a header, an argument or a part of an address: its value is a secret."""
_LOOKS_SECRET = re.compile(
    r"\b(?:bearer|basic)\s+\S|-----BEGIN|(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://[^/?#\s]{1,500}@"
    r"|(?:^|[^a-z0-9])(?:sk|pk|rk)[-_][a-z0-9]|(?:^|[^a-z0-9])(?:gh[oprsu]_|github_pat_|glpat-|npm_|pypi-|hf_|xox[a-z]-|lin_api_|ntn_|secret_|do[opr]_v1_)[a-z0-9]"
    r"|(?:^|[^a-z0-9])(?:(?:AKIA|ASIA)[0-9A-Z]{12}|AIza[0-9a-z_-]{20}|ya29\.|eyJ[a-z0-9_-]{20})"
    r"|//hooks\.slack\.com/services/\w|//discord(?:app)?\.com/api/webhooks/\w",
    re.IGNORECASE,
)
"""A text that is a secret whatever it is called: the forms of well-known services, and a name with a password."""
_ROW = re.compile(r"(?<![\w#@-])(?<!sha256:)(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{32,}(?![\w-])", re.IGNORECASE)
"""A long row of letters and digits, such as an address has in its path: a secret, unless it is a commit or digest."""
_VALUE = r"""(?=[\s\\"']{0,9}(?:(?:bearer|basic|digest|token)\s{1,9})?([^\s\\"'&;,]{0,200}))"""
_SETS = (
    # NAME=value, name: value, "name":"value", --name=value, ?name=value; /name:value, which is no mount of a folder
    re.compile(
        rf"""(?:^/(?=\w+[=:][^/])|(?<![\w./\\-]))(-{{0,2}}\w[\w.-]{{0,99}})\\{{0,3}}["']?\s{{0,9}}[=:](?!//){_VALUE}""",
        re.IGNORECASE,
    ),
    # --name value
    re.compile(rf"(?<!\S)(--?\w[\w.-]{{0,99}})\s{{1,9}}{_VALUE}", re.IGNORECASE),
)
"""What sets something in a text, with the value; the search goes on in the value."""
_OPTION = re.compile(r"--?\w[\w.-]*")
_USERS = {"-u", "--user", "--proxy-user"}
"""Options that take a login, as curl's do."""
_LOGIN = re.compile(r"[^:/\s]+:(?!\d+\Z)[^$/\s]")
"""A name with its password, and no numbers of a user and a group."""
_PLAIN = {"", "bearer", "basic", "digest", "token", "true", "false", "null", "none"}
"""What may stand beside a variable, or in place of a secret."""
_KEYS = {"command", "environment", "url", "headers"}


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server that runs as a process beside the agent, or that is reached by HTTP."""

    name: str
    command: tuple[str, ...] = ()
    """The program and its arguments; empty for a server by HTTP."""
    url: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables of its environment, or headers.

    `${NAME}` in them, in the command or in the address is a variable of the login environment.
    """

    @property
    def words(self) -> str:
        """What the person says yes to: a line without any secret."""
        named = f" with {named_variables(self.values)}" if self.values else ""
        return f"{self.name}: {shlex.join(self.command) or self.url}{named}"

    @property
    def variables(self) -> list[str]:
        """The variables of the environment that it names."""
        return [name for text in (*self.command, self.url, *self.values.values()) for name in _VARIABLE.findall(text)]

    def filled(self, environment: Mapping[str, str]) -> McpServer:
        """With what the environment has. Raises KeyError with the name of a variable that isn't there."""

        def fill(text: str) -> str:
            return _VARIABLE.sub(lambda found: environment[found[1]], text)

        # In an address nothing else may become of it than a part of what stands there.
        url = _VARIABLE.sub(lambda found: quote(environment[found[1]], safe=""), self.url)
        values = {name: fill(value) for name, value in self.values.items()}
        return McpServer(self.name, tuple(map(fill, self.command)), url, values)


def read_mcp_servers(value: object) -> tuple[tuple[McpServer, ...], list[str]]:
    """The servers of a setting's value, and a sentence on each entry that is wrong."""
    if not isinstance(value, dict):
        return (), ["“agents_mcp_servers” must be an object in braces; none is used."]
    found: list[McpServer] = []
    wrong: list[str] = []
    for name, entry in cast("dict[str, Any]", value).items():
        fields = as_object(entry)
        if why := _wrong(name, fields):
            wrong.append(f"“agents_mcp_servers”: “{name[:64]}” {why}.")
            continue
        values = dict(fields.get("headers" if "url" in fields else "environment", {}))
        found.append(McpServer(name, tuple(fields.get("command", ())), fields.get("url", ""), values))
    return tuple(found), wrong


def _wrong(name: str, fields: Mapping[str, Any]) -> str:
    """Why an entry can't be used, in words that follow its name; empty if it can."""
    if not _NAME.fullmatch(name):
        return "is not a name for a server"
    if unknown := sorted(set(fields) - _KEYS):
        return f"has the unknown key “{unknown[0]}”"
    is_web = "url" in fields
    if is_web == ("command" in fields):
        return "needs either a “command” or a “url”"
    if "headers" in fields and not is_web:
        return "has “headers” without a “url”"
    if "environment" in fields and is_web:
        return "has an “environment” without a “command”"
    return (_wrong_address if is_web else _wrong_command)(fields)


def _wrong_address(fields: Mapping[str, Any]) -> str:
    url: object = fields["url"]
    if not isinstance(url, str) or not is_safe(_VARIABLE.sub("x", url)) or _VARIABLE.search(urlsplit(url).netloc):
        return "has a “url” that is not one of https, or of this computer"
    return _secret_in(url, "the address") or _wrong_values(fields.get("headers", {}))


def _wrong_command(fields: Mapping[str, Any]) -> str:
    command: object = fields["command"]
    if not isinstance(command, list) or not command or not all(map(_is_text, cast("list[object]", command))):
        return "needs a “command”: a list of a program and its arguments"
    words = cast("list[str]", command)
    return _secret_in_words(words) or _wrong_values(fields.get("environment", {}))


def _wrong_values(values: object) -> str:
    if not isinstance(values, dict):
        return "has values that are not an object of strings"
    for name, value in cast("dict[str, object]", values).items():
        if not isinstance(value, str) or not name or not (name + value).isprintable():
            return "has values that are not an object of strings"
        if _is_secret(name, value):
            return _refused(name)
        if why := _secret_in(value, name):
            return why
    return ""


def _secret_in_words(words: Sequence[str]) -> str:
    """Why arguments are refused: one of them has a secret, or is one by the option before it, as in `--token abc`."""
    before = ""
    for word in words:
        if why := _secret_in(word, before or "command"):
            return why
        if _is_secret(before, word):
            return _refused(before)
        before = word if _OPTION.fullmatch(word) else ""
    return ""


def _secret_in(text: str, where: str) -> str:
    """Why a text is refused: a part of it sets a secret, whatever else is in it, such as JSON or a line of a shell."""
    for spelling in (unquote(text), text):
        for name, value in (found for pattern in _SETS for found in pattern.findall(spelling)):
            if _is_secret(name, value):
                return _refused(name)
        if _is_secret("", spelling) or _ROW.search(_VARIABLE.sub(" ", spelling)):
            return _refused(where)
    return ""


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is a secret that stands there itself. This is the rule, wherever it stands."""
    rest = _VARIABLE.sub("", value).strip()
    if rest.casefold() in _PLAIN:
        return False
    name = unicodedata.normalize("NFKC", name)
    if _SECRET.search(name) or (name in _USERS and _LOGIN.match(value)):
        return True
    return bool(_LOOKS_SECRET.search(_VARIABLE.sub(" ", value)))


def _refused(name: str) -> str:
    return f"has a secret in “{name[:64]}”: write “${{NAME}}”, the variable of your environment that holds it"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
