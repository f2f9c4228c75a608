"""What an agent asks of the editor: files, terminals and permissions."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from ...conversation import events
from ...exclusion import Told
from ...ids import WindowId
from ..port import AgentFiles, AgentQuestions
from ..wire import as_object, one_line
from . import decoder, extensions, plans, proposals, tool_calls
from .agent_terminals import AgentTerminals
from .elicitation import ACCEPT, CANCELLED, Elicitation, FormError, decode_elicitation, encode_answer
from .errors import INTERNAL_ERROR, METHOD_NOT_FOUND, RequestError
from .files import Edited, Files
from .outputs import Outputs
from .prompts import Prompts
from .publisher import Publisher
from .questions import Questions
from .requests import Requests
from .terminals import Terminals
from .tool_calls import ToolCalls
from .workplace import Workplace

logger = logging.getLogger(__name__)

TOLD = (
    "(From the editor: the user has edited your change of {path} before allowing it. The file now holds the user's "
    "version, not yours. Read it again before you change or describe it.)"
)
MAX_REFUSALS = 3
"""After so many refusals one after the other, nothing more is asked beside a chat."""
MAX_MESSAGE = 600
"""Characters of what is asked there."""
NOT_WRITTEN = (
    "(From the editor: the user has edited your change of {path} before allowing it, but the file holds something "
    "else. Read it again before you change or describe it.)"
)


class Screen(AgentFiles, AgentQuestions, Protocol):
    """What a client needs from the editor."""

    def say(self, message: str, window: WindowId | None = None) -> None:
        """Show a problem and keep it for the status report."""
        ...

    def keep_text(self, window: WindowId, title: str, text: str, why: str) -> None:
        """Show text that would be lost in a new view, and say why."""
        ...


class Services:
    """Answers the requests of one agent.

    Args:
        editor: the editor's side.
        window: the chat's window.
        requests: those to the agent.
        workplace: where it works.
        told: what may be told of the window's files.
        prompts: those of its session.
        publisher: tells the chat of events.
        epoch: names the run of the agent.
        is_cancelling: whether the person has cancelled the turn that runs.
    """

    def __init__(
        self,
        editor: Screen,
        window: WindowId,
        requests: Requests,
        workplace: Workplace,
        told: Callable[[], Told],
        prompts: Prompts,
        publisher: Publisher,
        epoch: str,
        is_cancelling: Callable[[], bool],
    ) -> None:
        self._editor = editor
        self._window = window
        self._requests = requests
        self._prompts = prompts
        self._publisher = publisher
        self._is_cancelling = is_cancelling
        self._beside = asyncio.Lock()
        self._refusals = 0
        """Of what was asked beside the chat."""
        self._is_refusal_told = False
        self._calls = ToolCalls()
        self._own_terminals = AgentTerminals()
        self._settling: set[asyncio.Task[None]] = set()
        self.questions = Questions(publisher.publish, epoch)
        self.outputs = Outputs(self.output, publisher.publish)
        self._files = Files(editor, window, lambda: requests.name, workplace, self._replaced, told)
        self._terminals = Terminals(workplace, self.outputs.printed)

    def output(self, terminal: str) -> decoder.Printed | None:
        """What a terminal has printed; None if there is no such terminal."""
        return self._terminals.printed(terminal) or self._own_terminals.printed(terminal)

    def note(self, update: Mapping[str, Any]) -> Mapping[str, Any]:
        """An update, which may be of a tool call with terminals or files. Returns it as it is to be decoded."""
        call: Mapping[str, Any] = {}
        if update.get("sessionUpdate") in ("tool_call", "tool_call_update"):
            call = self._calls.note(update, self._turn)
            if "toolCallId" in call:
                update = {**update, "toolCallId": call["toolCallId"]}
            if plan := plans.todo_list(call):
                self._publisher.publish(plan)
            if tool_calls.is_over(update) and not self._publisher.is_history:
                task = asyncio.create_task(self._settle(tool_calls.paths(call)))
                self._settling.add(task)
                task.add_done_callback(self._settling.discard)
        self.outputs.noted(update)
        if self._own_terminals.note(update):
            # What a terminal of its own has printed is shown where the tool call shows the terminal.
            return {**update, "content": call.get("content")}
        return update

    @property
    def _turn(self) -> object:
        """What the tool calls of now belong to: the history, the turn that runs, or none."""
        return "history" if self._publisher.is_history else (self._prompts.running,)

    async def _settle(self, paths: Collection[str]) -> None:
        """A tool call is over, or asks again: its files have what the person has made of it."""
        self._keep(await self._files.settle(paths))

    def _keep(self, lost: Iterable[Edited]) -> None:
        """Keep what the person has accepted and the agent hasn't written."""
        for edited in lost:
            name = os.path.basename(edited.path)
            why = f"{self._requests.name} has not written {name} as it proposed."
            why += " The text that you accepted is kept here."
            self._editor.keep_text(self._window, name, edited.content, why)
            self._prompts.note(NOT_WRITTEN.format(path=edited.path))

    async def answer(self, method: str, params: Mapping[str, Any], session: str) -> Any:
        """Answer a request. `session` is the open one.

        Raises:
            RequestError: it can't be fulfilled.
        """
        match method:
            case "terminal/create" | "fs/write_text_file" if self._is_cancelling():
                raise RequestError(INTERNAL_ERROR, "the user has cancelled this")
            case "session/request_permission" | "elicitation/create":
                ask = self._permitted if method == "session/request_permission" else self._elicited
                return await ask(params, session)
            case "fs/read_text_file":
                return await self._files.read(params)
            case "fs/write_text_file":
                await self._files.write(params)
                self._prompts.acted()
                return {}
            case "terminal/create":
                made = await self._created(params)
                self._prompts.acted()
                return made
            case "terminal/output" | "terminal/wait_for_exit" | "terminal/kill" | "terminal/release":
                return await self._terminals.answer(method, params)
            case extensions.DRAIN:
                return extensions.drained(self._prompts.drain())
            case _:
                logger.debug("%s asks for %s, which isn't known", self._requests.name, method)
                raise RequestError(METHOD_NOT_FOUND, f"“{method[:100]}” is not known")

    async def _created(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        turn = self._prompts.running
        made = await self._terminals.create(params)
        # While the command was being started. What an agent does between two turns belongs to none.
        is_over = turn is not None and self._prompts.running != turn
        if is_over or self._is_cancelling():
            await self._terminals.answer("terminal/release", made)
            raise RequestError(INTERNAL_ERROR, "the turn that asked for it is over")
        return made

    async def _permitted(self, params: Mapping[str, Any], session: str) -> Mapping[str, Any]:
        """The answer to a permission request."""
        is_ours = params.get("sessionId") == session
        turn = self._prompts.running
        call = await self._asked_about(as_object(params.get("toolCall")))
        is_over = self._is_cancelling() or self._prompts.running != turn
        answer = await self.questions.ask(call, params.get("options"), is_ours=is_ours, is_over=is_over)
        if answer["outcome"]["outcome"] == "selected":
            self._prompts.acted()
        return answer

    async def _elicited(self, params: Mapping[str, Any], session: str) -> Mapping[str, Any]:
        """The answer to a form or a page: in the chat, or beside it while no session is open."""
        elicitation = decode_elicitation(params)
        if isinstance(elicitation, str):
            self._publisher.publish(events.Unsupported(f"{elicitation}, which was cancelled"))
            return CANCELLED
        if self._requests.are_opening and ("sessionId" not in params or not session or self._publisher.is_history):
            return await self._elicited_beside(elicitation)
        if not session or params.get("sessionId", session) != session:
            self._publisher.publish(events.Unsupported("a question of another session, which was cancelled"))
            return CANCELLED
        if self._is_cancelling():
            return CANCELLED
        elicitation = replace(elicitation, tool_call=self._calls.name(elicitation.tool_call))
        return await self.questions.elicit(elicitation, knows_call=self._calls.knows(elicitation.tool_call))

    async def _elicited_beside(self, elicitation: Elicitation) -> Mapping[str, Any]:
        """The answer to what is asked while there is no conversation, such as during a sign-in."""
        message = one_line(elicitation.message, MAX_MESSAGE)
        async with self._beside:
            while self._refusals < MAX_REFUSALS and self._requests.are_opening:
                option, values = await self._editor.elicit(self._window, self._requests.name, message, elicitation.form)
                self._refusals = 0 if option == ACCEPT else self._refusals + 1
                try:
                    return encode_answer(elicitation, option, values)
                except FormError as error:
                    self._editor.say(str(error), self._window)
            if self._refusals >= MAX_REFUSALS and not self._is_refusal_told:
                self._is_refusal_told = True
                self._editor.say(f"{self._requests.name} has asked too often, and is refused.", self._window)
        return CANCELLED

    def expect_questions(self) -> None:
        """The person starts what the agent may ask about: what they have refused before doesn't count any more."""
        self._refusals, self._is_refusal_told = 0, False

    async def _asked_about(self, call: Mapping[str, Any]) -> Mapping[str, Any]:
        """The tool call of a permission request with all that is known of it, its diffs as whole files."""
        call = self._calls.asked(call, self._turn)
        await self._settle(tool_calls.paths(call))
        return decoder.with_terminals(await proposals.whole_files(call, self._files.texts), self.output)

    async def edited(self, path: str, proposed: str, content: str) -> None:
        """The person has edited a proposal before they allow it: `content` is written, and the agent is told."""
        await self._files.allowed(Edited(path, proposed, content))

    def _replaced(self, edited: Edited) -> None:
        self._prompts.note(TOLD.format(path=edited.path))

    async def stop_terminal(self, terminal: str) -> bool:
        """End what runs in a terminal. Returns False if nothing does; the agent is told how it has ended."""
        found = self._terminals.find(terminal)
        if found is None or not found.is_running:
            return False
        await found.kill()
        return True

    async def kill_all(self) -> None:
        """End what runs in the terminals."""
        await self._terminals.kill_all()

    async def turn_over(self) -> None:
        """A turn is over: its questions are cancelled, and what was not written as the person wants it is kept."""
        self.questions.cancel()
        self.outputs.show()
        if self._settling:
            await asyncio.gather(*self._settling)
        self._keep(await self._files.settle_all())

    async def close(self) -> None:
        """End what runs in the terminals, and forget them."""
        self.outputs.close()
        self.questions.cancel()
        await self._terminals.close()

    async def leave(self) -> dict[str, Any] | None:
        """Let go of the terminals. Returns what `take_over` needs; None if one of them can't be left."""
        self.outputs.show()
        if not (terminals := await self._terminals.leave()):
            return None
        return {
            "terminals": terminals,
            "files": self._files.leave(),
            "shown_in": self.outputs.shown_in,
            "calls": self._calls.leave(),
        }

    async def take_over(self, left: Mapping[str, Any]) -> None:
        """Go on with what `leave` has left."""
        await self._files.take_over(left["files"])
        self.outputs.shown_in.update(left["shown_in"])
        if calls := left.get("calls"):
            self._calls.take_over(calls)
        await self._terminals.take_over(left["terminals"])
