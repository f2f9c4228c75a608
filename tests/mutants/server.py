"""Small mistakes in the server's code, each with the tests that should notice it."""

from __future__ import annotations

from mutant import Mutant

GUARD = ("tests/unit/test_guard.py",)
SESSIONS = ("tests/unit/test_sessions.py",)
HANDOVER = ("tests/unit/test_handover.py",)
DISCOVERY = ("tests/unit/test_discovery.py",)
HEALING = ("tests/unit/test_healing.py",)
CONTEXT = ("tests/unit/test_context.py",)
WINDOWS = ("tests/unit/test_windows.py",)
FAMILIES = ("tests/unit/test_families.py",)
THREAD = ("tests/unit/test_thread.py",)
DIFFS = ("tests/unit/test_diffs.py",)
CONNECTIONS = ("tests/unit/test_connections.py",)

APP = "server/app.py"
SESSION = "server/sessions.py"
ENDPOINT = "server/endpoint.py"
ORDER = "server/context.py"
WINDOW = "server/window.py"
FILES = "clis/discovery.py"
LEFT = "handover.py"
TOOLS = "server/tools.py"
RESUMED = "server/resumed.py"
SOCKETS = "server/connections.py"

CALLS_TESTS = ("tests/unit/test_calls.py",)
CALLS = "server/calls.py"

MUTANTS = [
    Mutant("reads on while it answers", SOCKETS, "        if not is_answering:\n", "        if True:\n", CONNECTIONS),
    Mutant(
        "who was refused may stay for ever",
        SOCKETS,
        "one for one in self.connections if one.is_silent]",
        "one for one in self.connections if one.is_idle]",
        CONNECTIONS,
    ),
    Mutant("connections are kept for 5 s", SOCKETS, "KEEP_ALIVE = 300", "KEEP_ALIVE = 5", CONNECTIONS),
    Mutant(
        "what was written is thrown away at a close",
        SOCKETS,
        "        self.flush()\n        self._inner.close()",
        "        self._inner.close()",
        (*CONNECTIONS, *HANDOVER, *GUARD),
    ),
    Mutant(
        "true is an id",
        CALLS,
        "} if not isinstance(identifier, bool) and name in NAMES:",
        "} if name in NAMES:",
        CALLS_TESTS,
    ),
    Mutant(
        "any version of JSON-RPC",
        CALLS,
        "match message:",
        "match dict(message, jsonrpc='2.0') if isinstance(message, dict) else message:",
        CALLS_TESTS,
    ),
    Mutant(
        "a cursor is ignored", CALLS, ' and not message.get("params")', "", CALLS_TESTS, "we list all tools on one page"
    ),
    Mutant("any content type", CALLS, "== JSON and", "and", CALLS_TESTS),
    Mutant("any accept", CALLS, ' and JSON in headers.get("accept", "")', "", CALLS_TESTS),
    Mutant(
        "the body is read only once",
        CALLS,
        "return messages.pop(0) if messages else await receive()",
        "return await receive()",
        CALLS_TESTS,
    ),
    Mutant("a body of any size", CALLS, "        if size > limit:\n            return None, again\n", "", CALLS_TESTS),
    Mutant(
        "an answer without its session",
        CALLS,
        '        (b"mcp-session-id", session.encode()),\n',
        "",
        (*CALLS_TESTS, *HANDOVER),
    ),
    Mutant("any Host", APP, 'if host not in {f"', 'if False and host not in {f"', GUARD),
    Mutant("Host without its port", APP, '{f"{name}:{self._endpoint.port}" for', '{f"{host}" for', GUARD),
    Mutant("any Origin", APP, "if origin is not None and origin", "if False and origin", GUARD),
    Mutant(
        "https as our own Origin", APP, '!= f"http://{host}"', 'not in (f"http://{host}", f"https://{host}")', GUARD
    ),
    Mutant("any scheme", APP, 'scheme.lower() != "bearer" or ', "", GUARD),
    Mutant("no token needed", APP, "or family is None:", "or False:", GUARD),
    Mutant("any path", APP, 'elif scope["path"] != "/mcp":', 'elif scope["path"] == "/other":', GUARD),
    Mutant("any method", APP, 'elif scope["method"] not in METHODS:', 'elif scope["method"] == "BREW":', GUARD),
    Mutant("405 without the methods", APP, '405, {"allow": ", ".join(METHODS)})', "405)", GUARD),
    Mutant("a larger body", APP, "max_request_body_size=MAX_BODY", "max_request_body_size=4 * MAX_BODY", GUARD),
    Mutant("newer versions passed on", APP, "version not in HANDSHAKE_PROTOCOL_VERSIONS:", 'version == "0":', GUARD),
    Mutant("a session of any family", APP, "session.cli != family.name:", "session.cli == '':", GUARD),
    Mutant("Last-Event-ID passed on", APP, 'if name != b"last-event-id"', 'if name != b"other"', SESSIONS),
    Mutant("a second stream is refused", APP, "            if session.stream:\n", "            if False:\n", SESSIONS),
    Mutant("the final chunk is not sent", APP, "if stream.closing.is_set() and not ended:", "if False:", SESSIONS),
    Mutant("the lock of a stream is kept", APP, "            if not started:\n", "            if False:\n", SESSIONS),
    Mutant("DELETE ends nothing", APP, 'elif session and scope["method"] == "DELETE":', "elif False:", SESSIONS),
    Mutant("every answer begins a session", APP, "if session is None and opened:", "if opened:", SESSIONS),
    Mutant(
        "no Connection: close after the reload",
        APP,
        "if self._sessions.is_left and message",
        "if False and message",
        HANDOVER,
    ),
    Mutant(
        "outcomes that wait are forgotten", APP, "return {**self._endpoint.outboxes, **unsent}", "return {}", HANDOVER
    ),
    Mutant("those of earlier reloads are forgotten", APP, "{**self._endpoint.outboxes, **unsent}", "unsent", HANDOVER),
    Mutant("sessions that wait are forgotten", APP, "return self._resumed.waiting | {", "return {", HANDOVER),
    Mutant("a resumed session is never forgotten", APP, "self._resumed.forget(session.identifier)", "pass", HANDOVER),
    Mutant(
        "an old session of any family",
        RESUMED,
        "if self.waiting.get(outward) == family:",
        "if outward in self.waiting:",
        HANDOVER,
    ),
    Mutant("the answer has the new id", RESUMED, "answered[HEADER] = outward", "answered[HEADER] = inward", HANDOVER),
    Mutant(
        "sent though the stream is gone",
        SESSION,
        "while self._outbox and self.stream and not",
        "while self._outbox and not",
        SESSIONS,
    ),
    Mutant(
        "sent while the stream ends",
        SESSION,
        "while self._outbox and self.stream and not self.stream.closing.is_set():",
        "while self._outbox and self.stream:",
        (*SESSIONS, *HANDOVER),
        "a notification that isn't written in time is sent again on the next stream",
    ),
    Mutant(
        "counts as sent when it was not written",
        SESSION,
        "                if await stream.write(self._outbox[0].event):\n",
        "                await stream.write(self._outbox[0].event)\n                if True:\n",
        (*SESSIONS, *HANDOVER),
    ),
    Mutant(
        "an old stream's end ends the session",
        SESSION,
        "        if self.stream is stream:\n",
        "        if True:\n",
        SESSIONS,
    ),
    Mutant(
        "every context is sent",
        SESSION,
        "first + [waiting for waiting in rest if not isinstance(waiting, ContextUpdate)]",
        "first + rest",
        SESSIONS,
    ),
    Mutant(
        "a session without a stream lives on",
        SESSION,
        "loop.call_later(STREAM_GONE_LIMIT, self.end, identifier)",
        "loop.call_later(3600, self.end, identifier)",
        SESSIONS,
    ),
    Mutant(
        "its timer goes on with a new stream",
        SESSION,
        "        self._cancel_end(session.identifier)\n        session.stream_opened",
        "        session.stream_opened",
        SESSIONS,
    ),
    Mutant(
        "a session that ends keeps its diffs",
        SESSION,
        "            self._background(self._on_end(session))\n",
        "",
        SESSIONS,
    ),
    Mutant("the end doesn't wait for what is sent", SESSION, "    await _flush(session)\n", "", (*SESSIONS, *HANDOVER)),
    Mutant(
        "contexts are handed over",
        SESSION,
        "[waiting for waiting in self._outbox if not isinstance(waiting, ContextUpdate)]\n\n    async def flushed",
        "list(self._outbox)\n\n    async def flushed",
        HANDOVER,
    ),
    Mutant(
        "the first focus counts",
        ORDER,
        "        self._focused.pop(view, None)\n        self._now = at\n",
        "        self._now = at\n        if view in self._focused:\n            return\n",
        CONTEXT,
    ),
    Mutant("a clock that was ahead is believed", ORDER, "if self._focused[other] >= at)", "if False)", CONTEXT),
    Mutant("a kept focus of the future is believed", ORDER, "at = min(at, self._now - 1)", "pass", CONTEXT),
    Mutant("a kept focus moves a view back", ORDER, "if at > self._focused.get(view, 0):", "if True:", CONTEXT),
    Mutant(
        "a closed view stays",
        ORDER,
        "        self._focused.pop(view, None)\n\n    def recent",
        "        pass\n\n    def recent",
        CONTEXT,
    ),
    Mutant(
        "the oldest come first",
        ORDER,
        "key=self._focused.__getitem__, reverse=True)",
        "key=self._focused.__getitem__)",
        CONTEXT,
    ),
    Mutant("files that are not on disk", ORDER, " and os.path.isfile(file.path)", "", CONTEXT),
    Mutant("folders are files", ORDER, "os.path.isfile(", "os.path.exists(", CONTEXT),
    Mutant(
        "a file twice",
        ORDER,
        "        if file.path in found:\n",
        "        if False:\n",
        CONTEXT,
        "a dictionary holds it once anyway, with the older view",
    ),
    Mutant("surrogates in paths are sent", ORDER, "_is_encodable(file.path) and ", "", CONTEXT),
    Mutant("eleven files", ORDER, "if len(found) == MAX_FILES:", "if len(found) > MAX_FILES:", CONTEXT),
    Mutant("half a character", ORDER, '.decode("utf-16-le", "ignore")', '.decode("utf-16-le", "replace")', CONTEXT),
    Mutant(
        "characters in place of units",
        ORDER,
        "    if len(text) <= limit // 2:\n",
        "    if len(text) <= limit:\n",
        CONTEXT,
    ),
    Mutant("an empty selection", ORDER, "if selection.text else {})", ")", CONTEXT),
    Mutant(
        "a file that never had the focus is active",
        ORDER,
        "if first and order.at(first.view) and not",
        "if first and not",
        CONTEXT,
    ),
    Mutant(
        "any token",
        ENDPOINT,
        "if secrets.compare_digest(token.encode(), publication.token.encode()):",
        "if token:",
        GUARD,
    ),
    Mutant("a short token", ENDPOINT, "secrets.token_urlsafe(32)", "secrets.token_urlsafe(8)", DISCOVERY),
    Mutant(
        "open to the network",
        ENDPOINT,
        'listener.bind(("127.0.0.1", port))',
        'listener.bind(("0.0.0.0", port))',
        DISCOVERY,
    ),
    Mutant(
        "no protocol for the socket",
        ENDPOINT,
        "socket.SOCK_STREAM, socket.IPPROTO_TCP)",
        "socket.SOCK_STREAM)",
        DISCOVERY,
    ),
    Mutant(
        "a taken port is an error",
        ENDPOINT,
        "        except OSError:\n            listener = listen()\n",
        "        except ZeroDivisionError:\n            listener = listen()\n",
        DISCOVERY,
    ),
    Mutant(
        "the old port is not asked for", ENDPOINT, "listener = listen(window.port)", "listener = listen()", DISCOVERY
    ),
    Mutant("the shared file of every window", ENDPOINT, "and (self.in_front or not name.is_shared)", "", FAMILIES),
    Mutant("old names in any case", ENDPOINT, "if (self.legacy_files or not name.legacy) ", "if True ", FAMILIES),
    Mutant(
        "a closed endpoint keeps its files",
        ENDPOINT,
        "        self.withdraw()\n        self.listener.close()\n",
        "        self.listener.close()\n",
        (*DISCOVERY, *THREAD),
    ),
    Mutant(
        "a closed endpoint listens",
        ENDPOINT,
        "        self.listener.close()\n        for connection",
        "        for connection",
        (*DISCOVERY, *THREAD),
    ),
    Mutant(
        "a closed window keeps its files",
        WINDOW,
        "        self.endpoint.withdraw()\n        await asyncio.wait",
        "        await asyncio.wait",
        WINDOWS,
        "Companion.window_closed withdraws them first, so that they go at once",
    ),
    Mutant(
        "the token changes over a reload",
        ENDPOINT,
        "                inherited.tokens,\n",
        "                {},\n",
        HANDOVER,
    ),
    Mutant(
        "a folder for everybody",
        FILES,
        "            path.mkdir(mode=0o700)\n",
        "            path.mkdir(mode=0o755)\n",
        DISCOVERY,
    ),
    Mutant("a file for everybody", FILES, "os.O_EXCL, 0o600)", "os.O_EXCL, 0o644)", DISCOVERY),
    Mutant("links are followed", FILES, "if stat.S_ISLNK(found.st_mode):", "if False:", DISCOVERY),
    Mutant("another user's folder", FILES, "found.st_uid != os.getuid():", "found.st_uid == -1:", DISCOVERY),
    Mutant(
        "not written at once",
        FILES,
        "        os.replace(temporary, path)\n",
        "        path.write_text(text)\n        temporary.unlink()\n",
        DISCOVERY,
    ),
    Mutant(
        "a part of a file stays",
        FILES,
        "            temporary.unlink()\n        raise",
        "            pass\n        raise",
        DISCOVERY,
    ),
    Mutant(
        "others' files are removed",
        FILES,
        'if (_read(path) or {}).get("authToken") == self.token:',
        "if True:",
        DISCOVERY,
    ),
    Mutant("others' leftovers are removed", FILES, 'body.get("ideInfo") != IDE_INFO or ', "", DISCOVERY),
    Mutant(
        "files of the living are removed",
        FILES,
        'if not lives(body["ppid"], path.lstat().st_mtime):',
        "if True:",
        DISCOVERY,
    ),
    Mutant(
        "links are leftovers",
        FILES,
        "stat.S_ISREG(path.lstat().st_mode)",
        "stat.S_ISREG(path.stat().st_mode)",
        DISCOVERY,
    ),
    Mutant(
        "nothing is healed",
        FILES,
        "        if found is None or path not in self.written:\n            return True\n",
        "        if found is None or path not in self.written:\n            return False\n",
        HEALING,
    ),
    Mutant(
        "another editor's file is overwritten",
        FILES,
        "return not (_is_pid(pid) and pid != os.getpid() and lives(pid, found[2] / 1e9))",
        "return True",
        HEALING,
    ),
    Mutant(
        "a pipe is read",
        FILES,
        'json.loads(path.read_text("utf-8")) if path.is_file() else None',
        'json.loads(path.read_text("utf-8"))',
        HEALING,
    ),
    Mutant(
        "a failure is said each time",
        FILES,
        "if path not in self._failed and not name.legacy:",
        "if not name.legacy:",
        HEALING,
    ),
    Mutant(
        "a variable of somebody else is removed",
        FILES,
        " and os.environ.get(name) == value:",
        " and name in os.environ:",
        DISCOVERY,
    ),
    Mutant(
        "a pid that is used again counts as alive",
        "clis/processes.py",
        "process.create_time() <= written_at + 2",
        "process.create_time() <= written_at + 7200",
        DISCOVERY,
    ),
    Mutant(
        "a process that can't be seen is dead",
        "clis/processes.py",
        "    except psutil.Error:\n        return True\n\n\nclass",
        "    except psutil.Error:\n        return False\n\n\nclass",
        DISCOVERY,
    ),
    Mutant(
        "the old instance's sockets are closed",
        LEFT,
        "    left: dict[int, dict[str, Any]] = holder.pop()\n",
        "    holder.pop()\n    left: dict[int, dict[str, Any]] = {}\n",
        HANDOVER,
    ),
    Mutant("what nobody takes is kept", LEFT, "        give_up({window", "        dict({window", HANDOVER),
    Mutant(
        "nobody is told that the package is gone",
        LEFT,
        "                _refuse(key.fileobj)\n",
        "                pass\n",
        HANDOVER,
    ),
    Mutant(
        "connections that wait are closed",
        SOCKETS,
        "return [one.release() for one in self.connections if one.is_idle]",
        "return []",
        HANDOVER,
    ),
    Mutant(
        "the first half of a request is lost",
        SOCKETS,
        "                if received:\n",
        "                if False:\n",
        HANDOVER,
    ),
    Mutant(
        "a request in flight is given away",
        SOCKETS,
        "return self.is_silent and states",
        "return states or states",
        HANDOVER,
    ),
    Mutant(
        "any number of silent connections",
        SOCKETS,
        "silent[: max(0, len(silent) - MAX_IDLE)]",
        "silent[:0]",
        CONNECTIONS,
    ),
    Mutant(
        "the newest silent connection is closed",
        SOCKETS,
        "silent[: max(0, len(silent) - MAX_IDLE)]",
        "silent[MAX_IDLE:]",
        CONNECTIONS,
    ),
    Mutant(
        "diffs after the handover",
        TOOLS,
        "                if self._sessions.is_left:\n",
        "                if False:\n",
        HANDOVER,
    ),
    Mutant(
        "a folder is a file",
        TOOLS,
        "if why := await asyncio.to_thread(refusal, opened.file_path):",
        "if why := '':",
        DIFFS,
    ),
    Mutant("openDiff is offered in any case", TOOLS, "TOOLS if is_offered else []", "TOOLS", DIFFS),
    Mutant(
        "every look is sent",
        WINDOW,
        "has_changed = _comparable(context) != _comparable(self._sent)",
        "has_changed = True",
        SESSIONS,
    ),
    Mutant("a new stream gets no context", WINDOW, "if has_changed or session is opened:", "if has_changed:", SESSIONS),
    Mutant(
        "folders that change are not published",
        WINDOW,
        "            self.publish()\n            self._on_folders()",
        "            self._on_folders()",
        WINDOWS,
    ),
]
