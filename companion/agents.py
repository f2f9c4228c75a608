"""The agents that a chat may start on their standard input and output, the MCP servers that each gets, and variables.

The person's setting `agents` adds to the presets and to what they have installed from the registry; the servers are in
`agents_mcp_servers`. No project can set them. Standard library only: the UI thread imports it.
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import quote, unquote, urlsplit

from .json_text import as_object
from .visible import is_safe

DAEMON_AGENT = "Qwen Code"
"""What the agent of `qwen serve` is called: that does not say a name."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """How an agent is started."""

    name: str
    """What the person calls it. Once it runs, it says its own name."""
    command: tuple[str, ...]
    """The program and its arguments."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What it gets in addition to the person's login environment. It may hold a key."""
    letter: str = ""
    """Stands for it where there is little room; empty for the first one of its name."""
    install: str = ""
    """The command that installs it, from its own documents."""

    @property
    def icon(self) -> str:
        """The letter that stands for it."""
        return self.letter or self.name[:1].upper()


PRESETS = (
    # qwenlm.github.io/qwen-code-docs, “ACP”
    AgentCommand("Qwen Code", ("qwen", "--acp"), install="npm install -g @qwen-code/qwen-code"),
    # geminicli.com/docs, “ACP mode”
    AgentCommand("Gemini CLI", ("gemini", "--acp"), install="npm install -g @google/gemini-cli"),
    # github.com/agentclientprotocol/claude-agent-acp
    AgentCommand("Claude Agent", ("claude-agent-acp",), install="npm install -g @agentclientprotocol/claude-agent-acp"),
    # github.com/agentclientprotocol/codex-acp
    AgentCommand("Codex", ("codex-acp",), letter="X", install="npm install -g @agentclientprotocol/codex-acp"),
    # docs.github.com/copilot, “ACP server”
    AgentCommand("Copilot CLI", ("copilot", "--acp", "--stdio"), install="npm install -g @github/copilot"),
    # opencode.ai/docs/acp
    AgentCommand("OpenCode", ("opencode", "acp"), install="npm install -g opencode-ai"),
    # github.com/MoonshotAI/kimi-code, “kimi acp”
    AgentCommand("Kimi Code", ("kimi", "acp"), install="npm install -g @moonshot-ai/kimi-code"),
    # github.com/mistralai/mistral-vibe, “ACP”
    AgentCommand("Mistral Vibe", ("vibe-acp",), install="uv tool install mistral-vibe"),
)
"""Those of the protocol's own list whose start is documented, each with the place of that document."""

_KEYS = {"command", "environment", "letter"}


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent that was installed from the registry."""

    id: str
    """The registry's."""
    version: str
    agent: AgentCommand
    folder: str = ""
    """What was unpacked for it; empty for a package, which its runner fetches."""

    def to_plain(self) -> dict[str, Any]:
        """As plain data, for `read_installed`."""
        agent = self.agent
        return {
            "name": agent.name,
            "version": self.version,
            "command": list(agent.command),
            "environment": dict(agent.environment),
            "folder": self.folder,
        }


def read_installed(value: object) -> dict[str, InstalledAgent]:
    """The agents that were installed, by the registry's id. What can't be read is left out."""
    found: dict[str, InstalledAgent] = {}
    for identifier, entry in as_object(value).items():
        fields = as_object(entry)
        name, version, folder = (fields.get(key) for key in ("name", "version", "folder"))
        plain = {key: fields[key] for key in _KEYS & fields.keys()}
        if _is_text(name) and isinstance(version, str) and isinstance(folder, str) and not _wrong(plain):
            agent = AgentCommand(str(name), tuple(plain["command"]), dict(plain.get("environment", {})))
            found[identifier] = InstalledAgent(identifier, version, agent, folder)
    return found


def read_agents(value: object, installed: Iterable[AgentCommand] = ()) -> tuple[tuple[AgentCommand, ...], list[str]]:
    """The agents of a setting's value with the presets, and a sentence on each entry that is wrong.

    An entry is a name with a command, or with null, which removes a preset or one of the `installed` agents. Those
    replace the presets of their names.
    """
    found = {agent.name: agent for agent in (*PRESETS, *installed)}
    if not isinstance(value, dict):
        return tuple(found.values()), ["“agents” must be an object in braces; only the presets are used."]
    wrong: list[str] = []
    for name, entry in cast("dict[str, Any]", value).items():
        if entry is None:
            found.pop(name, None)
            continue
        before = found.pop(name, None)
        if why := _wrong(entry):
            wrong.append(f"“agents”: “{name}” {why}.")
            continue
        found[name] = AgentCommand(
            name,
            tuple(entry["command"]),
            dict(entry.get("environment", {})),
            str(entry.get("letter", "")),
            before.install if before and before.command[:1] == tuple(entry["command"][:1]) else "",
        )
    return tuple(found.values()), wrong


def _wrong(entry: object) -> str:
    """Why an entry can't be used, in words that follow its name; empty if it can."""
    if not isinstance(entry, dict):
        return "must be an object in braces, or null"
    fields = cast("dict[str, Any]", entry)
    command: object = fields.get("command")
    if not isinstance(command, list) or not command or not all(map(_is_text, cast("list[object]", command))):
        return "needs a “command”: a list of a program and its arguments"
    environment: object = fields.get("environment", {})
    if not isinstance(environment, dict) or not all(map(_is_plain, cast("dict[str, object]", environment).values())):
        return "has an “environment” that is not an object of strings"
    letter: object = fields.get("letter", "")
    if not isinstance(letter, str) or len(letter) > 1:
        return "has a “letter” that is not one letter"
    unknown = sorted(set(fields) - _KEYS)
    return f"has the unknown key “{unknown[0]}”" if unknown else ""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


# Variables of a program's environment that make another program of it: one rule for all who name variables.
#
# An entry of the registry and an agent's login may set none of them; in a question about the person's own agents and
# servers they are named as what they are.

_NAME_OF_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_DECIDING: Mapping[str, re.Pattern[str]] = {
    what: re.compile("|".join(names.split()), re.IGNORECASE)
    for what, names in {
        "which programs run": r"""
            PATH PATHEXT COMSPEC \w*SHELL \w+_SHELL_PREFIX SYSTEMROOT WINDIR \w*EDITOR FCEDIT VISUAL PAGER
            \w+PAGER \w*BROWSER
            LESSOPEN LESSCLOSE TAR_OPTIONS FZF_\w+ CCACHE_PREFIX\w* SVN_SSH
            GIT_.* SSH_.* \w*ASKPASS \w+_RSH HG\w+ NPM_.* YARN_.* PNPM_.* COREPACK_.* UV_.* PIP_.*
            PIPX_.* CC CXX CPP LD AR RUSTC\w* CARGO_.* GO(?:FLAGS|PROXY|PATH|ROOT|TOOLCHAIN|ENV|BIN) MAKE\w* \w*FLAGS
            CMAKE_.* GCC_EXEC_PREFIX RUSTUP_.* NIX_.* \w+_PYTHON PKG_CONFIG\w* MISE_.* ASDF_.* NVM_.* FNM_.* VOLTA_.*
            RBENV_.* PYENV_.* VIRTUAL_ENV CONDA_.* INIT_CWD PROGRAMFILES\w* COMMONPROGRAM\w* SYSTEMDRIVE""",
        "which code is loaded": r"""
            LD_.* LDR_.* _RLD\w* DYLD_.* LIBPATH SHLIB_PATH GCONV_PATH GLIBC_.* OPENSSL_.* NODE_.* ELECTRON_.* BUN_.*
            DENO_.* COR_.* __COMPAT_LAYER PYTHON.* PERL.* RUBY.* GEM_.* BUNDLE_.* _?JAVA_.* JDK_.* CLASSPATH
            DOTNET_.* CORECLR_.* COMPLUS_.* R_(?:PROFILE|ENVIRON)\w* ELIXIR_.* __PYVENV_.* OCL_ICD_.* \w+SAN_OPTIONS
            LUA_.* PHPRC PHP_.* TS_NODE_.* TSX_.* BABEL_.* VSCODE_.* MAVEN_.* GRADLE_.* JULIA_.* ERL_.* TCL\w*
            GTK\w*_(?:MODULES|PATH) GIO_.* GDK_PIXBUF_.* QT_.*PATH\w* LOCPATH TERMINFO\w* TERMCAP
            \w*VIMINIT MYVIMRC NVIM_.* EXINIT VIM(?:RUNTIME)? EMACSLOADPATH IPYTHONDIR R_LIBS\w* \w+_OPTS
            MALLOC_.* VK_.* LIBGL_.*""",
        "what a shell does first": r"""
            BASH_.* BASHOPTS SHELLOPTS ENV ZDOTDIR FPATH CDPATH GLOBIGNORE IFS PS[0-4]
            PROMPT_COMMAND FISH_.* PSMODULEPATH""",
        "where settings and keys are read": r"""
            HOME USERPROFILE HOMEDRIVE HOMEPATH \w*APPDATA PROGRAMDATA ALLUSERSPROFILE XDG_.* \w+_HOME
            \w+_CONFIG(?:_CONTENT)?
            \w+_(?:CONFIG|SETTINGS|DEFAULTS)_(?:DIR|FILE|PATH) \w+_CREDENTIALS\w* KUBECONFIG WGETRC NETRC INPUTRC
            LESS\w* TMPDIR TEMP TMP""",
        "where everything is sent": r"""
            \w+_PROXY SSL.* \w+_CA_BUNDLE \w+_URL \w+_ENDPOINT \w+_API_BASE \w+_HOST HOSTALIASES RES_OPTIONS
            LOCALDOMAIN RESOLV_.* DBUS_.*""",
        "what an agent may do without a question": r"\w*SANDBOX SEATBELT_\w+ \w+_PERMISSIONS? \w*YOLO\w*",
        "where files are looked for": r"\w*PATHS?",
    }.items()
}
"""What variables decide, by their names in any case."""


def decides(variable: str) -> str:
    """What a variable of a program's environment decides, in words that follow “decides”; empty for most."""
    return next((what for what, names in _DECIDING.items() if names.fullmatch(variable)), "")


def is_variable(name: str) -> bool:
    """Whether this is the name of a variable on every system."""
    return bool(_NAME_OF_VARIABLE.fullmatch(name))


def named_variables(names: Iterable[str]) -> str:
    """The names of variables for a question in one line: first those that decide something, each with what that is.

    A question shows a limited number of characters, and these are the ones to be seen.
    """
    names = sorted(names, key=lambda name: not decides(name))
    return ", ".join(f"{name} (decides {what})" if (what := decides(name)) else name for name in names)


# The MCP servers that the person gives to every agent. Secrets are named, and come from the environment.

_NAME = re.compile(r"[\w][\w .-]{0,63}")
_FILLED = re.compile(r"\$\{([A-Za-z_]\w*)\}")
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
_SERVER_KEYS = {"command", "environment", "url", "headers"}


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
        return [name for text in (*self.command, self.url, *self.values.values()) for name in _FILLED.findall(text)]

    def filled(self, environment: Mapping[str, str]) -> McpServer:
        """With what the environment has. Raises KeyError with the name of a variable that isn't there."""

        def fill(text: str) -> str:
            return _FILLED.sub(lambda found: environment[found[1]], text)

        # In an address nothing else may become of it than a part of what stands there.
        url = _FILLED.sub(lambda found: quote(environment[found[1]], safe=""), self.url)
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
        if why := _wrong_server(name, fields):
            wrong.append(f"“agents_mcp_servers”: “{name[:64]}” {why}.")
            continue
        values = dict(fields.get("headers" if "url" in fields else "environment", {}))
        found.append(McpServer(name, tuple(fields.get("command", ())), fields.get("url", ""), values))
    return tuple(found), wrong


def _wrong_server(name: str, fields: Mapping[str, Any]) -> str:
    """Why an entry can't be used, in words that follow its name; empty if it can."""
    if not _NAME.fullmatch(name):
        return "is not a name for a server"
    if unknown := sorted(set(fields) - _SERVER_KEYS):
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
    if not isinstance(url, str) or not is_safe(_FILLED.sub("x", url)) or _FILLED.search(urlsplit(url).netloc):
        return "has a “url” that is not one of https, or of this computer"
    return _secret_in(url, "the address") or _wrong_values(fields.get("headers", {}))


def _wrong_command(fields: Mapping[str, Any]) -> str:
    command: object = fields["command"]
    if not isinstance(command, list) or not command or not all(map(_is_printable_text, cast("list[object]", command))):
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
        if _is_secret("", spelling) or _ROW.search(_FILLED.sub(" ", spelling)):
            return _refused(where)
    return ""


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is a secret that stands there itself. This is the rule, wherever it stands."""
    rest = _FILLED.sub("", value).strip()
    if rest.casefold() in _PLAIN:
        return False
    name = unicodedata.normalize("NFKC", name)
    if _SECRET.search(name) or (name in _USERS and _LOGIN.match(value)):
        return True
    return bool(_LOOKS_SECRET.search(_FILLED.sub(" ", value)))


def _refused(name: str) -> str:
    return f"has a secret in “{name[:64]}”: write “${{NAME}}”, the variable of your environment that holds it"


def _is_printable_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and value.isprintable()
