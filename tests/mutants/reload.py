"""Small mistakes in what is answered without h11, and in reloads and starts that fail, with the tests for them."""

from __future__ import annotations

from mutant import Mutant

QUICK_TESTS = ("tests/unit/server/test_quick.py",)
FUZZED = ("tests/unit/server/test_quick_fuzzed.py",)
CONNECTIONS = ("tests/unit/server/test_connections.py",)
HANDOVER = ("tests/unit/test_handover.py",)
SESSIONS = ("tests/unit/server/test_sessions.py",)
THREAD = ("tests/unit/test_thread.py",)
GUESTS = ("tests/unit/server/test_guests.py",)

STARTING = ("tests/sublime/test_start.py",)

PATIENCE = "sublime_text/patience.py"
SOCKETS = "server/connections.py"
APP = "server/app.py"
QUICK = "server/quick.py"
TOOLS = "server/tools.py"
START = "thread.py"

MUTANTS = [
    # Without h11
    Mutant(
        "what comes behind a call is begun at once",
        SOCKETS,
        "if isinstance(self.cycle, _Cycle) and not self.cycle.response_complete:",
        "if False:",
        (*QUICK_TESTS, *FUZZED),
    ),
    Mutant("what comes behind a call is lost", SOCKETS, "            self._held += data\n", "", QUICK_TESTS),
    Mutant(
        "what came behind a call is answered twice",
        SOCKETS,
        'held, self._held = self._held, b""',
        "held = self._held",
        QUICK_TESTS,
    ),
    Mutant("what came behind the last call is begun", SOCKETS, "if held and self.is_open:", "if held:", QUICK_TESTS),
    Mutant(
        "a connection that is to end goes on",
        SOCKETS,
        "if CLOSE in headers or not cycle.keep_alive:",
        "if False:",
        QUICK_TESTS,
    ),
    Mutant(
        "the client is not told that it is the last answer",
        APP,
        "([*headers, CLOSE] if self._sessions.is_left else headers, body)",
        "(headers, body)",
        QUICK_TESTS,
    ),
    Mutant(
        "a diff opens before the answer",
        APP,
        "            result = await self._tools.call(session, call.name, call.arguments, after.append)\n",
        "            result = await self._tools.call(session, call.name, call.arguments, lambda begin: begin())\n",
        (*QUICK_TESTS, *SESSIONS),
        "who opens the diff first is a matter of time; benchmarks/peer shows it",
    ),
    Mutant(
        "a call opens nothing",
        APP,
        "                begin()\n\n    def _listing",
        "                pass\n\n    def _listing",
        QUICK_TESTS,
    ),
    Mutant(
        "a mistake leaves the client without an end",
        SOCKETS,
        "            self.transport.close()\n\n    def _answered",
        "            pass\n\n    def _answered",
        QUICK_TESTS,
    ),
    Mutant("an agent is answered without h11", APP, "if call.name and session.is_agent:", "if False:", GUESTS),
    Mutant("any character in a value", QUICK, "[!-~][ -~]*+", "[!-~][^\\r]*+", (*QUICK_TESTS, *FUZZED)),
    Mutant("a space before the colon", QUICK, "A-Za-z]++: ?+", "A-Za-z]++ ?+: ?+", FUZZED),
    Mutant("a length with a sign", QUICK, '"[0-9]{1,4}"', '"[+]?[0-9]{1,4}"', FUZZED),
    # Bodies
    Mutant(
        "a length beside chunks is believed",
        "server/bodies.py",
        'MAX_BODY if "transfer-encoding" in headers else min(',
        "min(",
        CONNECTIONS,
    ),
    # A session that ends in the middle
    Mutant(
        "a diff for a session that is over",
        TOOLS,
        'return "" if session in self._sessions else OVER',
        'return ""',
        SESSIONS,
    ),
    Mutant(
        "a diff for a session that has just ended", TOOLS, "if session in self._sessions:  #", "if True:  #", SESSIONS
    ),
    # Starts that fail
    Mutant(
        "the ports are closed while the libraries fail",
        START,
        "                    self._set_aside()\n",
        "                    self._close_endpoints()\n",
        HANDOVER,
    ),
    Mutant(
        "the ports stay after a stop",
        START,
        "if self._predecessor and self._predecessor.left.is_set():",
        "if False:",
        HANDOVER,
    ),
    Mutant("a lack of descriptors is never over", START, "is_passing or isinstance(", "isinstance(", THREAD),
    Mutant("it is said each second", START, "elif not self._is_told:", "else:", THREAD),
    Mutant(
        "a window without a port is not tried again",
        "companion.py",
        "                self.window_opened(window)\n",
        "                pass\n",
        THREAD,
    ),
    Mutant(
        "a window that has closed is tried again",
        "companion.py",
        "        self._unserved.pop(window, None)\n        if server",
        "        if server",
        THREAD,
    ),
    Mutant(
        "a window without a port at the start is forgotten",
        START,
        "self.post(lambda companion, window=window: companion.window_opened(window))",
        "pass",
        THREAD,
    ),
    Mutant(
        "a connection that can't be handed over spoils the rest",
        SOCKETS,
        "                with contextlib.suppress(OSError):  # it is closed with this instance",
        "                with contextlib.suppress(ValueError):",
        HANDOVER,
    ),
    # Waiting for a start
    Mutant("an answer is late at once after the start", PATIENCE, "elif not was_starting:", "else:", STARTING),
    Mutant("nobody hears that it is starting", PATIENCE, "            starting()\n", "            pass\n", STARTING),
    Mutant("it never says that there is no answer", PATIENCE, "            silent()\n", "            pass\n", STARTING),
    Mutant("the server has the only listener", SOCKETS, "sock=listener.dup()", "sock=listener", HANDOVER),
]
