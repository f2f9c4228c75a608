"""The settings of the package: one table of all settings, and how a value is checked.

A test compares the settings file and its schema with this table. Standard library only: the UI thread imports it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

from .agents import PRESETS, AgentCommand, McpServer, read_agents, read_mcp_servers
from .exclusion import DEFAULT_EXCLUDE, EVERYTHING, LEVELS, Level, Sharing, read_globs, shortened, stricter

_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
MOST_MAPS = 1000
"""Folders in `path_maps`, of the person or of a project."""
MOST_PROBLEMS = 20
"""Problems of one file that are told."""
FILE = "QwenCompanion.sublime-settings"
PROJECT_KEY = "QwenCompanion"
"""The key in a project's `settings` that holds the package's settings for that project."""


Review = Literal["before", "after", "off"]
"""Before they are written as well as afterwards; only afterwards; only before, so that no snapshots are taken."""
REVIEWS: tuple[Review, ...] = ("off", "after", "before")
"""From the one that reviews least."""

TellUndone = Literal["chats", "always", "never"]
"""With the next prompt of a chat; with comments for a CLI in a terminal, too; or not at all."""

UndoWhileWorking = Literal["wait", "now"]

ReadTranscripts = Literal["connected", "off", "always"]
"""Those of the CLIs that are connected; none; or those of all CLIs that are known."""

AGENT_TOOLS = (
    "openDiff",
    "getContext",
    "getDiagnostics",
    "getOpenFiles",
    "getSelection",
    "findSymbol",
    "findReferences",
    "openFile",
    "pointOut",
)
"""The tools of the window's own MCP server, in the order in which it lists them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the companion itself needs."""

    is_trusted: bool | None = None
    """The value of `isTrusted`; None leaves the field out, so that the CLI's own folder trust decides."""
    show_diffs: bool = True
    """Whether diffs are offered to the CLIs. Otherwise they ask only in their terminals."""
    review: Review = "before"
    """When changes are reviewed."""
    tell_undone: TellUndone = "chats"
    """Where an agent is told what the person has undone of its changes."""
    undo_while_working: UndoWhileWorking = "wait"
    """When a change is undone while a turn runs in its folder: after that, or at once."""
    read_transcripts: ReadTranscripts = "connected"
    """Of which CLIs in terminals the transcripts are read, to know why a line was written."""
    legacy_discovery_files: bool = True
    """Whether to write the files with other names that Qwen Code reads before 0.5.2."""
    max_marked_characters: int = 5 * 1024 * 1024
    """A longer text, in characters, opens without marks."""
    max_marked_lines: int = 100_000
    """A text with more lines opens without marks."""
    context: Level = "all"
    """How much a CLI or a chat is told by itself."""
    context_exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    """Globs of files of which it is told nothing."""
    path_maps: tuple[tuple[str, str], ...] = ()
    """Folders here, each with what it is called where a CLI runs that is somewhere else."""
    agents_use_editor: bool = False
    """Whether agents, and CLIs that have it in their configuration, are offered the window's own MCP server."""
    agents_tools: tuple[str, ...] = AGENT_TOOLS
    """The names of the tools that it offers."""
    agents_new_problems: bool = True
    """Whether an answer tells the problems that a change of the same agent has made."""

    @property
    def sharing(self) -> Sharing:
        """What may be told of the files."""
        return Sharing(self.context, self.context_exclude)


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """The settings of the chat, as in the file. The environment supplies what they leave empty."""

    enabled: bool = False
    managed: bool = True
    """Whether to start a private `qwen serve` if neither the settings nor the environment give an address."""
    url: str = ""
    command: str | tuple[str, ...] = ("qwen",)
    """The command that runs Qwen Code."""
    agents: tuple[AgentCommand, ...] = PRESETS
    """The agents that a chat may start, besides the daemon."""
    agents_use_editor: bool = False
    """Whether such an agent is offered the window's own MCP server."""
    agents_all_folders: bool = True
    """Whether such an agent gets all folders of the window."""
    agents_mcp_servers: tuple[McpServer, ...] = ()
    """The person's own MCP servers, which every such agent gets."""


# The person's own actions: prompts with the place in the editor, and who gets them. The setting `actions` adds to these
# presets; no project can set it.

Target = Literal["", "cli", "chat", "new_chat"]
"""The CLI or the chat used last; a CLI in a terminal; a chat; a chat that is opened for it."""
TARGETS: tuple[Target, ...] = ("cli", "chat", "new_chat")
_PROMPT_VARIABLES = ("selection", "file", "problems", "symbol", "question")
"""What a prompt may have after a `$`."""
_PROMPT_VARIABLE = re.compile(rf"\$({'|'.join(_PROMPT_VARIABLES)})\b|\$\$")
_ACTION_KEYS = {"prompt", "target"}
ASK = "Ask…"


@dataclass(frozen=True, slots=True)
class Action:
    """A prompt to send about what the person looks at."""

    name: str
    prompt: str
    """With variables: `$selection`, `$file`, `$problems`, `$symbol`, and `$question`, for which the person is asked."""
    target: Target = ""

    def uses(self, variable: str) -> bool:
        """Whether the prompt has a variable."""
        return any(found[1] == variable for found in _PROMPT_VARIABLE.finditer(self.prompt))

    def filled(self, values: Mapping[str, str]) -> str:
        """The prompt with the values of its variables. What a value has is no variable; `$$` is a `$`."""
        return _PROMPT_VARIABLE.sub(lambda found: values.get(found[1], "") if found[1] else "$", self.prompt).strip()


ACTIONS = (
    Action(ASK, "$question\n\n$selection"),
    Action("Explain", "Explain what this does, and why it is done this way:\n\n$selection"),
    Action("Fix Problems", "Fix these problems in $file:\n\n$problems"),
    Action("Write Tests", "Write tests for $symbol in $file, in the style of the tests that are there.\n\n$selection"),
    Action("Review Selection", "Review this. Name mistakes first, each with its line:\n\n$selection"),
    Action("Document", "Write the documentation of $symbol in $file, in the style of the project:\n\n$selection"),
)


def read_actions(value: object) -> tuple[tuple[Action, ...], list[str]]:
    """The actions of a setting's value with the presets, and a sentence on each entry that is wrong.

    An entry is a name with a prompt and perhaps a target, or with null, which removes a preset.
    """
    found = {action.name: action for action in ACTIONS}
    if not isinstance(value, dict):
        return tuple(found.values()), ["“actions” must be an object in braces; only the presets are used."]
    wrong: list[str] = []
    for name, entry in cast("dict[str, Any]", value).items():
        if entry is None:
            found.pop(name, None)
        elif why := _wrong_action(name, entry):
            wrong.append(f"“actions”: “{name}” {why}.")
        else:
            found[name] = Action(name, entry["prompt"], entry.get("target") or "")
    return tuple(found.values()), wrong


def _wrong_action(name: str, entry: object) -> str:
    """Why an entry can't be used; empty if it can."""
    if not isinstance(entry, dict):
        return "must be an object in braces, with a “prompt”"
    fields = cast("dict[str, object]", entry)
    prompt, target = fields.get("prompt"), fields.get("target")
    if not name.strip():
        return "needs a name"
    if not isinstance(prompt, str) or not prompt.strip():
        return "needs a “prompt”, which is a string"
    if target is not None and target not in TARGETS:
        return "has a “target” other than “cli”, “chat” and “new_chat”"
    if unknown := sorted(set(fields) - _ACTION_KEYS):
        return f"has “{unknown[0]}”, which an action doesn't have"
    return ""


PROJECT = "https://github.com/QwenCompanion/QwenCompanion"
"""Where the package's code, its issues and its releases are."""
REPOSITORY = f"{PROJECT}/releases/latest/download/repository.json"
"""What a person adds to Package Control: the package, and the libraries that the default channel lacks."""
_CONTEXT = "context"
_EXCLUDE = "context_exclude"
_MAPS = "path_maps"
_REVIEW = "review"
_TOOLS = "agents_tools"
_AGENTS = "agents"
_SERVERS = "agents_mcp_servers"
_READERS: Mapping[str, Callable[[object], tuple[object, list[str]]]] = {
    _AGENTS: read_agents,
    _SERVERS: read_mcp_servers,
    "actions": read_actions,
}
"""What reads a setting with entries of the person's own, and says what is wrong in each."""
STRICTEST: Mapping[str, Any] = {
    _CONTEXT: "off",
    _EXCLUDE: [EVERYTHING],
    "agents_all_folders": False,
    "chat_context": False,
    "tell_undone": "never",
    "read_transcripts": "off",
}
"""What holds while nobody knows what the person has said of what agents get and of what is read of CLIs."""
_DEFAULTS = Settings()
_DAEMON = DaemonSettings()


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the settings file. A value of another type or choice is reported, and the default is used."""

    name: str
    default: Any
    optional: bool = False
    """Whether it may be null."""
    choices: tuple[str, ...] = ()
    """The texts that are allowed; empty for any."""
    in_projects: bool = False
    """Whether a project may set it for its windows."""
    kind: type | None = None
    """The type of its values if the default's type isn't it."""
    or_text: bool = False
    """Whether a text is allowed as well."""
    is_secret: bool = False
    """Whether messages must not show its value."""
    if_wrong: str | None = None
    """The text that is used instead of a wrong value; None for the default."""

    @property
    def type(self) -> type:
        """The type of its values other than None."""
        return self.kind or type(self.default)

    @property
    def expected(self) -> str:
        """The allowed values, in words."""
        if self.type is list and self.choices:
            return f"a list of {', '.join(f'“{choice}”' for choice in self.choices)}"
        words = [f"“{choice}”" for choice in self.choices] or list(_WORDS[self.type])
        if self.or_text:
            words += _WORDS[str]
        if self.optional:
            words.append("null")
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"

    def allows(self, value: object) -> bool:
        """Whether the value is allowed."""
        if self.or_text and isinstance(value, str):
            return bool(value.strip())
        if value is None or type(value) is not self.type:  # True is not a number here
            return value is None and self.optional
        if isinstance(value, list):
            items = cast("list[object]", value)
            return all(isinstance(item, str) and (not self.choices or item in self.choices) for item in items)
        if isinstance(value, str):
            return not self.choices or value in self.choices
        return isinstance(value, bool | dict) or (isinstance(value, int) and value >= 0)


_WORDS: dict[type, tuple[str, ...]] = {
    bool: ("true", "false"),
    int: ("a whole number from 0",),
    str: ("a text",),
    list: ("a list of strings",),
    dict: ("an object in braces",),
}

TABLE = (
    # Never in a project: opening a folder must not decide which program runs.
    Setting("qwen_command", ["qwen"], or_text=True),
    Setting("gemini_command", ["gemini"], or_text=True),
    Setting("terminal_location", "panel", choices=("panel", "tab", "split"), in_projects=True),
    # A project can only make it stricter.
    Setting(_REVIEW, _DEFAULTS.review, choices=REVIEWS[::-1], in_projects=True),
    Setting("diff_layout", "auto", choices=("auto", "side_by_side", "inline"), in_projects=True),
    Setting("open_first_change", False),
    # A project can only make it stricter.
    Setting("context", _DEFAULTS.context, choices=LEVELS, in_projects=True, if_wrong="off"),
    Setting("context_exclude", list(_DEFAULTS.context_exclude), in_projects=True),
    # Never in a project: it must not decide what is started or where a token is sent.
    Setting("chat_enabled", _DAEMON.enabled),
    Setting("chat_context", True),
    # Never in a project: opening a folder must not decide which program runs. An environment may hold a key.
    Setting("agents", {}, is_secret=True),
    # Never in a project: opening a folder must not decide what is asked of an agent.
    Setting("actions", {}),
    # Never in a project: opening a folder must not decide which program runs.
    Setting("claude_command", ["claude"], or_text=True),
    Setting("copilot_command", ["copilot"], or_text=True),
    Setting("opencode_command", ["opencode"], or_text=True),
    Setting("show_status", "connected", choices=("always", "connected", "never")),
    Setting("show_diffs", _DEFAULTS.show_diffs, in_projects=True),
    # Never in a project: a folder must not declare itself trusted.
    Setting("is_trusted", _DEFAULTS.is_trusted, optional=True, kind=bool),
    # Sent along with the person's next prompt or comments.
    Setting("tell_undone", _DEFAULTS.tell_undone, choices=("chats", "always", "never")),
    Setting("undo_while_working", _DEFAULTS.undo_while_working, choices=("wait", "now")),
    # Never in a project: it says which files of the person's own are read.
    Setting("read_transcripts", _DEFAULTS.read_transcripts, choices=("connected", "off", "always"), if_wrong="off"),
    Setting("chat_notifications", True),
    Setting("chat_vim_keys", True),
    # Never in a project: it lets an agent see what is open.
    Setting("agents_use_editor", _DAEMON.agents_use_editor),
    Setting("agents_tools", list(_DEFAULTS.agents_tools), choices=AGENT_TOOLS),
    Setting("agents_new_problems", _DEFAULTS.agents_new_problems),
    # Never in a project: it gives an agent the other folders.
    Setting("agents_all_folders", _DAEMON.agents_all_folders),
    # Never in a project: opening a folder must not decide which program runs, or where a token is sent.
    Setting("agents_mcp_servers", {}, is_secret=True),
    Setting("daemon.url", _DAEMON.url, is_secret=True),
    # Never in a project, as the other settings of the daemon.
    Setting("daemon.managed", _DAEMON.managed),
    Setting(_MAPS, {}, in_projects=True),
    Setting("max_marked_characters", _DEFAULTS.max_marked_characters),
    Setting("max_marked_lines", _DEFAULTS.max_marked_lines),
    Setting("legacy_discovery_files", _DEFAULTS.legacy_discovery_files),
    # Never in a project: it says where code comes from.
    Setting("repository", REPOSITORY),
    Setting("offer_libraries", True),
    Setting("debug", False),
)
"""Every key of the settings file, in its order."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A value that can't be used."""

    file: str
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.file}: {self.why}"


@dataclass(frozen=True, slots=True)
class Values:
    """The values of all settings, for the package or for one window, and the problems in the files."""

    by_name: Mapping[str, Any] = field(repr=False)
    """They may include a password in an address."""
    problems: tuple[Problem, ...] = ()
    installed: tuple[AgentCommand, ...] = ()
    """The agents that the person has installed from the registry."""

    @property
    def settings(self) -> Settings:
        """The settings of the companion."""
        values: dict[str, Any] = {each.name: self.by_name[each.name] for each in fields(Settings)}
        for name in (_EXCLUDE, _TOOLS):
            values[name] = tuple(values[name])
        values[_MAPS] = tuple(values[_MAPS].items())
        return Settings(**values)

    @property
    def daemon(self) -> DaemonSettings:
        """The settings of the chat."""
        command: str | list[str] = self.by_name["qwen_command"]
        return DaemonSettings(
            enabled=self.by_name["chat_enabled"],
            managed=self.by_name["daemon.managed"],
            url=self.by_name["daemon.url"],
            command=command if isinstance(command, str) else tuple(command),
            agents=read_agents(self.by_name[_AGENTS], self.installed)[0],
            agents_use_editor=self.by_name["agents_use_editor"],
            agents_all_folders=self.by_name["agents_all_folders"],
            agents_mcp_servers=read_mcp_servers(self.by_name[_SERVERS])[0],
        )


def read(get: Callable[[str], object], installed: tuple[AgentCommand, ...] = ()) -> Values:
    """Read the settings file; `get` returns None for a missing key and for null."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for setting in TABLE:
        value = get(setting.name)
        if value is not None and setting.name == _EXCLUDE:
            value = _globs(value, FILE, problems)
        elif value is not None and (reader := _READERS.get(setting.name)):
            problems += [Problem(FILE, setting.name, why) for why in reader(value)[1]]
        elif value is not None and not setting.allows(value):
            instead = f"“{setting.if_wrong}” is used" if setting.if_wrong else "the default is used"
            problems.append(Problem(FILE, setting.name, _wrong(setting, value, instead)))
            value = setting.if_wrong
        elif setting.name == _MAPS:
            value = _path_maps(cast("dict[str, object]", value or {}), FILE, problems)
        values[setting.name] = setting.default if value is None else value
    return Values(values, _some(problems), installed)


def held(before: Values | None) -> Values:
    """The values while the settings file has a syntax error, which makes the editor take the defaults.

    Those from before hold. If there are none, each of `STRICTEST` is as strict as it can be: the person may have said
    so.
    """
    if before is None:
        why = "it has a syntax error; agents are told nothing and sent no file until it is mended."
        by_name = {**{setting.name: setting.default for setting in TABLE}, **STRICTEST}
        return Values(by_name, (Problem(FILE, "", why),))
    why = "it has a syntax error; what it said before holds until it is mended."
    return Values(before.by_name, (Problem(FILE, "", why),), before.installed)


def overridden(base: Values, project: object, file: str) -> Values:
    """The values for a window whose project has its own settings; `file` is the project's name, for messages."""
    if project is None:
        return Values(base.by_name)
    if not isinstance(project, dict):
        return Values(base.by_name, (Problem(file, PROJECT_KEY, f"“{PROJECT_KEY}” must be an object in braces."),))
    values = dict(base.by_name)
    problems: list[Problem] = []
    table = {setting.name: setting for setting in TABLE}
    for name, value in cast("dict[str, Any]", project).items():
        setting = table.get(name)
        if setting is None:
            problems.append(Problem(file, shortened(name), f"“{shortened(name)}” is not a setting of QwenCompanion."))
        elif not setting.in_projects:
            problems.append(Problem(file, name, f"“{name}” can't be set for a project."))
        elif name == _EXCLUDE:
            values[name] = list(dict.fromkeys([*values[name], *_globs(value, file, problems)]))
        elif name == _MAPS and setting.allows(value):
            # The person's own come first: of two that are as long the first one counts.
            own, more = values[name], _path_maps(value, file, problems)
            values[name] = {**own, **{here: there for here, there in more.items() if here not in own}}
        elif not setting.allows(value):
            instead = f"“{setting.if_wrong}” is used" if setting.if_wrong else "the user's setting is used"
            problems.append(Problem(file, name, _wrong(setting, value, instead)))
            values[name] = setting.if_wrong or values[name]
        elif (name == _CONTEXT and stricter(value, values[name]) != value) or (
            name == _REVIEW and REVIEWS.index(value) < REVIEWS.index(values[name])
        ):
            why = f"“{name}” can only be made stricter by a project; “{values[name]}” is used, not “{value}”."
            problems.append(Problem(file, name, why))
        else:
            values[name] = value
    return Values(values, _some(problems))


def _some(problems: list[Problem]) -> tuple[Problem, ...]:
    """The first problems of a file, and how many more there are."""
    if (more := len(problems) - MOST_PROBLEMS) <= 0:
        return tuple(problems)
    return (*problems[:MOST_PROBLEMS], Problem(problems[0].file, "", f"{more:,} more problems are not listed."))


def _path_maps(value: Mapping[str, object], file: str, problems: list[Problem]) -> dict[str, str]:
    """The pairs that can be used: both are absolute, here after a `~` was expanded."""
    if len(value) > MOST_MAPS:
        why = f"“{_MAPS}” has {len(value):,} folders: use at most {MOST_MAPS:,}. None of them is used."
        problems.append(Problem(file, _MAPS, why))
        return {}
    found: dict[str, str] = {}
    for here, there in value.items():
        expanded = os.path.expanduser(here)
        if os.path.isabs(expanded) and isinstance(there, str) and _ABSOLUTE.match(there):
            found[os.path.normpath(expanded)] = there
        else:
            why = f"“{_MAPS}” must have absolute paths on both sides; “{shortened(here)}” is left out."
            problems.append(Problem(file, _MAPS, why))
    return found


def _globs(value: object, file: str, problems: list[Problem]) -> list[str]:
    globs, wrong = read_globs(value)
    problems += [Problem(file, _EXCLUDE, why) for why in wrong]
    return list(globs)


def _wrong(setting: Setting, value: object, instead: str) -> str:
    but = "" if setting.is_secret else f", not {_shown(value)}"
    return f"“{setting.name}” must be {setting.expected}{but}; {instead}."


def _shown(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return f"“{shortened(value)}”"
        case int() | float():
            return str(value)
        case list():
            return "a list"
        case _:
            return "an object in braces"
