"""Small mistakes in the chat's core, each with the tests that should notice it."""

from __future__ import annotations

from mutant import Mutant

CHATS = ("tests/unit/chats/test_chats.py",)
STALE = ("tests/unit/chats/test_daemon_chat.py",)
UNSENT = ("tests/unit/chats/test_chats_unsent.py",)
LIFE = ("tests/unit/chats/test_chats_connection.py",)
RELOAD = ("tests/unit/chats/test_chats_reload.py",)
VOTES = ("tests/unit/chats/test_chats_approvals.py",)
EARLIER = ("tests/unit/chats/test_chats_earlier.py",)
LONG = ("tests/unit/chats/test_chats_long.py",)
COST = ("tests/unit/chats/transcript/test_chats_cost.py",)
DAY = ("tests/unit/chats/test_chats_day.py",)
TURNS = ("tests/unit/conversation/test_conversation.py",)
TEXT = ("tests/unit/chats/transcript/test_transcript.py",)
CLIENT = ("tests/unit/daemon/test_daemon_client.py",)
STREAM = ("tests/unit/daemon/test_daemon_events.py", "tests/unit/daemon/test_daemon_client.py")

OUTBOX = "chat/outbox.py"
CONNECTION = "chat/connection.py"
READING = "chat/reader.py"
CHAT = "chat/chat.py"
APPROVALS = "chat/permissions.py"
STATE = "conversation/conversation.py"
REDUCER = "conversation/reducer.py"
BUILDER = "conversation/turns.py"
PAGES = "daemon/history.py"
TRANSPORT = "daemon/transport.py"
ANSWERS = "daemon/answers.py"
PAUSES = "pauses.py"
REQUESTS = "daemon/client.py"
REFUSALS = "daemon/refusals.py"
PIECES = "chat/transcript/pieces.py"
PLAIN = "chat/transcript/plain.py"
MARKDOWN = "chat/transcript/markdown.py"
WHOLE = "chat/transcript/transcript.py"

MUTANTS = [
    # What the person sends
    Mutant(
        "prompts are sent side by side",
        OUTBOX,
        "            async with self._sending:\n",
        "            if True:\n",
        CHATS,
    ),
    Mutant(
        "what was taken is still sent",
        OUTBOX,
        "            if waiting.task:\n                waiting.task.cancel()\n        self._changed()\n",
        "            pass\n        self._changed()\n",
        UNSENT,
    ),
    Mutant(
        "one that is taken back is still sent",
        OUTBOX,
        "        self._settle(key)\n        if waiting.task:\n            waiting.task.cancel()\n",
        "        self._settle(key)\n",
        CHATS,
    ),
    Mutant(
        "one that goes out can be taken back",
        OUTBOX,
        "if waiting is None or waiting.is_going:",
        "if waiting is None:",
        UNSENT,
    ),
    Mutant(
        "what the daemon has is given back too",
        OUTBOX,
        "for each in taken if not each.prompt or (with_queue and each.is_queued)]",
        "for each in taken]",
        UNSENT,
    ),
    Mutant(
        "a lost answer gives the draft back at once",
        OUTBOX,
        "identifier = await self._arrived(_first_text_of(content), known, session.client_id, error)",
        "raise",
        CHATS,
    ),
    Mutant(
        "an older prompt counts as the one that was sent",
        OUTBOX,
        "if is_ours and each.id not in known and each.text",
        "if is_ours and each.text",
        CHATS,
    ),
    Mutant(
        "any new prompt counts as the one that was sent",
        OUTBOX,
        "if is_ours and each.id not in known and each.text.startswith(said):",
        "if each.id not in known:",
        CHATS,
    ),
    Mutant(
        "a prompt that a killed daemon lost is forgotten",
        OUTBOX,
        "if self._settle(key) and not any(",
        "if self._settle(key) and False and not any(",
        CHATS,
    ),
    Mutant(
        "a prompt goes on being unsent",
        OUTBOX,
        "                del self._waiting[key]\n            elif",
        "                pass\n            elif",
        CHATS,
    ),
    Mutant(
        "drafts from before a reload are dropped",
        CHAT,
        "inherited.unsent += self._end(with_queue=False)",
        "inherited.unsent = self._end(with_queue=False)",
        UNSENT,
    ),
    Mutant("a long message goes into the turn", OUTBOX, "or len(message) > MAX_INJECTED", "or False", CHATS),
    Mutant(
        "an excluded file goes",
        OUTBOX,
        "        raise UnsendableError(why)\n",
        "        pass\n",
        ("tests/unit/chats/test_chats_told.py",),
    ),
    # Reading
    Mutant("an attached session isn't loaded", CONNECTION, "session.attached or not session.client_id", "False", CHATS),
    Mutant(
        "a gap in the events is passed over",
        STATE,
        "            if envelope.id > self.cursor.id + 1:\n                return False\n",
        "",
        (*TURNS, *CHATS),
    ),
    Mutant(
        "an event that comes again counts again",
        STATE,
        "            if envelope.id <= self.cursor.id:\n                return True\n",
        "",
        (*TURNS, *CHATS),
    ),
    Mutant(
        "another bus continues the old one",
        READING,
        "            attachment.may_be_another = True\n            raise StaleError\n",
        "            pass\n",
        STALE,
    ),
    Mutant("a session that is gone is never loaded", READING, "if not attachment.is_stale:", "if False:", STALE),
    Mutant(
        "a dead session isn't told",
        READING,
        "        case events.SessionDied():\n            raise SessionEndedError",
        "        case events.SessionDied() if False:\n            raise SessionEndedError",
        LIFE,
    ),
    Mutant(
        "a resync is passed over",
        READING,
        "        case events.ResyncRequired():\n            raise StaleError\n",
        "",
        CHATS,
    ),
    Mutant(
        "the wait that a daemon asks for is ignored",
        READING,
        "max(self.next(), min(error.retry_after or 0, MAX_ASKED))",
        "self.next()",
        LIFE,
    ),
    Mutant(
        "an error for a person is tried again",
        READING,
        "wait = None if error.final else backoff.after(error)",
        "wait = backoff.after(error)",
        CHATS,
    ),
    Mutant(
        "a session in which nothing was said is resumed",
        CONNECTION,
        "is_over = is_over or not self.session or",
        "is_over = is_over or",
        LIFE,
    ),
    Mutant(
        "proxies from the environment on loopback",
        TRANSPORT,
        "trust_env=not address.is_loopback",
        "trust_env=True",
        CLIENT,
    ),
    Mutant(
        "trouble of a known daemon is final",
        REFUSALS,
        'return TroubleError(status, _seconds(headers.get("retry-after"))) if known else NotADaemonError(address.url)',
        "return NotADaemonError(address.url)",
        (*CLIENT, *CHATS),
    ),
    Mutant("the token is in an error", REFUSALS, "    if address.token:\n", "    if False:\n", CLIENT),
    Mutant(
        "the client's id isn't sent",
        TRANSPORT,
        '{"X-Qwen-Client-Id": session.client_id} if session and session.client_id else {}',
        "{}",
        (*CLIENT, *CHATS),
    ),
    # What was said
    Mutant("a rebuild keeps the queue", STATE, "clear()\n        self._state.queue.clear()\n", "clear()\n", TURNS),
    Mutant(
        "a rebuild keeps the plan",
        STATE,
        'self._state.status = replace(self._state.status, plan=(), suggestion="")',
        'self._status = replace(self._status, suggestion="")',
        TURNS,
    ),
    Mutant(
        "a rebuild keeps the open questions",
        STATE,
        "        self._state.permissions.clear()\n        self._reducer",
        "        self._reducer",
        (*TURNS, *VOTES),
    ),
    Mutant(
        "a rebuild forgets what was seen of the last turn",
        STATE,
        "                turn.restore(seen)\n",
        "                pass\n",
        (*TURNS, *EARLIER),
    ),
    Mutant(
        "a rebuild forgets the earlier pages",
        STATE,
        "            self._state.turns = kept | self._state.turns\n        else:",
        "            pass\n        else:",
        EARLIER,
    ),
    Mutant(
        "earlier turns come behind the others",
        STATE,
        "self._state.turns = turns | self._state.turns",
        "self._state.turns = self._state.turns | turns",
        EARLIER,
    ),
    Mutant(
        "all turns are shown at once",
        STATE,
        "            self._state.hidden = len(self._state.turns) - least\n",
        "            self._state.hidden = 0\n",
        EARLIER,
    ),
    Mutant(
        "a hidden turn can't be changed any more",
        BUILDER,
        "            self._content, self._packed = _unpacked(self._packed), None\n",
        "            self._packed = None\n",
        LONG,
    ),
    Mutant("hidden turns stay unpacked", STATE, "                turn.pack()\n", "                pass\n", LONG),
    Mutant("a long chat stays whole on the screen", CHAT, "hide_earlier(MOST_SHOWN, LEAST_SHOWN)", "oldest", LONG),
    Mutant(
        "a history's events stay as objects",
        ANSWERS,
        '(kind_of(cast("Mapping[str, Any]", item)), text) if isinstance(item, dict) else None',
        "item",
        EARLIER,
    ),
    Mutant("a long answer is read without a pause", PAUSES, "            sleep(PAUSE)\n", "", EARLIER),
    Mutant(
        "a history is torn in the middle of a turn",
        PAGES,
        "if _is_prompt(events[at]) and not _is_prompt(events[at - 1]):",
        "if True:",
        EARLIER,
    ),
    Mutant("what still holds is left out", PAGES, "[*holds.values(), *events[at:]]", "list(events[at:])", EARLIER),
    Mutant(
        "a torn turn's beginning is lost",
        BUILDER,
        "        self._tools |= rest._tools\n",
        "        self._items = rest._items\n",
        EARLIER,
    ),
    Mutant(
        "a turn's end leaves its questions open",
        "conversation/state.py",
        "            self.answer(permission.id, is_selected=False)\n",
        "            pass\n",
        (*TURNS, *VOTES),
    ),
    Mutant(
        "messages of their own join the answer",
        BUILDER,
        "(item.speaker, item.parent, item.aside) == (speaker, parent, aside)",
        "(item.speaker, item.parent) == (speaker, parent)",
        TURNS,
    ),
    Mutant(
        "a sub-agent's words join the answer",
        BUILDER,
        "(item.speaker, item.parent, item.aside) == (speaker, parent, aside)",
        "(item.speaker, item.aside) == (speaker, aside)",
        TURNS,
    ),
    Mutant(
        "an empty input hides the arguments",
        BUILDER,
        "input=update.input or tool.input",
        "input=update.raw_input",
        TURNS,
    ),
    Mutant("the tokens of the last call alone count", BUILDER, "read=cost.read + usage.read", "read=usage.read", COST),
    # The text
    Mutant(
        "a line of the model can be the chat's own", PLAIN, '_OWN.sub(r"\\1 ", before + text)', "(before + text)", TEXT
    ),
    Mutant("an imitation isn't told", MARKDOWN, "        if self.imitates:\n", "        if False:\n", TEXT),
    Mutant("half of a character is shown", PIECES, ' or "\\ud800" <= text[end - 1] <= "\\udbff"', "", TEXT),
    Mutant("marks stay where they were", WHOLE, "            turn.move(at)\n", "", (*TEXT, *EARLIER)),
    # Answers
    Mutant("an accepted diff takes any option", APPROVALS, "if accepted and option is None:", "if False:", VOTES),
    Mutant("the first acceptance counts", APPROVALS, "if content is None or not self._open:", "if True:", VOTES),
    Mutant(
        "a vote that failed isn't asked again",
        APPROVALS,
        "        if approvals.waits(permission.id):\n            self.show()\n",
        "",
        VOTES,
    ),
]
