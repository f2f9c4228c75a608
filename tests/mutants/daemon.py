"""Small mistakes in how a chat gets on with its daemon, each with the tests that should notice it."""

from __future__ import annotations

from chat import (
    BUILDER,
    CLIENT,
    CONNECTION,
    LIFE,
    MARKDOWN,
    OUTBOX,
    PIECES,
    READING,
    REDUCER,
    REFUSALS,
    REQUESTS,
    STALE,
    STATE,
    STREAM,
    TEXT,
    TRANSPORT,
    TURNS,
    UNSENT,
)
from mutant import Mutant

HERE = "daemon/here.py"
DECODER = "daemon/decoder.py"
UPDATES = "backends/updates.py"
FRAMES = "daemon/sse.py"
SLASH = "chat/slash.py"
TABLES = "chat/transcript/tables.py"
PLACE = ("tests/unit/daemon/test_daemon_locality.py",)
TABLE = ("tests/unit/chats/transcript/test_chat_tables.py",)
SENT = "tests/unit/chats/test_chats.py::test_a_prompt_"
LOST = (
    f"{SENT}whose_answer_is_lost_is_looked_for_and_never_sent_twice",
    f"{SENT}of_another_client_is_not_taken_for_the_one_that_is_lost",
)
INTO = ("tests/unit/chats/test_chats.py::test_a_message_goes_into_the_turn_that_runs_else_it_is_a_prompt",)
REFUSED = ("tests/unit/chats/test_chats.py::test_what_the_daemon_refuses_comes_back",)
COMMANDS = ("tests/sublime/test_chat_prompt.py::TestSlashCommands",)

MUTANTS = [
    # What the person sends
    Mutant("another client's prompt counts as ours", OUTBOX, "if is_ours and each.id", "if each.id", LOST),
    Mutant(
        "a prompt that is sent after a rebuild is given back",
        OUTBOX,
        "waiting.prompt, waiting.rebuilds = identifier, self._conversation().rebuilds",
        "waiting.prompt = identifier",
        UNSENT,
    ),
    Mutant("a message with a file goes into a turn", OUTBOX, "if len(content) == 1 else None", "", INTO),
    Mutant("every failure may have arrived", OUTBOX, "if not error.may_have_arrived:", "if False:", REFUSED),
    Mutant(
        "what a queue has lost stays in it",
        OUTBOX,
        "        if drafts:\n            conversation.forget_queue()\n",
        "",
        ("tests/unit/chats/test_chats_agents.py",),
    ),
    Mutant(
        "a prompt without an id counts as sent",
        REQUESTS,
        "if not (isinstance(prompt, str) and prompt):",
        "if False:",
        LOST,
    ),
    Mutant(
        "a lost message counts as arrived",
        "daemon/steering.py",
        "return message in answers.injected(answer)",
        "return True",
        CLIENT,
    ),
    Mutant("a blank behind the slash hides a command", SLASH, 'r"/[\\s\\ufeff]*', 'r"/', COMMANDS),
    # How the connection ends and begins again
    Mutant(
        "another bus may not be another daemon",
        READING,
        "            attachment.may_be_another = True\n            raise",
        "            raise",
        LIFE,
    ),
    Mutant(
        "what was away is still where it was",
        READING,
        "isinstance(error, SessionGoneError | UnreachableError)",
        "isinstance(error, SessionGoneError)",
        LIFE,
    ),
    Mutant(
        "a session that is gone for good is loaded for ever", READING, "if not attachment.is_stale:", "if True:", STALE
    ),
    Mutant(
        "what runs goes on in a session that is gone",
        READING,
        "            return 0\n        conversation.interrupt()\n",
        "            return 0\n",
        STALE,
    ),
    Mutant(
        "any frame ends the backoff",
        READING,
        "            if envelope.id is not None:\n                backoff.reset()\n",
        "            backoff.reset()\n",
        STALE,
    ),
    Mutant("the end by another client looks like ours", READING, "if closer == session.client_id:", "if True:", STALE),
    Mutant("commands are never asked for", READING, "if client.queries and not", "if False and not", STALE),
    Mutant(
        "a session that it is attached to is read from now on",
        CONNECTION,
        "session.attached or not session.client_id",
        "not session.client_id",
        STALE,
    ),
    Mutant(
        "a daemon that has answered is a stranger again",
        "chat/connector.py",
        "            self._known.add(address.url)\n",
        "",
        STALE,
    ),
    Mutant(
        "who wants it now waits as long as before",
        CONNECTION,
        "                    backoff.reset()\n                    has_broken = False\n",
        "                    has_broken = False\n",
        STALE,
    ),
    Mutant(
        "a new session goes on at the cursor of the old one",
        CONNECTION,
        "not session.client_id)\n                conversation.cursor = None\n",
        "not session.client_id)\n",
        STALE,
    ),
    # The conversation
    Mutant(
        "a gap of one event is passed over",
        STATE,
        "envelope.id > self.cursor.id + 1",
        "envelope.id > self.cursor.id + 2",
        TURNS,
    ),
    Mutant(
        "what was seen to run has ended well",
        STATE,
        '"interrupted" if seen and turn is last else "done"',
        '"done"',
        TURNS,
    ),
    Mutant(
        "an end of the session ends what was done",
        STATE,
        '        for turn in self._state.turns.values():\n            if turn.state == "running":\n',
        "        for turn in self._state.turns.values():\n            if True:\n",
        TURNS,
    ),
    Mutant(
        "more turns are hidden than are kept",
        STATE,
        "        self._state.hidden = min(self._state.hidden, len(kept))\n",
        "",
        ("tests/unit/chats/test_chats_long.py", "tests/unit/chats/test_chats_earlier.py"),
    ),
    Mutant("a failure looks like a cancel", DECODER, "if cancelled.reason else", "if False else", TURNS),
    Mutant(
        "the end of a task is said twice",
        REDUCER,
        "if text.strip() and not (aside.task is not None and news in self._noted):",
        "if text.strip():",
        TURNS,
    ),
    Mutant("a marker is a message", UPDATES, "if meta.source in _MARKERS:", "if False:", TURNS),
    Mutant(
        "a rewound prompt isn't over",
        "conversation/state.py",
        "            self.mark_over(each)\n",
        "",
        (*TURNS, *UNSENT),
    ),
    Mutant("a turn that was seen in part is what is kept", BUILDER, "if seen.size > self.size:", "if True:", TURNS),
    Mutant(
        "an event without order makes a turn shorter",
        BUILDER,
        "max(self.cost.seconds, at - self.began)",
        "at - self.began",
        ("tests/unit/chats/transcript/test_chats_cost.py",),
    ),
    Mutant(
        "the cost is lost when a turn is packed",
        BUILDER,
        "return self._items, self._tools, self.cost, self.began",
        "return self._items, self._tools, Cost(), self.began",
        ("tests/unit/chats/transcript/test_chats_cost.py",),
    ),
    # The daemon
    Mutant("what runs counts as waiting", REQUESTS, ' if state == "queued"', "", CLIENT),
    Mutant("a late vote ends the session", REFUSALS, ' and "requestId" not in body', "", CLIENT),
    Mutant(
        "a date says nothing of how long to wait",
        REFUSALS,
        "return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())",
        "return None",
        CLIENT,
    ),
    Mutant(
        "a proxy's 504 means that nothing has arrived",
        REFUSALS,
        "may_have_arrived=is_gateway",
        "may_have_arrived=False",
        LOST,
    ),
    Mutant(
        "an odd answer makes a known daemon a stranger",
        TRANSPORT,
        "            if self.is_known:\n                raise TroubleError(HTTPStatus.OK) from None\n",
        "",
        STALE,
    ),
    Mutant(
        "the generators of a stream end by themselves",
        TRANSPORT,
        "async with contextlib.aclosing(_frames(response)) as frames:",
        "if frames := _frames(response):",
        CLIENT,
    ),
    Mutant(
        "a frame is searched from where the last one ended",
        FRAMES,
        "max(begin, self._searched)",
        "max(begin, self._searched + 1)",
        STREAM,
    ),
    Mutant("a carriage return stays in the data", FRAMES, '.removesuffix(b"\\r")', "", STREAM),
    Mutant(
        "one process of ours is enough",
        HERE,
        "return bool(listening) and all(",
        "return bool(listening) and any(",
        PLACE,
    ),
    Mutant("a tunnel to a daemon is a daemon", HERE, "in _PROGRAMS and", "and", PLACE),
    # The text
    Mutant(
        "a list's marker closes a code block",
        MARKDOWN,
        '_CLOSING = re.compile(r"[ \\t]*',
        '_CLOSING = re.compile(r"[ \\t]*(?:[-*+][ \\t]+)*',
        TEXT,
    ),
    Mutant(
        "what is open is counted twice",
        PIECES,
        "            self._parts.pop()\n",
        "            pass\n",
        (*TABLE, *TEXT),
    ),
    Mutant(
        "a table in a code block is aligned",
        MARKDOWN,
        "(self._fence is None and tables.may_begin(line))",
        "tables.may_begin(line)",
        TABLE,
    ),
    Mutant("wide characters are narrow", TABLES, 'in {"W", "F"} else 1', "in {} else 1", TABLE),
    Mutant("an escaped bar divides cells", TABLES, 'r"(?<!\\\\)\\|"', 'r"\\|"', TABLE),
]
