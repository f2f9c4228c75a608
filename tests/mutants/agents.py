"""Small mistakes in the client of agents and in the several chats of a window, each with the tests that notice it."""

from __future__ import annotations

from mutant import Mutant

ACP = ("tests/unit/acp/test_acp.py",)
HARM = ("tests/unit/acp/test_acp_harm.py",)
FUZZED = ("tests/unit/acp/test_acp_fuzzed.py",)
FILES = ("tests/unit/acp/test_acp_files.py",)
TERMINALS = ("tests/unit/acp/test_acp_terminals.py",)
PROCESS = ("tests/unit/acp/test_acp_process.py",)
OPTIONS = ("tests/unit/acp/test_acp_options.py",)
SIGNING_IN = ("tests/unit/acp/test_acp_sign_in.py",)
CHATS = ("tests/unit/chats/test_chats_agents.py",)
HANDOVER = ("tests/unit/chats/test_chats_handover.py",)
TABS = ("tests/sublime/test_chat_tabs.py",)
PICKING = ("tests/sublime/test_chat_agents.py",)
WAYS = ("tests/sublime/test_chat_ways.py",)

MUTANTS = [
    Mutant("one request too many", "acp/peer.py", ">= MAX_REQUESTS", "> MAX_REQUESTS", HARM),
    Mutant(
        "a request that is too long is taken for an answer",
        "acp/peer.py",
        "if _METHOD.search(head):",
        "if not _METHOD.search(head):",
        HARM,
    ),
    Mutant(
        "an answer with a point in its id is not known",
        "acp/peer.py",
        "isinstance(number, float) and number.is_integer()",
        "isinstance(number, float) and number < 0",
        HARM,
    ),
    Mutant("NaN goes back to the agent", "acp/peer.py", "parse_constant=_nothing", "parse_constant=float", HARM),
    Mutant("a line of the limit is too long", "acp/lines.py", "+ len(piece) > self", "+ len(piece) >= self", FUZZED),
    Mutant("a flood fills the memory", "acp/stream.py", "            self._room.clear()\n", "            pass\n", HARM),
    Mutant(
        "an answer to a question counts twice",
        "acp/questions.py",
        "if future is None or future.done():",
        "if future is None:",
        HARM,
    ),
    Mutant(
        "the end of a turn leaves its questions",
        "acp/services.py",
        "        self.questions.cancel()\n        self.outputs.show()\n",
        "        self.outputs.show()\n",
        HARM,
    ),
    Mutant(
        "news of another session are shown",
        "acp/client.py",
        'params.get("sessionId") != self._session.id or not',
        "not",
        HARM,
    ),
    Mutant(
        "the agent's echo of a prompt is shown again",
        "acp/publisher.py",
        "            if isinstance(event, events.UserMessageChunk):\n",
        "            if False:\n",
        HARM,
    ),
    Mutant(
        "what an agent has left behind goes on",
        "acp/client.py",
        "        await running.stop(0)\n\n    def _write",
        "\n    def _write",
        HARM,
    ),
    Mutant(
        "the terminals of an agent that has ended go on",
        "acp/client.py",
        "            await self._services.kill_all()\n        await running",
        "            pass\n        await running",
        HARM,
    ),
    Mutant(
        "a folder with the same beginning is the chat's",
        "acp/files.py",
        "path.startswith(folder.rstrip(os.sep) + os.sep)",
        "path.startswith(folder)",
        FILES,
    ),
    Mutant(
        "a yes to reading is one to writing",
        "acp/files.py",
        "key = os.path.dirname(real), writes",
        "key = os.path.dirname(real), False",
        FILES,
    ),
    Mutant(
        "one more refusal", "acp/files.py", "self._refusals >= MAX_REFUSALS", "self._refusals > MAX_REFUSALS", FILES
    ),
    Mutant(
        "an edited proposal replaces any other text",
        "acp/files.py",
        "edited is not None and _is_same(edited.proposed, content)",
        "edited is not None",
        FILES,
    ),
    Mutant(
        "a file that is read-only is replaced", "acp/files.py", "not os.stat(path).st_mode & _WRITABLE", "False", FILES
    ),
    Mutant(
        "what waits for an agent that has ended is sent",
        "acp/prompts.py",
        "if self._waiting and not is_over:",
        "if self._waiting:",
        CHATS,
    ),
    Mutant(
        "a list of sessions never ends",
        "acp/sessions.py",
        '"" if page.next_cursor == cursor else page.next_cursor',
        "page.next_cursor",
        ACP,
    ),
    Mutant(
        "any address is a page",
        "acp/authentication.py",
        'method.link if method.link.startswith(("https://", "http://")) else ""',
        "method.link",
        SIGNING_IN,
    ),
    Mutant(
        "a login doesn't get the agent's environment",
        "acp/authentication.py",
        "{**command.environment, **given}",
        "given",
        SIGNING_IN,
    ),
    Mutant("one terminal too many", "acp/terminals.py", ">= MAX_TERMINALS", "> MAX_TERMINALS", TERMINALS),
    Mutant(
        "a terminal's end waits for whoever keeps its output",
        "acp/terminals.py",
        "await self._process.output.settled()",
        "await asyncio.shield(self._reading)",
        TERMINALS,
    ),
    Mutant(
        "what came last is not waited for",
        "acp/child.py",
        "while looks < QUIET_LOOKS and",
        "while False and",
        PROCESS,
    ),
    Mutant(
        "the limit of the output is one of characters",
        "acp/printing.py",
        'kept = _encoded(self._text)[-self._limit :] if self._limit else b""',
        'kept = _encoded(self._text[-self._limit :]) if self._limit else b""',
        TERMINALS,
    ),
    Mutant(
        "a cancel is forgotten over a reload",
        "acp/client.py",
        'if left["is_cancelling"] and self._prompts.running:',
        "if False:",
        HANDOVER,
    ),
    Mutant(
        "an agent that has ended is handed over",
        "acp/client.py",
        " and self._process.is_running):",
        "):",
        HANDOVER,
    ),
    Mutant(
        "an agent in a hidden tab waits for a look",
        "chat/chat.py",
        "(self._connection.inherited is not None or self._inherited.has_turn)",
        "self._inherited.has_turn",
        HANDOVER,
    ),
    Mutant(
        "a reconnect by itself takes the command of the settings",
        "chat/chat.py",
        "if agent and (each.name, each.command) == (agent.name, agent.command)",
        "if agent and each.name == agent.name",
        CHATS,
    ),
    Mutant(
        "a yes counts for every command of an agent",
        "sublime_text/chat/consent.py",
        "self._allowed().get(name) == list(agent.command)",
        "name in self._allowed()",
        PICKING,
    ),
    Mutant(
        "a chat takes up another agent's session of that id",
        "sublime_text/chat/sessions.py",
        "(each.agent_key, each.session) == (chat.agent_key, session.id)",
        "each.session == session.id",
        TABS,
    ),
    Mutant(
        "a further chat is behind the other tabs",
        "sublime_text/chat/chats.py",
        "window.set_view_index(view, group, index + 1)",
        "pass",
        TABS,
    ),
    Mutant(
        "commands are for the first chat",
        "sublime_text/chat/chats.py",
        "return max(self.within(window), key=lambda chat: _used_at(chat.view), default=None)",
        "return next(iter(self.within(window)), None)",
        TABS,
    ),
    Mutant(
        "a login that has ended connects what is connected",
        "sublime_text/chat/auth_methods.py",
        "if chat and chat.render and chat.render.status.connection.wants_sign_in:",
        "if chat:",
        WAYS,
    ),
]
