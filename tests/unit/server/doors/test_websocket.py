"""The wire of a WebSocket: what a client may send, and what happens to one that sends anything else."""

from __future__ import annotations

import contextlib
import json
import struct
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from companion.companion import Companion
from companion.editor import WindowId
from companion.server.doors import claude as claude_module
from companion.server.doors import websocket as websocket_module
from companion.server.doors.websocket import frame, frame_size

from ...conftest import FIRST, Running, until
from .client import TOKEN, Client, lock_of, texts
from .conftest import Connect

MASK = b"\0\0\0\0"


def head(opcode: int, length: int, *, is_final: bool = True) -> bytes:
    """The head of a frame, which a mask of zeros ends."""
    first = opcode | (0x80 if is_final else 0)
    if length < 126:
        return bytes([first, 0x80 | length]) + MASK
    if length < 65536:
        return bytes([first, 0x80 | 126]) + struct.pack(">H", length) + MASK
    return bytes([first, 0x80 | 127]) + struct.pack(">Q", length) + MASK


def ping(number: object) -> bytes:
    """A JSON-RPC ping in a frame."""
    text = json.dumps({"jsonrpc": "2.0", "id": number, "method": "ping"}).encode()
    return bytes([0x81, 0x80 | len(text)]) + MASK + text


@given(st.binary(max_size=70_000))
def test_the_size_of_a_frame_is_known_from_its_head(data: bytes):
    whole = frame(data.decode("latin-1"))
    assert frame_size(bytearray(whole), 0) == len(whole)
    assert frame_size(bytearray(b"xx" + whole), 2) == len(whole)
    assert frame_size(bytearray(whole[:1]), 0) is None


def test_a_message_may_come_byte_by_byte_and_in_pieces_with_a_ping_between(running: Running, connect: Connect):
    client = connect(running)
    for byte in ping("slow"):
        client.socket.sendall(bytes([byte]))
    assert client.answer("slow")["result"] == {}
    text = json.dumps({"jsonrpc": "2.0", "id": "parts", "method": "ping"}).encode()
    client.socket.sendall(head(1, 9, is_final=False) + text[:9])
    client.socket.sendall(bytes([0x89, 0x80]) + MASK)
    client.socket.sendall(head(0, 0, is_final=False) + head(0, len(text) - 9) + text[9:])
    assert client.answer("parts")["result"] == {}


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (head(1, websocket_module.MAX_MESSAGE + 1), 1009),
        (head(1, 2**62), 1009),
        (head(2, 1) + b"x", 1003),
        (head(1, 2) + b"\xff\xfe", 1007),
        (head(9, 126) + b"x" * 126, 1002),
        (b"\x81\x05hello", 1002),
        (b"\xf1\x80" + MASK, 1002),
        (b"\x83\x80" + MASK, 1002),
        (head(0, 1) + b"x", 1002),
        (bytes([0x88, 0x82]) + MASK + struct.pack(">H", 1000), 1000),
    ],
    ids=[
        "longer than a message",
        "far longer",
        "binary",
        "no UTF-8",
        "long ping",
        "without a mask",
        "reserved bits",
        "unknown opcode",
        "a piece of nothing",
        "goodbye",
    ],
)
def test_what_is_no_message_ends_the_connection_with_its_reason(
    running: Running, connect: Connect, sent: bytes, code: int
):
    client = connect(running)
    client.socket.sendall(sent)
    assert client.closed() == code
    until(lambda: running.sessions() == set())


def test_pieces_that_are_too_long_together_end_the_connection(
    running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(websocket_module, "MAX_MESSAGE", 1000)
    client = connect(running)
    client.socket.sendall(head(1, 1, is_final=False) + b"x")
    with contextlib.suppress(OSError):
        for _ in range(300):
            client.socket.sendall(head(0, 0, is_final=False))
    assert client.closed() == 1009


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("no JSON", -32700),
        ("[" * 100_000, -32700),
        ('{"a":' * 50_000, -32700),
        ('{"jsonrpc": "2.0", "id": 1, "method": "ping", "x": "\\ud800"}', -32700),
        ("[]", -32600),
        ("1", -32600),
        ("{}", -32600),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_goes_on(
    running: Running, connect: Connect, message: object, code: int
):
    client = connect(running)
    client.send(message)
    assert client.answer(None)["error"]["code"] == code
    assert client.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 1},
        {"name": "openDiff"},
        {"name": "openDiff", "arguments": None},
        {"name": "openDiff", "arguments": []},
        {"name": "openDiff", "arguments": {"new_file_path": 1, "new_file_contents": "", "tab_name": ""}},
        {"name": "close_tab", "arguments": {"tab_name": ["x"]}},
        {"name": "getDiagnostics", "arguments": {"uri": {"a": 1}}},
        {"name": "getDiagnostics", "arguments": {"uri": "http://[x"}},
        {"name": "getDiagnostics", "arguments": {"uri": "file:///a%00b"}},
        {"name": "openFile", "arguments": {"filePath": "relative"}},
        {"name": "checkDocumentDirty", "arguments": {}},
        {"name": "__init__", "arguments": {}},
    ],
)
def test_a_call_with_wrong_arguments_is_an_error(running: Running, connect: Connect, params: dict[str, object]):
    client = connect(running)
    answer = client.ask("tools/call", **params)
    assert "error" in answer or answer["result"]["isError"]
    assert running.editor.open_diffs == {}


def test_a_cli_of_this_machine_without_a_token_is_none_of_the_refused_elsewhere(running: Running):
    running.do(lambda companion: companion.offer_elsewhere(WindowId(FIRST), "over SSH"))
    client = Client(lock_of(running)["port"], {})
    client.close()
    assert client.status == 401
    assert running.do(lambda companion: companion.state_elsewhere(WindowId(FIRST), "over SSH")).refused == ""


def test_an_id_that_is_in_use_is_refused(running: Running, connect: Connect, path: str):
    client = connect(running)
    call = client.propose(path, "new\n")
    running.diff(path)
    arguments = {"new_file_path": path, "new_file_contents": "other\n", "tab_name": "other"}
    client.send(
        {"jsonrpc": "2.0", "id": call, "method": "tools/call", "params": {"name": "openDiff", "arguments": arguments}}
    )
    assert client.answer(call)["error"]["code"] == -32600
    running.accept(path)
    assert texts(client.answer(call)) == ["FILE_SAVED", "new\n"]


def test_frames_that_come_at_once_are_taken_in_some_at_a_time(
    running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch
):
    taken: list[int] = [0]
    handle, read = websocket_module.WebSocket._handle, websocket_module.WebSocket._read

    def counted(wire: websocket_module.WebSocket, *args: object) -> None:
        taken.append(0)
        read(wire, *args)  # type: ignore[arg-type]

    def handled(wire: websocket_module.WebSocket, event: object) -> None:
        taken[-1] += 1
        handle(wire, event)  # type: ignore[arg-type]

    monkeypatch.setattr(websocket_module.WebSocket, "_read", counted)
    monkeypatch.setattr(websocket_module.WebSocket, "_handle", handled)
    client = connect(running)
    client.socket.sendall((bytes([0x89, 0x80]) + MASK) * 3000 + ping("after"))
    assert client.answer("after")["result"] == {}
    assert sum(taken) >= 3000
    assert max(taken) <= websocket_module.FRAMES


def test_a_message_of_millions_of_parts_is_refused_before_it_is_parsed(
    running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch
):
    client = connect(running)
    parsed: list[int] = []
    parser = claude_module.pydantic_core

    def counted(text: str, **options: bool) -> object:
        parsed.append(len(text))
        return parser.from_json(text, **options)

    monkeypatch.setattr(claude_module, "pydantic_core", SimpleNamespace(from_json=counted))
    text = b'{"jsonrpc": "2.0", "id": "many", "method": "ping", "params": {"a": [' + b"[]," * 600_000 + b"[]]}}"
    client.socket.sendall(head(1, len(text)) + text)
    client.socket.sendall(ping("next"))
    assert client.answer("next")["result"] == {}
    assert max(parsed) < 1000


def test_no_more_calls_wait_than_a_person_could_answer(
    running: Running, connect: Connect, path: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(claude_module, "MOST_CALLS", 1)
    client = connect(running)
    client.propose(path, "new\n")
    running.diff(path)
    assert client.answer(client.propose(path + "2", "new\n", "2"))["error"]["code"] == -32000


def test_no_more_connections_than_a_person_has_terminals(
    running: Running, connect: Connect, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(claude_module, "MOST_CONNECTIONS", 2)
    first = connect(running)
    connect(running)
    lock = lock_of(running)
    third = Client(lock["port"], {TOKEN: lock["authToken"]})
    assert third.status == 503
    third.close()
    first.close()
    until(lambda: len(running.sessions()) == 1)
    connect(running)


def test_a_client_that_reads_nothing_holds_up_neither_others_nor_the_memory(running: Running, connect: Connect):
    slow, other = connect(running), connect(running)
    flood = slow.raw({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}) * 1000
    slow.socket.settimeout(1)

    def held(companion: Companion) -> list[int]:
        wires = [one.wire for one in companion._windows[FIRST].websockets.clients]
        full = [one._transport for one in wires if one and not one.is_readable]
        return [transport.get_write_buffer_size() for transport in full if transport]

    while not (waiting := running.do(held)):
        with contextlib.suppress(TimeoutError):
            slow.socket.sendall(flood)
    assert other.ask("ping")["result"] == {}
    [size] = waiting
    assert size < 64 * 1024 * 1024
    slow.socket.settimeout(60)
    assert len(slow.come()) >= 0


def test_a_client_that_closes_its_half_is_gone(running: Running, connect: Connect, path: str):
    client = connect(running)
    client.propose(path, "new\n")
    running.diff(path)
    client.socket.shutdown(1)
    until(lambda: running.sessions() == set())
    until(lambda: running.editor.orphaned)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
METHODS = st.sampled_from(
    ["initialize", "tools/list", "tools/call", "ping", "notifications/initialized", "notifications/cancelled", "x"]
)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | JSON, "method": METHODS | JSON, "params": JSON},
    optional={"id": st.integers() | JSON, "result": JSON},
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(MESSAGES, max_size=6))
def test_any_messages_leave_the_connection_as_it_was(running: Running, messages: list[object]):
    lock = lock_of(running)
    client = Client(lock["port"], {TOKEN: lock["authToken"]})
    for message in messages:
        client.send(message)
    assert client.ask("ping", last="one")["id"] == client._number
    client.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(st.binary(max_size=300), max_size=6))
def test_any_bytes_end_one_connection_and_no_other(running: Running, pieces: list[bytes]):
    lock = lock_of(running)
    client, other = (Client(lock["port"], {TOKEN: lock["authToken"]}) for _ in range(2))
    with contextlib.suppress(OSError):
        for piece in pieces:
            client.socket.sendall(piece)
    client.close()
    assert other.ask("ping")["result"] == {}
    other.close()
    assert running.lock(WindowId(1))
