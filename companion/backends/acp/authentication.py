"""The ways to sign in that an agent offers, as the person can take them."""

from __future__ import annotations

from collections.abc import Callable

from ...agents import AgentCommand
from ...variables import decides, is_variable
from ..parts import Way
from ..wire import MOST_SHORT
from . import extensions
from .peer import Peer
from .requests import Requests
from .schema import AuthMethod


class AgentAuthentication:
    """Signs the person in."""

    def __init__(
        self, requests: Requests, peer: Peer, begins: Callable[[], object], signed_in: Callable[[], object]
    ) -> None:
        """`begins` is called when the person signs in.

        `signed_in` is called when the agent says that they have signed in, which may not be so.
        """
        self._requests = requests
        self._peer = peer
        self._begins = begins
        self._signed_in = signed_in

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways to sign in."""
        return ways(self._requests.command, self._requests.agent.auth_methods)

    async def authenticate(self, method: str) -> None:
        """Sign in by one of the agent's own methods, which may open a browser and wait for the person.

        Raises:
            AgentError: it refuses.
        """
        self._begins()
        await self._peer.call("authenticate", {"methodId": method}, None)
        self._signed_in()

    @property
    def can_restart(self) -> bool:
        """See SignOut."""
        return self._requests.has("load")

    async def sign_out(self) -> None:
        """See SignOut.

        Raises:
            AgentError: it refuses.
        """
        await self._requests.call("logout", {})


def ways(command: AgentCommand, methods: tuple[AuthMethod, ...]) -> tuple[Way, ...]:
    """The ways of an agent that is started with a command."""
    return tuple(_way(command, method) for method in methods)


def _way(command: AgentCommand, method: AuthMethod) -> Way:
    name = method.name or method.id
    line = extensions.login(command.command, method)
    if line is None and method.type == "terminal":
        line = (*command.command, *method.args)
    if line:
        # A method names arguments, never another program, and no variable may make another one of it.
        given = {each: value for each, value in method.env.items() if isinstance(value, str)}
        if refused := next((each for each in given if decides(each) or not is_variable(each)), None):
            why = f"It sets {refused[:64]!r}, which decides {decides(refused) or 'what nobody knows'}."
            return Way(method.id, name, why, "refused")
        if sum(map(len, (*line, *given, *given.values()))) > MOST_SHORT:
            return Way(method.id, name, "Its command is too long to be shown.", "refused")
        environment = {**command.environment, **given}
        return Way(method.id, name, method.description, "terminal", line, environment, given)
    if method.type == "env_var":
        variables = tuple(
            f"{each.name}{f' ({each.label})' if each.label else ''}{', if you like' if each.optional else ''}"
            for each in method.vars
        )
        page = method.link if method.link.startswith(("https://", "http://")) else ""
        return Way(method.id, name, method.description, "variables", variables=variables, page=page)
    return Way(method.id, name, method.description, "agent")
