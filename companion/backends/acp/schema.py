"""The protocol's answers as values: what an agent is and can do, its sessions, its modes, models and options.

What is missing or unreadable counts as not there; a part that can't be read takes nothing else with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AliasPath, BeforeValidator, Field

from ...conversation.snapshot import Choices, SessionOption
from ..wire import (
    ConfigOption,
    ConfigOptions,
    Name,
    Object,
    Offered,
    OfferedChoices,
    ShortText,
    Text,
    Texts,
    Wire,
    choices_of,
    parts,
)

VERSION = 1
"""The version of the protocol that is spoken. The official SDK 0.12.1 knows no newer one."""
CLIENT = {"name": "QwenCompanion", "title": "QwenCompanion for Sublime Text", "version": "1"}
CAPABILITIES: Mapping[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
    "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
    "plan": {},
    "subagents": {},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}


def is_known(version: object) -> bool:
    """Whether an agent's answer is our version. Some say none, or say it as a text."""
    return version is None or (not isinstance(version, bool) and version in (VERSION, str(VERSION)))


def _is_there(value: object) -> bool:
    """Whether a capability is there: an object, however empty, or true."""
    return isinstance(value, dict) or value is True


Able = Annotated[bool, BeforeValidator(_is_there)]


def _able(*path: str) -> Any:
    """A capability, by where it is in what an agent can do."""
    return Field(default=False, validation_alias=AliasPath("agentCapabilities", *path))


class _Variable(Wire):
    name: str
    label: Text = ""
    optional: Able = False


class AuthMethod(Wire):
    """A way to sign in."""

    id: str
    name: Name = ""
    description: ShortText = ""
    type: Text = ""
    """terminal for a login in a terminal, env_var for variables; empty for the agent's own."""
    args: Texts = ()
    """What the agent's command gets in addition, for a login in a terminal."""
    env: Object = Field(default_factory=dict)
    """Variables that it gets then."""
    vars: Annotated[tuple[_Variable, ...], parts(_Variable)] = ()
    """The variables that the person has to set."""
    link: ShortText = ""
    """A page that gives what the variables need."""
    meta: Object = Field(default_factory=dict, alias="_meta")


class Initialized(Wire):
    """The answer to `initialize`."""

    protocol_version: Any = None
    name: Name = Field(default="", validation_alias=AliasPath("agentInfo", "name"))
    title: Name = Field(default="", validation_alias=AliasPath("agentInfo", "title"))
    version: Text = Field(default="", validation_alias=AliasPath("agentInfo", "version"))
    auth_methods: Annotated[tuple[AuthMethod, ...], parts(AuthMethod)] = ()
    meta: Object = Field(default_factory=dict, alias="_meta")
    can_load: Able = _able("loadSession")
    can_resume: Able = _able("sessionCapabilities", "resume")
    can_list: Able = _able("sessionCapabilities", "list")
    can_delete: Able = _able("sessionCapabilities", "delete")
    can_close: Able = _able("sessionCapabilities", "close")
    can_fork: Able = _able("sessionCapabilities", "fork")
    can_sign_out: Able = _able("auth", "logout")
    takes_folders: Able = _able("sessionCapabilities", "additionalDirectories")
    takes_http: Able = _able("mcpCapabilities", "http")
    """MCP servers by HTTP."""
    takes_pictures: Able = _able("promptCapabilities", "image")
    takes_resources: Able = _able("promptCapabilities", "embeddedContext")


class Opened(Wire):
    """The answer to `session/new`, `session/load` and `session/resume`."""

    session_id: Text = ""
    models: Offered = OfferedChoices()
    modes: Offered = OfferedChoices()
    options: ConfigOptions = Field(default=(), alias="configOptions")


_OWN = {"mode", "model", "thought_level"}
"""The categories of options that a chat has commands for."""


class SessionSettings(Wire, frozen=False):
    """The modes, models and other options of a session, as they are now.

    An agent may tell of them twice: as modes and models, and as options of these categories. An option counts then,
    since it is the newer way. Only a mode is set by its own method, which all agents have.
    """

    opened: Opened = Opened()
    options: ConfigOptions = ()
    model: str = ""
    mode: str = ""

    @classmethod
    def of(cls, opened: Opened) -> SessionSettings:
        """Those that a session begins with."""
        settings = cls(opened=opened, model=opened.models.current, mode=opened.modes.current)
        settings.update(opened.options)
        return settings

    def update(self, options: tuple[ConfigOption, ...]) -> None:
        """The agent tells all its options anew."""
        self.options = options
        if (option := self.option("model")) and isinstance(option.current, str):
            self.model = option.current or self.model
        if (option := self.option("mode")) and isinstance(option.current, str):
            self.mode = option.current or self.mode

    def accepted(self, option: str, value: str | bool) -> str:
        """The agent has accepted a value of an option and has not told its options: that value counts.

        Returns both in words; nothing if it had that value already.
        """
        before = next((each for each in self.options if each.id == option), None)
        if before is None or before.current == value:
            return ""
        now = before.model_copy(update={"current": value})
        self.update(tuple(now if each is before else each for each in self.options))
        shown = _other(now)
        return f"“{shown.shown}” for “{shown.name}”"

    def option(self, category: str) -> ConfigOption | None:
        """The option of a category that has values to choose from."""
        return next((each for each in self.options if each.category == category and each.values), None)

    @property
    def choices(self) -> Choices:
        """The models, the modes, and how long the model may think."""
        model, mode, thinking = map(self.option, ("model", "mode", "thought_level"))
        effort = thinking.current if thinking and isinstance(thinking.current, str) else ""
        return Choices(
            self.model,
            self.mode,
            choices_of(model.values if model else self.opened.models.available),
            choices_of(self.opened.modes.available or (mode.values if mode else ())),
            effort,
            choices_of(thinking.values if thinking else ()),
            tuple(_other(each) for each in self.options if self._is_other(each)),
        )

    def _is_other(self, option: ConfigOption) -> bool:
        """Whether an option can be set, and nothing but the option itself sets it."""
        if option.type == "boolean":
            return isinstance(option.current, bool)
        return bool(option.values) and not (option.category in _OWN and option is self.option(option.category))


def _other(option: ConfigOption) -> SessionOption:
    values = () if option.type == "boolean" else choices_of(option.values)
    return SessionOption(option.id, option.name or option.id, option.current, option.description, values)
