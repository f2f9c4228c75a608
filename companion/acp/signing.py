"""The ways to sign in that an agent offers, as the person can take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..agents import AgentCommand
from . import extensions
from .schema import AuthMethod


@dataclass(frozen=True, slots=True)
class Way:
    """A way to sign in."""

    id: str
    name: str
    description: str
    kind: Literal["agent", "terminal", "variables"]
    """agent: it signs in when it is asked; terminal: a command does; variables: the person sets them."""
    command: tuple[str, ...] = ()
    """The program and its arguments, for a terminal."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What the command gets in addition to the login environment."""
    variables: tuple[str, ...] = ()
    """Their names, each with what it is for if the agent says that."""
    page: str = ""
    """A page that gives what the variables need; http or https."""


def ways(command: AgentCommand, methods: tuple[AuthMethod, ...]) -> tuple[Way, ...]:
    """The ways of an agent that is started with a command."""
    return tuple(_way(command, method) for method in methods)


def _way(command: AgentCommand, method: AuthMethod) -> Way:
    name = method.name or method.id
    line = (*command.command, *method.args) if method.type == "terminal" else extensions.login(command.command, method)
    if line:
        # A method names arguments, never another program.
        given = {name: value for name, value in method.env.items() if isinstance(value, str)}
        return Way(method.id, name, method.description, "terminal", line, {**command.environment, **given})
    if method.type == "env_var":
        variables = tuple(
            f"{each.name}{f' ({each.label})' if each.label else ''}{', if you like' if each.optional else ''}"
            for each in method.vars
        )
        page = method.link if method.link.startswith(("https://", "http://")) else ""
        return Way(method.id, name, method.description, "variables", variables=variables, page=page)
    return Way(method.id, name, method.description, "agent")
